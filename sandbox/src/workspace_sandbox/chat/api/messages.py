"""``chat.*``: posting, editing and deleting messages, and their permalinks."""

import json
import re
from typing import Any

from workspace_sandbox.chat import object_json
from workspace_sandbox.chat.data.channel import TS, Channel, Message
from workspace_sandbox.chat.error_responses import ApiError, invalid_arguments
from workspace_sandbox.chat.request import ApiRequest
from workspace_sandbox.kit.error_responses import require

POST_LENGTH = 40_000
UPDATE_LENGTH = 4_000
SPLIT_LENGTH = 4_000
MAX_BLOCKS = 50
MAX_ATTACHMENTS = 100
METADATA_BYTES = 8_192
"""The maximum size of metadata. Slack documents the error, but not the size."""

USER_ID = re.compile(r"[UW][A-Z0-9]{6,}")
MARKUP = re.compile(r"(<(?:@[UW]|#[CG]|!|https?:|mailto:|tel:)[^<>\n]*>)|&(?!(?:amp|lt|gt);)|[<>]")
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


def post_message(request: ApiRequest) -> dict[str, Any]:
    """Post a message (``chat.postMessage``)."""
    channel = find_destination(request, request.arguments.text("channel"))
    content = parse_content(request)
    text = content.pop("text", "")
    fields = content | parse_thread(request, channel) | {"client_msg_id": request.arguments.optional("client_msg_id")}
    # Slack documents errors for a repeated ``client_msg_id``, but not the argument. It is off by default.
    repeated = request.workspace.sent.get((channel.id, fields["client_msg_id"] or ""))
    if repeated is not None and request.knobs["dedupe_client_msg_id"]:
        return _post_response(request, channel, repeated)
    request.limits.count_post(channel.id)
    # Users observed that long texts are split, which the documentation does not mention. Only the ``ts`` of the first
    # message is returned, so clients cannot detect it.
    pieces = _split_text(text) if request.knobs["long_text"] == "split" else [text]
    posted = [request.workspace.post_as_bot(channel, piece, **fields) for piece in pieces]
    return _post_response(request, channel, posted[0])


def update(request: ApiRequest) -> dict[str, Any]:
    """Edit a message of the bot (``chat.update``)."""
    channel, message = _find_own_message(request, "cant_update_message")
    window = request.knobs["edit_window_seconds"]
    if window and request.workspace.now() - float(message.ts) > window:
        raise ApiError("edit_window_closed")
    content = parse_content(request, UPDATE_LENGTH)
    if "text" in content:
        # A new text without blocks removes the old blocks. Attachments and metadata remain (``chat.update``).
        content = {"blocks": []} | content
    request.workspace.change(channel, message, request.workspace.team.bot_user_id, **content)
    return _post_response(request, channel, message) | {"text": message.text}


def delete(request: ApiRequest) -> dict[str, Any]:
    """Delete a message of the bot (``chat.delete``)."""
    channel, message = _find_own_message(request, "cant_delete_message")
    request.workspace.delete(channel, message)
    return {"channel": channel.id, "ts": message.ts}


def post_ephemeral(request: ApiRequest) -> dict[str, Any]:
    """Post a message that one user sees and that is not stored (``chat.postEphemeral``)."""
    channel = find_destination(request, request.arguments.text("channel"))
    if request.arguments.text("user") not in channel.members:
        raise ApiError("user_not_in_channel")
    parse_content(request)
    parse_thread(request, channel)
    request.limits.count_post(channel.id)
    return {"message_ts": channel.next_ts(request.workspace.now())}


def post_me(request: ApiRequest) -> dict[str, Any]:
    """Post a message in the third person (``chat.meMessage``)."""
    channel = find_destination(request, request.arguments.text("channel"))
    text = parse_content(request).get("text", "")
    request.limits.count_post(channel.id)
    message = request.workspace.post_as_bot(channel, text, subtype="me_message")
    return {"channel": channel.id, "ts": message.ts}


def get_permalink(request: ApiRequest) -> dict[str, Any]:
    """Return the URL of a message (``chat.getPermalink``)."""
    channel = request.workspace.visible(request.arguments.text("channel"))
    message = request.workspace.message(channel, request.arguments.text("message_ts"))
    return {"channel": channel.id, "permalink": create_permalink(request, channel, message)}


def create_permalink(request: ApiRequest, channel: Channel, message: Message) -> str:
    """Return the URL of a message, which includes the thread of a reply."""
    url = f"{request.workspace.team.url}archives/{channel.id}/p{message.ts.replace('.', '')}"
    root = message.thread_ts or (message.ts if channel.threads.get(message.ts) else None)
    return f"{url}?thread_ts={root}&cid={channel.id}" if root else url


def escape(text: str) -> str:
    """Escape the special characters in *text*, except in Slack's own markup."""
    return MARKUP.sub(lambda match: match[1] or ENTITIES[match[0]], text)


def find_destination(request: ApiRequest, named: str) -> Channel:
    """Return the channel for a post, by its ID, its public name or the user ID of the recipient."""
    # Only posts accept names, and only of public channels. All other methods require an ID.
    workspace = request.workspace
    if USER_ID.fullmatch(named):
        user = workspace.users.get(named)
        # The code of an unknown channel, because the existence of users is not revealed.
        if user is None or user.deleted or user.is_bot:
            raise ApiError("channel_not_found")
        return workspace.direct_with([user])[0]
    is_channel_id = named in workspace.channels
    channel = workspace.visible(named) if is_channel_id else workspace.find_public(named.removeprefix("#"))
    partner = workspace.im_partner(channel)
    if partner is not None and partner.deleted:
        raise ApiError("channel_not_found")
    if channel.is_archived:
        raise ApiError("is_archived")
    # Private channels without the bot were rejected above, as ``channel_not_found``.
    if not workspace.is_member(channel) and "chat:write.public" not in request.scopes:
        raise ApiError("not_in_channel")
    return channel


def _find_own_message(request: ApiRequest, error_code: str) -> tuple[Channel, Message]:
    """Return the channel and message of the request. Raises an error if the bot did not write it."""
    channel = request.workspace.visible(request.arguments.text("channel"))
    message = request.workspace.message(channel, request.arguments.text("ts"))
    if channel.is_archived:
        raise ApiError("is_inactive")
    # A bot can edit only its own messages, whatever its scopes.
    if message.bot_id != request.workspace.team.bot_id:
        raise ApiError(error_code)
    return channel, message


def parse_content(request: ApiRequest, max_length: int = POST_LENGTH) -> dict[str, Any]:
    """Return the content fields that the request contains."""
    arguments = request.arguments
    text = arguments.optional("text")
    fields = {
        "blocks": _parse_blocks(request),
        "attachments": _parse_attachments(request),
        "metadata": _parse_metadata(request),
    }
    content = {name: value for name, value in fields.items() if value is not None}
    if not (text or "").strip() and not content.get("blocks") and not content.get("attachments"):
        raise ApiError("no_text")
    if text is None:
        return content
    escaped_text = escape(text)
    # Slack measures updates after escaping, and posts before, so a posted message can be too long to update.
    if len(escaped_text if max_length == UPDATE_LENGTH else text) > max_length:
        raise ApiError("msg_too_long")
    return content | {"text": escaped_text}


def _parse_blocks(request: ApiRequest) -> list[Any] | None:
    blocks = request.arguments.structure("blocks", "invalid_blocks_format")
    if blocks is None:
        return None
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise ApiError("invalid_blocks_format")
    untyped = (number for number, block in enumerate(blocks) if "type" not in block)
    violations = [f"missing required field: type [json-pointer:/blocks/{number}/type]" for number in untyped]
    if violations or len(blocks) > MAX_BLOCKS:
        messages = violations or [f"no more than {MAX_BLOCKS} items allowed [json-pointer:/blocks]"]
        raise ApiError("invalid_blocks", response_metadata={"messages": [f"[ERROR] {line}" for line in messages]})
    return blocks


def _parse_attachments(request: ApiRequest) -> list[Any] | None:
    attachments = request.arguments.structure("attachments", "invalid_attachments")
    if attachments is None:
        return None
    if not isinstance(attachments, list) or not all(isinstance(attachment, dict) for attachment in attachments):
        raise ApiError("invalid_attachments")
    if len(attachments) > MAX_ATTACHMENTS:
        raise ApiError("too_many_attachments")
    return [{"id": number, **attachment} for number, attachment in enumerate(attachments, 1)]


def _parse_metadata(request: ApiRequest) -> dict[str, Any] | None:
    metadata = request.arguments.structure("metadata", "invalid_metadata_format")
    if metadata is None:
        return None
    if not isinstance(metadata, dict):
        raise ApiError("invalid_metadata_format")
    if not isinstance(metadata.get("event_type"), str) or not isinstance(metadata.get("event_payload"), dict):
        raise ApiError("invalid_metadata_schema")
    if len(json.dumps(metadata)) > METADATA_BYTES:
        raise ApiError("metadata_too_large")
    return {name: metadata[name] for name in ("event_type", "event_payload")}


def parse_thread(request: ApiRequest, channel: Channel) -> dict[str, Any]:
    """Return the thread fields of a post.

    A number as ``thread_ts`` has lost digits. Slack accepts it, but the message is not visible. Replies to replies are
    not documented (see the knob ``reply_to_reply``).
    """
    ts = request.arguments.raw("thread_ts")
    if ts is None:
        return {}
    if isinstance(ts, int | float) and not isinstance(ts, bool):
        return {"thread_ts": str(ts)}
    if not isinstance(ts, str):
        raise invalid_arguments("must be a string [json-pointer:/thread_ts]")
    if not TS.fullmatch(ts):
        raise ApiError("invalid_thread_ts")
    root = require(channel.find_thread_parent(ts), ApiError("thread_not_found"))
    if root.subtype in {"channel_join", "channel_archive", "channel_unarchive", "channel_name", "tombstone"}:
        raise ApiError("cannot_reply_to_message")
    subtype = {"subtype": "thread_broadcast"} if request.arguments.flag("reply_broadcast") else {}
    is_stray = request.knobs["reply_to_reply"] == "stray"
    return {"thread_ts": ts if is_stray else root.ts} | subtype


def _split_text(text: str) -> list[str]:
    starts = range(0, max(1, len(text)), SPLIT_LENGTH)
    return [text[start : start + SPLIT_LENGTH] for start in starts]


def _post_response(request: ApiRequest, channel: Channel, message: Message) -> dict[str, Any]:
    message_json = object_json.message(request.workspace, channel, message)
    return {"channel": channel.id, "ts": message.ts, "message": message_json}
