"""Errors of messages, threads, channels, mailbox labels and attachments."""

from connector_gateway.kit.errors.base import CallerError


class MessageNotFound(CallerError, status=404):
    """The message does not exist where it was looked for."""

    subject_parameters = ("message_ts", "message_id")
    remedy = "Use an identifier that {search_messages|post_message} returns; in chat, with the channel of the message."


class NotMessageAuthor(CallerError, status=403):
    """Only messages that the app itself posted can be edited."""

    subject_parameters = ("message_ts",)
    remedy = "Edit a message that this connection posted with {post_message}."


class ThreadNotFound(CallerError, status=404):
    """The thread does not exist, or holds nothing that can be replied to."""

    subject_parameters = ("thread_ts", "thread_id")
    remedy = (
        "Use the thread identifier of a message that exists, or leave {thread_ts|thread_id} out to start a "
        "conversation."
    )


class ChannelNotFound(CallerError, status=404):
    """The channel does not exist, or is private and the app was not invited."""

    subject_parameters = ("channel",)
    remedy = (
        "Use a channel that {list_channels} returns; a private one is listed after the app was invited to it in "
        "{vendor}."
    )


class NotInChannel(CallerError, status=403):
    """The app may not post there because it is not a member."""

    subject_parameters = ("channel",)
    remedy = "Invite the app to the channel in {vendor}, then call again."


class ChannelArchived(CallerError, status=409):
    """The channel is archived or otherwise closed to writing."""

    subject_parameters = ("channel",)
    remedy = "Unarchive the channel in {vendor}, or use another one that {list_channels} returns."


class AmbiguousChannel(CallerError, status=409):
    """Several channels share the name."""

    location = ("parameter", "channel")
    remedy = "Name the channel by one of the identifiers in details."


class ChannelListTooLong(CallerError, status=422):
    """The name is not among the channels that were read, and there are more than can be read in a call."""

    location = ("parameter", "channel")
    remedy = "Name the channel by its identifier, which {list_channels} returns."


class EmojiNotFound(CallerError, status=404):
    """The workspace has no emoji of that name."""

    subject_parameters = ("emoji",)
    remedy = "Use the short name of an emoji that the workspace has, such as eyes."


class LabelNotFound(CallerError, status=404):
    """The mailbox lacks a label that is to be applied."""

    location = ("parameter", "add")
    remedy = "Correct the name, or set {create_missing} to true."


class AttachmentNotFound(CallerError, status=404):
    """The message has no such attachment."""

    subject_parameters = ("attachment_id",)
    remedy = "Use an attachment_id that {search_messages} returns with {include_body} true."


class InvalidRecipient(CallerError, status=422):
    """One or more recipients are not valid addresses; nothing was sent."""

    location = ("parameter", "to")
    remedy = "Correct the addresses listed in details."
