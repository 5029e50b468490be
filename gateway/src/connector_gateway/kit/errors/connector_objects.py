"""Errors of the objects of single vendors, such as pages, cards, messages, contacts and records."""

from connector_gateway.kit.errors.base import CallerError


class DatabaseNotShared(CallerError, status=403):
    """The database does not exist, or was not selected when the account was connected."""

    subject_parameters = ("database_id",)
    remedy = (
        "Share the database with the connection in {vendor}, then call again; {list_databases} lists the shared "
        "databases."
    )


class AmbiguousDatabase(CallerError, status=409):
    """The database has several data sources, and none of them has all properties of the request."""

    location = ("parameter", "database_id")
    remedy = "Use the properties of one data source only; details lists the data sources."


class PageNotFound(CallerError, status=404):
    """The page does not exist, or is not shared with the connection."""

    subject_parameters = ("page_id",)
    remedy = (
        "Check the page identifier, which {search_pages} returns, and share the page with the connection in {vendor}."
    )


class PageModified(CallerError, status=409):
    """The page changed after ``if_unmodified_since``. Nothing was written."""

    location = ("parameter", "if_unmodified_since")
    remedy = (
        "Read the page again. If the change still applies, send last_edited_at of details as {if_unmodified_since}."
    )


class PageInTrash(CallerError, status=409):
    """The page is in the trash, where properties cannot be written."""

    location = ("parameter", "properties")
    remedy = "Restore the page by sending {archived} false, alone or with the properties."


class UnsupportedBlock(CallerError, status=422):
    """A block of the page body has a type that is not supported."""

    location = ("parameter", "children")
    remedy = "Use paragraph, bulleted_list_item or callout."


class PersonNotFound(CallerError, status=404):
    """No person in the workspace has the e-mail address or name of a value."""

    location = ("parameter", "properties")
    remedy = (
        "Use the e-mail address, the exact name or the identifier of a person in the workspace. Guests can only be "
        "named by identifier."
    )


class AmbiguousPerson(CallerError, status=409):
    """Several people have that name."""

    location = ("parameter", "properties")
    remedy = "Identify the person by e-mail address, or by one of the identifiers in details."


class BoardNotAuthorised(CallerError, status=403):
    """The board does not exist, or the account cannot see it."""

    subject_parameters = ("board_id", "list_id", "card_id")
    remedy = "Obtain access or point to another board."


class ListNotFound(CallerError, status=404):
    """The list does not exist on the board, or is archived."""

    subject_parameters = ("list_id",)
    remedy = "Use a list_id that {describe_board} returns, instead of a name."


class CardNotFound(CallerError, status=404):
    """The card does not exist, or the account cannot see it."""

    subject_parameters = ("card_id",)
    remedy = (
        "Check the card_id, which {create_card} returns and the card's link in {vendor} contains, and the "
        "account's access to its board."
    )


class LabelNotOnBoard(CallerError, status=409):
    """The board has no label with that name. Nothing was written."""

    location = ("parameter", "labels")
    remedy = "Create the label with the same name or drop it; {describe_board} returns the board's labels."


class MessageNotFound(CallerError, status=404):
    """The message does not exist in the channel or mailbox."""

    subject_parameters = ("message_ts", "message_id")
    remedy = "Use an identifier that {search_messages|post_message} returns; in chat, with the channel of the message."


class NotMessageAuthor(CallerError, status=403):
    """The message was not posted by the app, which can only edit its own messages."""

    subject_parameters = ("message_ts",)
    remedy = "Edit a message that this connection posted with {post_message}."


class ThreadNotFound(CallerError, status=404):
    """The thread does not exist, or has no message that can be replied to."""

    subject_parameters = ("thread_ts", "thread_id")
    remedy = "Use the thread identifier of an existing message, or omit {thread_ts|thread_id} to start a conversation."


class ChannelNotFound(CallerError, status=404):
    """The channel does not exist, or is private and the app was not invited."""

    subject_parameters = ("channel",)
    remedy = (
        "Use a channel that {list_channels} returns. A private channel is listed after the app was invited to it in "
        "{vendor}."
    )


class NotInChannel(CallerError, status=403):
    """The app cannot post to the channel because it is not a member."""

    subject_parameters = ("channel",)
    remedy = "Invite the app to the channel in {vendor}, then call again."


class ChannelArchived(CallerError, status=409):
    """The channel is archived, or writing to it is restricted."""

    subject_parameters = ("channel",)
    remedy = "Unarchive the channel in {vendor}, or use another one that {list_channels} returns."


class AmbiguousChannel(CallerError, status=409):
    """Several channels have that name."""

    location = ("parameter", "channel")
    remedy = "Use one of the channel identifiers in details."


class ChannelListTooLong(CallerError, status=422):
    """The name is not among the channels that were read, and there are more channels than one call reads."""

    location = ("parameter", "channel")
    remedy = "Use the identifier of the channel, which {list_channels} returns."


class EmojiNotFound(CallerError, status=404):
    """The workspace has no emoji with that name."""

    subject_parameters = ("emoji",)
    remedy = "Use the short name of an emoji that the workspace has, such as eyes."


class LabelNotFound(CallerError, status=404):
    """The mailbox does not have a label that should be added."""

    location = ("parameter", "add")
    remedy = "Correct the name, or set {create_missing} to true."


class AttachmentNotFound(CallerError, status=404):
    """The message has no attachment with that identifier."""

    subject_parameters = ("attachment_id",)
    remedy = "Use an attachment_id that {search_messages} returns with {include_body} true."


class InvalidRecipient(CallerError, status=422):
    """One or more recipients are not valid e-mail addresses. Nothing was sent."""

    location = ("parameter", "to")
    remedy = "Correct the addresses listed in details."


class ContactNotFound(CallerError, status=404):
    """The contact does not exist in the portal."""

    subject_parameters = ("contact_id",)
    remedy = (
        "Use a contact_id that {look_up_contacts} returns, or create the contact first with {create_or_update_contact}."
    )


class CompanyNotFound(CallerError, status=404):
    """No company has that domain or identifier."""

    subject_parameters = ("associate_company",)
    remedy = "Correct the domain or identifier, or set {create_company} to true with a domain."


class DealNotFound(CallerError, status=404):
    """The deal does not exist in the portal."""

    subject_parameters = ("deal_id",)
    remedy = "Check the deal_id, which {create_deal} returns and the deal's link in {vendor} contains."


class PipelineNotFound(CallerError, status=404):
    """The portal has no pipeline with that name or identifier."""

    location = ("parameter", "pipeline")
    remedy = "Use one of the pipelines in details."


class AmbiguousPipeline(CallerError, status=409):
    """Several pipelines have that name."""

    location = ("parameter", "pipeline")
    remedy = "Use one of the pipeline identifiers in details."


class StageNotFound(CallerError, status=404):
    """The pipeline has no stage with that name or identifier."""

    location = ("parameter", "dealstage")
    remedy = "Use one of the pipeline's stages in details."


class BaseNotFound(CallerError, status=404):
    """The base does not exist, or the account cannot see it."""

    subject_parameters = ("base_id",)
    remedy = "Check the base_id, and give the connection access to the base in {vendor}."


class TableNotFound(CallerError, status=404):
    """The base has no table with that name or identifier."""

    subject_parameters = ("table",)
    remedy = "Use a table that {list_tables} returns."


class ViewNotFound(CallerError, status=404):
    """The table has no view with that name."""

    subject_parameters = ("view",)
    remedy = "Use one of the views that {list_tables} returns for the table."


class RecordNotFound(CallerError, status=404):
    """The record does not exist in the table."""

    subject_parameters = ("record_id",)
    remedy = "Use a record_id that {read_records} returns for the table."


class FieldNotFound(CallerError, status=404):
    """The table has no field with that name."""

    location = ("parameter", "fields")
    remedy = "Use a field name exactly as {list_tables} returns it."


class TooManyRecords(CallerError, status=422):
    """The call contains more records than the limit. None was created."""

    location = ("parameter", "records")
    remedy = "Send at most ten records per call."
