"""``conversations.*`` and ``users.conversations``: listing, opening, joining and reading conversations."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workspace_sandbox.chat import object_json, pagination
from workspace_sandbox.chat.data.channel import MICROSECONDS, Channel, Message, from_ts
from workspace_sandbox.chat.data.state import User
from workspace_sandbox.chat.error_responses import ApiError
from workspace_sandbox.chat.request import FAMILIES, ApiRequest
from workspace_sandbox.kit.error_responses import require

USUAL_PAGE = 100
MAX_PAGE_SIZE = 999
MAX_GROUP_SIZE = 8
MICROS = re.compile(r"[0-9]{16}")
INSTANT = re.compile(r"(\d{1,10})(?:\.(\d{1,6}))?")


def list_all(request: ApiRequest) -> dict[str, Any]:
    """``conversations.list``: all conversations that the bot can see."""
    return _listed(request, request.workspace.channels, counted=True)


def list_joined(request: ApiRequest) -> dict[str, Any]:
    """``users.conversations``: the conversations of a user that the bot can see, without member counts."""
    user = request.arguments.optional("user") or request.workspace.team.bot_user_id
    if user not in request.workspace.users:
        raise ApiError("user_not_found")
    # No member counts and no ``is_member``, as in the samples in Slack's own libraries.
    joined = {name: channel for name, channel in request.workspace.channels.items() if user in channel.members}
    return _listed(request, joined, counted=False)


def info(request: ApiRequest) -> dict[str, Any]:
    """``conversations.info``."""
    channel = request.visible("read")
    members = request.arguments.flag("include_num_members")
    channel_json = object_json.channel(request.workspace, channel, membership=True, members=members)
    return {
        "channel": channel_json | ({"last_read": channel.last_read} if request.workspace.is_member(channel) else {})
    }


def members(request: ApiRequest) -> dict[str, Any]:
    """``conversations.members``."""
    channel = request.visible("read")
    limit = request.arguments.limit(USUAL_PAGE, MAX_PAGE_SIZE)
    everyone = {member: member for member in channel.members}
    page, following = pagination.paginate(everyone, "user_id", request.arguments.optional("cursor"), limit)
    return {"members": page} | following


def open_im(request: ApiRequest) -> dict[str, Any]:
    """``conversations.open``: a direct conversation with one user, or with several, which needs another scope."""
    # Opening an open conversation is not an error. The response has ``already_open`` and the same ID.
    existing_id = request.arguments.optional("channel")
    if existing_id:
        channel = request.workspace.visible(existing_id)
        was_open, channel.is_open = channel.is_open, True
        return _opened(request, channel, opened=not was_open)
    users = [_openable(request, user) for user in request.arguments.words("users")]
    if not users:
        raise ApiError("users_list_not_supplied")
    if len(users) > MAX_GROUP_SIZE:
        raise ApiError("too_many_users")
    request.require("mpim:write" if len(users) > 1 else "im:write")
    channel, opened = request.workspace.direct_with(users)
    return _opened(request, channel, opened=opened)


def join(request: ApiRequest) -> dict[str, Any]:
    """``conversations.join``."""
    channel = request.workspace.visible(request.arguments.text("channel"))
    if channel.is_private:
        raise ApiError("method_not_supported_for_channel_type")
    if channel.is_archived:
        raise ApiError("is_archived")
    if request.workspace.is_member(channel):
        request.warnings.append("already_in_channel")
    else:
        request.workspace.join(channel, request.workspace.team.bot_user_id)
    return {"channel": object_json.channel(request.workspace, channel, membership=True, members=False)}


def history(request: ApiRequest) -> dict[str, Any]:
    """``conversations.history``: newest first, without replies."""
    channel = _read(request)
    latest = _cursor(request)
    between = _between(request, latest)
    # A history includes replies only if they were also sent to the channel. Others are read by thread.
    matching = (message for message in channel.newest_first() if between(message))
    messages, following = _page(request, channel, matching)
    return (
        messages | following | {"pin_count": len(channel.pins), "channel_actions_ts": None, "channel_actions_count": 0}
    )


def replies(request: ApiRequest) -> dict[str, Any]:
    """``conversations.replies``: a thread, parent first, then oldest first. For the ID of a reply, only that reply."""
    channel = _read(request)
    ts = request.arguments.text("ts")
    root = require(channel.messages.get(ts), ApiError("thread_not_found"))
    start = _cursor(request)
    between = _between(request, None)
    thread = [channel.messages[reply] for reply in channel.threads.get(ts, [])]
    matching = [reply for reply in thread if between(reply) and from_ts(reply.ts) >= (start or 0)]
    messages, following = _page(request, channel, matching if start is not None else [root, *matching])
    return messages | following


def _listed(request: ApiRequest, conversations: Mapping[str, Channel], *, counted: bool) -> dict[str, Any]:
    """Return a page of *conversations*. It is filtered after it is cut, so it can be short or empty."""
    types = set(request.arguments.words("types")) or {"public_channel"}
    if not types <= FAMILIES.keys():
        raise ApiError("invalid_types")
    for kind in sorted(types):
        request.require_for(kind, "read")
    limit = request.arguments.limit(USUAL_PAGE, MAX_PAGE_SIZE)
    # The page is cut before it is filtered, as in Slack, so short and empty pages occur before the last one.
    page, following = pagination.paginate(conversations, "team", request.arguments.optional("cursor"), limit)
    without_archived = request.arguments.flag("exclude_archived")
    visible = [
        object_json.channel(request.workspace, channel, membership=counted, members=counted)
        for channel in page
        if channel.type in types
        and request.workspace.can_see(channel)
        and not (without_archived and channel.is_archived)
    ]
    return {"channels": visible} | following


def _openable(request: ApiRequest, user_id: str) -> User:
    user = require(request.workspace.users.get(user_id), ApiError("user_not_found"))
    if user.deleted:
        raise ApiError("user_disabled")
    if user.is_bot:
        raise ApiError("invalid_user_combination")
    return user


def _opened(request: ApiRequest, channel: Channel, *, opened: bool) -> dict[str, Any]:
    if channel.type not in {"im", "mpim"}:
        raise ApiError("method_not_supported_for_channel_type")
    channel_json = object_json.channel(request.workspace, channel, membership=False, members=False)
    full = channel_json if request.arguments.flag("return_im") else {"id": channel.id}
    return {"channel": full} | ({} if opened else {"no_op": True, "already_open": True})


def _read(request: ApiRequest) -> Channel:
    channel = request.visible("history")
    return request.workspace.joined(channel.id)


def _between(request: ApiRequest, before: int | None) -> Callable[[Message], bool]:
    """Return a test for messages in the requested period and not newer than *before*."""
    inclusive = request.arguments.flag("inclusive")
    oldest = _instant(request, "oldest")
    latest = _instant(request, "latest")

    def within(message: Message) -> bool:
        at = from_ts(message.ts)
        return (
            (before is None or at <= before)
            and (oldest is None or at > oldest or (inclusive and at == oldest))
            and (latest is None or at < latest or (inclusive and at == latest))
        )

    return within


def _instant(request: ApiRequest, name: str) -> int | None:
    value = request.arguments.raw(name)
    if value is None:
        return None
    match = INSTANT.fullmatch(f"{value:.6f}" if isinstance(value, float) else str(value))
    if match is None:
        raise ApiError(f"invalid_ts_{name}")
    return int(match[1]) * MICROSECONDS + int((match[2] or "").ljust(6, "0"))


def _cursor(request: ApiRequest) -> int | None:
    cursor = request.arguments.optional("cursor")
    if not cursor:
        return None
    key = pagination.decode_cursor("next_ts", cursor)
    if not MICROS.fullmatch(key):
        raise ApiError("invalid_cursor")
    return int(key)


def _page(request: ApiRequest, channel: Channel, matching: Iterable[Message]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a page of *matching* and a cursor if there are more messages. Otherwise the key is missing."""
    limit = request.limits.items(request.arguments.limit(USUAL_PAGE, MAX_PAGE_SIZE))
    metadata = request.arguments.flag("include_all_metadata")
    page: list[dict[str, Any]] = []
    for message in matching:
        # The key is missing on the last page of a history. Lists of channels have an empty string instead.
        if len(page) == limit:
            cursor = pagination.encode_cursor("next_ts", str(from_ts(message.ts)))
            return {"messages": page, "has_more": True}, {"response_metadata": {"next_cursor": cursor}}
        page.append(object_json.message(request.workspace, channel, message, metadata=metadata))
    return {"messages": page, "has_more": False}, {}
