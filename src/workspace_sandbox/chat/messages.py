"""``chat.*``: posting, editing and deleting messages, and their permalinks."""

import json
import re
from typing import Any

from workspace_sandbox.chat import wire
from workspace_sandbox.chat.call import ApiRequest
from workspace_sandbox.chat.channel import TS, Channel, Message
from workspace_sandbox.chat.wire import SlackError, invalid_arguments
from workspace_sandbox.kit.refusals import require

POST_LENGTH = 40_000
UPDATE_LENGTH = 4_000
SPLIT_LENGTH = 4_000
MOST_BLOCKS = 50
MOST_ATTACHMENTS = 100
METADATA_BYTES = 8_192
"""The maximum size of metadata. Slack documents the error, but not the size."""

USER_ID = re.compile(r"[UW][A-Z0-9]{6,}")
MARKUP = re.compile(r"(<(?:@[UW]|#[CG]|!|https?:|mailto:|tel:)[^<>\n]*>)|&(?!(?:amp|lt|gt);)|[<>]")
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def post_message(call: ApiRequest) -> dict[str, Any]:
    """``chat.postMessage``."""
    channel = destination(call, call.arguments.text("channel"))
    content = content_of(call)
    text = content.pop("text", "")
    fields = content | thread_of(call, channel) | {"client_msg_id": call.arguments.optional("client_msg_id")}
    # Slack documents errors for a repeated ``client_msg_id``, but not the argument. It is off by default.
    repeated = call.workspace.sent.get((channel.id, fields["client_msg_id"] or ""))
    if repeated is not None and call.knobs["dedupe_client_msg_id"]:
        return _posted(call, channel, repeated)
    call.limits.spend_post(channel.id)
    # Users observed that long texts are split, which the documentation does not mention. Only the ``ts`` of the first
    # message is returned, so clients cannot detect it.
    pieces = _split_text(text) if call.knobs["long_text"] == "split" else [text]
    posted = [call.workspace.post_as_bot(channel, piece, **fields) for piece in pieces]
    return _posted(call, channel, posted[0])


def update(call: ApiRequest) -> dict[str, Any]:
    """``chat.update``."""
    channel, message = _own(call, "cant_update_message")
    window = call.knobs["edit_window_seconds"]
    if window and call.workspace.now() - float(message.ts) > window:
        raise SlackError("edit_window_closed")
    content = content_of(call, UPDATE_LENGTH)
    if "text" in content:
        # A new text without blocks removes the old blocks. Attachments and metadata remain (``chat.update``).
        content = {"blocks": []} | content
    call.workspace.change(channel, message, call.workspace.team.bot_user_id, **content)
    return _posted(call, channel, message) | {"text": message.text}


def delete(call: ApiRequest) -> dict[str, Any]:
    """``chat.delete``."""
    channel, message = _own(call, "cant_delete_message")
    call.workspace.delete(channel, message)
    return {"channel": channel.id, "ts": message.ts}


def post_ephemeral(call: ApiRequest) -> dict[str, Any]:
    """``chat.postEphemeral``, whose message is shown to one user and not stored."""
    channel = destination(call, call.arguments.text("channel"))
    if call.arguments.text("user") not in channel.members:
        raise SlackError("user_not_in_channel")
    content_of(call)
    thread_of(call, channel)
    call.limits.spend_post(channel.id)
    return {"message_ts": channel.next_ts(call.workspace.now())}


def post_me(call: ApiRequest) -> dict[str, Any]:
    """``chat.meMessage``."""
    channel = destination(call, call.arguments.text("channel"))
    text = content_of(call).get("text", "")
    call.limits.spend_post(channel.id)
    message = call.workspace.post_as_bot(channel, text, subtype="me_message")
    return {"channel": channel.id, "ts": message.ts}


def get_permalink(call: ApiRequest) -> dict[str, Any]:
    """``chat.getPermalink``."""
    channel = call.workspace.visible(call.arguments.text("channel"))
    message = call.workspace.message(channel, call.arguments.text("message_ts"))
    return {"channel": channel.id, "permalink": permalink(call, channel, message)}


def permalink(call: ApiRequest, channel: Channel, message: Message) -> str:
    """Return the URL of a message, which includes the thread of a reply."""
    address = f"{call.workspace.team.url}archives/{channel.id}/p{message.ts.replace('.', '')}"
    root = message.thread_ts or (message.ts if channel.threads.get(message.ts) else None)
    return f"{address}?thread_ts={root}&cid={channel.id}" if root else address


def escaped(text: str) -> str:
    """Escape the special characters in *text*, except in Slack's own markup."""
    return MARKUP.sub(lambda found: found[1] or ENTITIES[found[0]], text)


def destination(call: ApiRequest, named: str) -> Channel:
    """Return the channel for a post, by ID, public name or the user ID of its recipient."""
    # Only this method accepts names, and only those of public channels. All others need an ID.
    workspace = call.workspace
    if USER_ID.fullmatch(named):
        user = workspace.users.get(named)
        # The same code as for an unknown channel, so that the existence of users is not revealed.
        if user is None or user.deleted or user.is_bot:
            raise SlackError("channel_not_found")
        return workspace.direct_with([user])[0]
    is_channel_id = named in workspace.channels
    channel = workspace.visible(named) if is_channel_id else workspace.public_named(named.removeprefix("#"))
    partner = workspace.partner(channel)
    if partner is not None and partner.deleted:
        raise SlackError("channel_not_found")
    if channel.is_archived:
        raise SlackError("is_archived")
    # A private channel without the bot is ``channel_not_found`` earlier, so that its existence is not revealed.
    if not workspace.is_member(channel) and "chat:write.public" not in call.scopes:
        raise SlackError("not_in_channel")
    return channel


def _own(call: ApiRequest, refusal: str) -> tuple[Channel, Message]:
    """Return the channel and message of the request, which the bot must have written."""
    channel = call.workspace.visible(call.arguments.text("channel"))
    message = call.workspace.message(channel, call.arguments.text("ts"))
    if channel.is_archived:
        raise SlackError("is_inactive")
    # A bot can edit only its own messages, independent of its scopes.
    if message.bot_id != call.workspace.team.bot_id:
        raise SlackError(refusal)
    return channel, message


def content_of(call: ApiRequest, longest: int = POST_LENGTH) -> dict[str, Any]:
    """Return the content fields of the request, without the missing ones."""
    arguments = call.arguments
    text = arguments.optional("text")
    fields = {"blocks": _blocks(call), "attachments": _attachments(call), "metadata": _metadata(call)}
    content = {name: value for name, value in fields.items() if value is not None}
    if not (text or "").strip() and not content.get("blocks") and not content.get("attachments"):
        raise SlackError("no_text")
    if text is None:
        return content
    escaped_text = escaped(text)
    # Updates are measured after escaping ``&`` as ``&amp;``, posts before, so a message may be too long to update.
    if len(escaped_text if longest == UPDATE_LENGTH else text) > longest:
        raise SlackError("msg_too_long")
    return content | {"text": escaped_text}


def _blocks(call: ApiRequest) -> list[Any] | None:
    blocks = call.arguments.structure("blocks", "invalid_blocks_format")
    if blocks is None:
        return None
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise SlackError("invalid_blocks_format")
    untyped = (number for number, block in enumerate(blocks) if "type" not in block)
    faults = [f"missing required field: type [json-pointer:/blocks/{number}/type]" for number in untyped]
    if faults or len(blocks) > MOST_BLOCKS:
        messages = faults or [f"no more than {MOST_BLOCKS} items allowed [json-pointer:/blocks]"]
        raise SlackError("invalid_blocks", response_metadata={"messages": [f"[ERROR] {line}" for line in messages]})
    return blocks


def _attachments(call: ApiRequest) -> list[Any] | None:
    attachments = call.arguments.structure("attachments", "invalid_attachments")
    if attachments is None:
        return None
    if not isinstance(attachments, list) or not all(isinstance(attachment, dict) for attachment in attachments):
        raise SlackError("invalid_attachments")
    if len(attachments) > MOST_ATTACHMENTS:
        raise SlackError("too_many_attachments")
    return [{"id": number, **attachment} for number, attachment in enumerate(attachments, 1)]


def _metadata(call: ApiRequest) -> dict[str, Any] | None:
    metadata = call.arguments.structure("metadata", "invalid_metadata_format")
    if metadata is None:
        return None
    if not isinstance(metadata, dict):
        raise SlackError("invalid_metadata_format")
    if not isinstance(metadata.get("event_type"), str) or not isinstance(metadata.get("event_payload"), dict):
        raise SlackError("invalid_metadata_schema")
    if len(json.dumps(metadata)) > METADATA_BYTES:
        raise SlackError("metadata_too_large")
    return {name: metadata[name] for name in ("event_type", "event_payload")}


def thread_of(call: ApiRequest, channel: Channel) -> dict[str, Any]:
    """Return the thread fields of a post.

    A number as ``thread_ts`` has lost digits. Slack accepts it, but the message is not visible. The handling of a reply
    to a reply is not documented, see the knob ``reply_to_reply``.
    """
    ts = call.arguments.raw("thread_ts")
    if ts is None:
        return {}
    if isinstance(ts, int | float) and not isinstance(ts, bool):
        return {"thread_ts": str(ts)}
    if not isinstance(ts, str):
        raise invalid_arguments("must be a string [json-pointer:/thread_ts]")
    if not TS.fullmatch(ts):
        raise SlackError("invalid_thread_ts")
    root = require(channel.root_of(ts), SlackError("thread_not_found"))
    if root.subtype in {"channel_join", "channel_archive", "channel_unarchive", "channel_name", "tombstone"}:
        raise SlackError("cannot_reply_to_message")
    subtype = {"subtype": "thread_broadcast"} if call.arguments.flag("reply_broadcast") else {}
    strays = call.knobs["reply_to_reply"] == "stray"
    return {"thread_ts": ts if strays else root.ts} | subtype


def _split_text(text: str) -> list[str]:
    starts = range(0, max(1, len(text)), SPLIT_LENGTH)
    return [text[start : start + SPLIT_LENGTH] for start in starts]


def _posted(call: ApiRequest, channel: Channel, message: Message) -> dict[str, Any]:
    message_json = wire.message(call.workspace, channel, message)
    return {"channel": channel.id, "ts": message.ts, "message": message_json}
