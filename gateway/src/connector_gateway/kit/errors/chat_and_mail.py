"""Errors of messages, threads, channels, mailbox labels and attachments."""

from connector_gateway.kit.errors.base import CallerError


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
