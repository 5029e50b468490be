"""``conversations.create`` and related methods that create, archive and rename channels and invite users."""

import re
from typing import Any, Literal

from workspace_sandbox.chat import object_json
from workspace_sandbox.chat.data.channel import Channel
from workspace_sandbox.chat.error_responses import ApiError
from workspace_sandbox.chat.request import ApiRequest

NAME = re.compile(r"[\w-]+")
MAX_NAME_LENGTH, MAX_TOPIC_LENGTH, MAX_INVITED = 80, 250, 1000


def create(request: ApiRequest) -> dict[str, Any]:
    """``conversations.create``. The bot joins the new channel."""
    private = request.arguments.flag("is_private")
    request.require("groups:write" if private else "channels:manage")
    name = _name(request)
    channel = request.workspace.create_channel(name, request.workspace.team.bot_user_id, private=private)
    return _describe(request, channel)


def invite(request: ApiRequest) -> dict[str, Any]:
    """``conversations.invite``. If one user cannot be invited, none are."""
    channel, users = _own(request), request.arguments.words("users")
    if not users:
        raise ApiError("no_user")
    if len(users) > MAX_INVITED:
        raise ApiError("too_many_users")
    for user in users:
        _check_invitable(request, channel, user)
    for user in users:
        request.workspace.join(channel, user, inviter=request.workspace.team.bot_user_id)
    return _describe(request, channel)


def archive(request: ApiRequest) -> dict[str, Any]:
    """``conversations.archive``."""
    channel = writable_channel(request)
    if channel.is_archived:
        raise ApiError("already_archived")
    if channel.is_general:
        raise ApiError("cant_archive_general")
    request.workspace.archive(channel, request.workspace.team.bot_user_id, archived=True)
    return {}


def unarchive(request: ApiRequest) -> dict[str, Any]:
    """``conversations.unarchive``."""
    channel = writable_channel(request)
    if not channel.is_archived:
        raise ApiError("not_archived")
    request.workspace.archive(channel, request.workspace.team.bot_user_id, archived=False)
    return {}


def rename(request: ApiRequest) -> dict[str, Any]:
    """``conversations.rename``, which only the creator of a channel can use."""
    channel = _own(request)
    if channel.creator != request.workspace.team.bot_user_id:
        raise ApiError("not_authorized")
    request.workspace.rename(channel, _name(request, channel), request.workspace.team.bot_user_id)
    return _describe(request, channel)


def set_topic(request: ApiRequest) -> dict[str, Any]:
    """``conversations.setTopic``."""
    return _noted(request, "topic")


def set_purpose(request: ApiRequest) -> dict[str, Any]:
    """``conversations.setPurpose``."""
    return _noted(request, "purpose")


def is_direct(channel: Channel) -> bool:
    """Return True if *channel* is a direct conversation of one or more users."""
    return channel.type in {"im", "mpim"}


def require_write(request: ApiRequest, channel: Channel) -> None:
    """Raise an error unless the token can change conversations of this type."""
    families = {"public_channel": "channels:manage", "private_channel": "groups:write"}
    request.require(families.get(channel.type, f"{channel.type}:write"))


def _noted(request: ApiRequest, what: Literal["topic", "purpose"]) -> dict[str, Any]:
    channel, value = _own(request), request.arguments.optional(what) or ""
    if len(value) > MAX_TOPIC_LENGTH:
        raise ApiError("too_long")
    request.workspace.set_note(channel, what, value, request.workspace.team.bot_user_id)
    return _describe(request, channel)


def _name(request: ApiRequest, renamed: Channel | None = None) -> str:
    name = (request.arguments.optional("name") or "").strip()
    if not name:
        raise ApiError("invalid_name_required")
    if len(name) > MAX_NAME_LENGTH:
        raise ApiError("invalid_name_maxlength")
    if not NAME.fullmatch(name) or name != name.lower():
        raise ApiError("invalid_name_specials")
    if any(channel.name == name and channel is not renamed for channel in request.workspace.channels.values()):
        raise ApiError("name_taken")
    return name


def writable_channel(request: ApiRequest) -> Channel:
    """Return the channel of the request, which the token can change and the bot is in."""
    channel = request.workspace.visible(request.arguments.text("channel"))
    if is_direct(channel):
        raise ApiError("method_not_supported_for_channel_type")
    require_write(request, channel)
    return request.workspace.joined(channel.id)


def _own(request: ApiRequest) -> Channel:
    channel = writable_channel(request)
    if channel.is_archived:
        raise ApiError("is_archived")
    return channel


def _check_invitable(request: ApiRequest, channel: Channel, user: str) -> None:
    if user not in request.workspace.users:
        raise ApiError("user_not_found")
    if user == request.workspace.team.bot_user_id:
        raise ApiError("cant_invite_self")
    if user in channel.members:
        raise ApiError("already_in_channel")


def _describe(request: ApiRequest, channel: Channel) -> dict[str, Any]:
    return {"channel": object_json.channel(request.workspace, channel, membership=True, members=False)}
