"""``conversations.kick`` and related methods: leaving and closing conversations, and marking them as read."""

from typing import Any

from workspace_sandbox.chat.api.channel_administration import is_direct, require_write, writable_channel
from workspace_sandbox.chat.data.channel import TS
from workspace_sandbox.chat.error_responses import ApiError
from workspace_sandbox.chat.request import ApiRequest


def kick(request: ApiRequest) -> dict[str, Any]:
    """``conversations.kick``."""
    channel, user = writable_channel(request), request.arguments.text("user")
    if user not in request.workspace.users:
        raise ApiError("user_not_found")
    if user == request.workspace.team.bot_user_id:
        raise ApiError("cant_kick_self")
    if channel.is_general:
        raise ApiError("cant_kick_from_general")
    if user not in channel.members:
        raise ApiError("not_in_channel")
    request.workspace.leave(channel, user)
    return {}


def leave(request: ApiRequest) -> dict[str, Any]:
    """``conversations.leave``. Leaving is not an error if the bot is not a member."""
    workspace = request.workspace
    channel = workspace.visible(request.arguments.text("channel"))
    if is_direct(channel):
        raise ApiError("method_not_supported_for_channel_type")
    require_write(request, channel)
    if not workspace.is_member(channel):
        return {"not_in_channel": True}
    if channel.is_archived:
        raise ApiError("is_archived")
    if channel.is_general:
        raise ApiError("cant_leave_general")
    if channel.is_private and len(channel.members) == 1:
        raise ApiError("last_member")
    bot = workspace.team.bot_user_id
    workspace.post(channel, f"<@{bot}> has left the channel", bot, subtype="channel_leave")
    workspace.leave(channel, bot)
    return {}


def close(request: ApiRequest) -> dict[str, Any]:
    """``conversations.close``, which hides a direct conversation but retains it."""
    channel = request.workspace.visible(request.arguments.text("channel"))
    if not is_direct(channel):
        raise ApiError("method_not_supported_for_channel_type")
    require_write(request, channel)
    was_open, channel.is_open = channel.is_open, False
    return {} if was_open else {"no_op": True, "already_closed": True}


def mark(request: ApiRequest) -> dict[str, Any]:
    """``conversations.mark``, which sets the last message that was read."""
    channel = request.workspace.joined(request.arguments.text("channel"))
    require_write(request, channel)
    ts = request.arguments.text("ts")
    if not TS.fullmatch(ts):
        raise ApiError("invalid_timestamp")
    channel.last_read = ts
    return {}
