"""``chat.*``: posting, editing and deleting messages, and their addresses."""

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
"""The vendor names the error, not the figure."""

USER_ID = re.compile(r"[UW][A-Z0-9]{6,}")
MARKUP = re.compile(r"(<(?:@[UW]|#[CG]|!|https?:|mailto:|tel:)[^<>\n]*>)|&(?!(?:amp|lt|gt);)|[<>]")
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def post_message(call: ApiRequest) -> dict[str, Any]:
    """``chat.postMessage``."""
    channel = destination(call, call.arguments.text("channel"))
    content = content_of(call)
    text = content.pop("text", "")
    fields = content | thread_of(call, channel) | {"client_msg_id": call.arguments.optional("client_msg_id")}
    # Slack names errors about a repeated ``client_msg_id``, but does not list the argument. Off unless asked for.
    repeated = call.workspace.sent.get((channel.id, fields["client_msg_id"] or ""))
    if repeated is not None and call.knobs["dedupe_client_msg_id"]:
        return _posted(call, channel, repeated)
    call.limits.spend_post(channel.id)
    # Whether a long text is cut into several messages depends on whom one asks: users saw it, the reference does not.
    # Only the first one's ``ts`` comes back, so a client cannot tell from the answer.
    pieces = _pieces(text) if call.knobs["long_text"] == "split" else [text]
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
        # A new text without blocks takes the old blocks away; attachments and metadata stay (``chat.update``).
        content = {"blocks": []} | content
    call.workspace.change(channel, message, call.workspace.team.bot_user_id, **content)
    return _posted(call, channel, message) | {"text": message.text}


def delete(call: ApiRequest) -> dict[str, Any]:
    """``chat.delete``."""
    channel, message = _own(call, "cant_delete_message")
    call.workspace.delete(channel, message)
    return {"channel": channel.id, "ts": message.ts}


def post_ephemeral(call: ApiRequest) -> dict[str, Any]:
    """``chat.postEphemeral``: seen by one person until they look away; nothing is kept of it."""
    channel = destination(call, call.arguments.text("channel"))
    if call.arguments.text("user") not in channel.members:
        raise SlackError("user_not_in_channel")
    content_of(call)
    thread_of(call, channel)
    call.limits.spend_post(channel.id)
    return {"message_ts": channel.next_ts(call.workspace.now())}


def post_me(call: ApiRequest) -> dict[str, Any]:
    """``chat.meMessage``: what the bot is doing."""
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
    """A message's address; of one in a thread, the thread is part of it."""
    address = f"{call.workspace.team.url}archives/{channel.id}/p{message.ts.replace('.', '')}"
    root = message.thread_ts or (message.ts if channel.threads.get(message.ts) else None)
    return f"{address}?thread_ts={root}&cid={channel.id}" if root else address


def escaped(text: str) -> str:
    """*text* as the vendor keeps it: the three special characters stand for themselves only in its own markup."""
    return MARKUP.sub(lambda found: found[1] or ENTITIES[found[0]], text)


def destination(call: ApiRequest, named: str) -> Channel:
    """The channel a post goes to, by id, by public name, or by the user id of whom it is for."""
    # Names serve in this method only, and for public channels only. All others want an identifier.
    workspace = call.workspace
    if USER_ID.fullmatch(named):
        user = workspace.users.get(named)
        # The same code as for an unknown channel: Slack does not tell a caller which people there are.
        if user is None or user.deleted or user.is_bot:
            raise SlackError("channel_not_found")
        return workspace.direct_with([user])[0]
    known = named in workspace.channels
    channel = workspace.visible(named) if known else workspace.public_named(named.removeprefix("#"))
    partner = workspace.partner(channel)
    if partner is not None and partner.deleted:
        raise SlackError("channel_not_found")
    if channel.is_archived:
        raise SlackError("is_archived")
    # A private channel without the bot is ``channel_not_found`` before it comes to this, so as not to give it away.
    if not workspace.is_member(channel) and "chat:write.public" not in call.scopes:
        raise SlackError("not_in_channel")
    return channel


def _own(call: ApiRequest, refusal: str) -> tuple[Channel, Message]:
    """The channel and message the call names, which the bot must have written."""
    channel = call.workspace.visible(call.arguments.text("channel"))
    message = call.workspace.message(channel, call.arguments.text("ts"))
    if channel.is_archived:
        raise SlackError("is_inactive")
    # A bot edits what it wrote itself and nothing else, whatever scopes it has.
    if message.bot_id != call.workspace.team.bot_id:
        raise SlackError(refusal)
    return channel, message


def content_of(call: ApiRequest, longest: int = POST_LENGTH) -> dict[str, Any]:
    """What the call says, by field; fields it leaves out are absent."""
    arguments = call.arguments
    text = arguments.optional("text")
    found = {"blocks": _blocks(call), "attachments": _attachments(call), "metadata": _metadata(call)}
    content = {name: value for name, value in found.items() if value is not None}
    if not (text or "").strip() and not content.get("blocks") and not content.get("attachments"):
        raise SlackError("no_text")
    if text is None:
        return content
    kept = escaped(text)
    # An edit is measured after ``&`` became ``&amp;``, a post before: a text may be posted and then not be editable.
    if len(kept if longest == UPDATE_LENGTH else text) > longest:
        raise SlackError("msg_too_long")
    return content | {"text": kept}


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
    """Where in the channel a post goes.

    A number for ``thread_ts`` has lost digits: the vendor takes it, and the message is never seen again.
    What becomes of a reply to a reply, the vendor does not say: see the knob ``reply_to_reply``.
    """
    wanted = call.arguments.raw("thread_ts")
    if wanted is None:
        return {}
    if isinstance(wanted, int | float) and not isinstance(wanted, bool):
        return {"thread_ts": str(wanted)}
    if not isinstance(wanted, str):
        raise invalid_arguments("must be a string [json-pointer:/thread_ts]")
    if not TS.fullmatch(wanted):
        raise SlackError("invalid_thread_ts")
    root = require(channel.root_of(wanted), SlackError("thread_not_found"))
    if root.subtype in {"channel_join", "channel_archive", "channel_unarchive", "channel_name", "tombstone"}:
        raise SlackError("cannot_reply_to_message")
    subtype = {"subtype": "thread_broadcast"} if call.arguments.flag("reply_broadcast") else {}
    strays = call.knobs["reply_to_reply"] == "stray"
    return {"thread_ts": wanted if strays else root.ts} | subtype


def _pieces(text: str) -> list[str]:
    starts = range(0, max(1, len(text)), SPLIT_LENGTH)
    return [text[start : start + SPLIT_LENGTH] for start in starts]


def _posted(call: ApiRequest, channel: Channel, message: Message) -> dict[str, Any]:
    shown = wire.message(call.workspace, channel, message)
    return {"channel": channel.id, "ts": message.ts, "message": shown}
