"""``conversations.create`` and related methods that create, archive and rename channels and invite users."""

import re
from typing import Any, Literal

from workspace_sandbox.chat import wire
from workspace_sandbox.chat.call import ApiRequest
from workspace_sandbox.chat.channel import Channel
from workspace_sandbox.chat.wire import SlackError

NAME = re.compile(r"[\w-]+")
MOST_IN_NAME, MOST_IN_TOPIC, MOST_INVITED = 80, 250, 1000


def create(call: ApiRequest) -> dict[str, Any]:
    """``conversations.create``. The bot joins the new channel."""
    private = call.arguments.flag("is_private")
    call.require("groups:write" if private else "channels:manage")
    name = _name(call)
    channel = call.workspace.found(name, call.workspace.team.bot_user_id, private=private)
    return _shown(call, channel)


def invite(call: ApiRequest) -> dict[str, Any]:
    """``conversations.invite``. If one user cannot be invited, none are."""
    channel, users = _own(call), call.arguments.words("users")
    if not users:
        raise SlackError("no_user")
    if len(users) > MOST_INVITED:
        raise SlackError("too_many_users")
    for user in users:
        _refuse_guest(call, channel, user)
    for user in users:
        call.workspace.join(channel, user, inviter=call.workspace.team.bot_user_id)
    return _shown(call, channel)


def archive(call: ApiRequest) -> dict[str, Any]:
    """``conversations.archive``."""
    channel = changed(call)
    if channel.is_archived:
        raise SlackError("already_archived")
    if channel.is_general:
        raise SlackError("cant_archive_general")
    call.workspace.archive(channel, call.workspace.team.bot_user_id, archived=True)
    return {}


def unarchive(call: ApiRequest) -> dict[str, Any]:
    """``conversations.unarchive``."""
    channel = changed(call)
    if not channel.is_archived:
        raise SlackError("not_archived")
    call.workspace.archive(channel, call.workspace.team.bot_user_id, archived=False)
    return {}


def rename(call: ApiRequest) -> dict[str, Any]:
    """``conversations.rename``, which only the creator of a channel can use."""
    channel = _own(call)
    if channel.creator != call.workspace.team.bot_user_id:
        raise SlackError("not_authorized")
    call.workspace.rename(channel, _name(call, channel), call.workspace.team.bot_user_id)
    return _shown(call, channel)


def set_topic(call: ApiRequest) -> dict[str, Any]:
    """``conversations.setTopic``."""
    return _noted(call, "topic")


def set_purpose(call: ApiRequest) -> dict[str, Any]:
    """``conversations.setPurpose``."""
    return _noted(call, "purpose")


def is_direct(channel: Channel) -> bool:
    """Return True if *channel* is a direct conversation of one or more users."""
    return channel.type in {"im", "mpim"}


def require_write(call: ApiRequest, channel: Channel) -> None:
    """Raise an error unless the token can change conversations of this type."""
    families = {"public_channel": "channels:manage", "private_channel": "groups:write"}
    call.require(families.get(channel.type, f"{channel.type}:write"))


def _noted(call: ApiRequest, what: Literal["topic", "purpose"]) -> dict[str, Any]:
    channel, value = _own(call), call.arguments.optional(what) or ""
    if len(value) > MOST_IN_TOPIC:
        raise SlackError("too_long")
    call.workspace.note(channel, what, value, call.workspace.team.bot_user_id)
    return _shown(call, channel)


def _name(call: ApiRequest, renamed: Channel | None = None) -> str:
    name = (call.arguments.optional("name") or "").strip()
    if not name:
        raise SlackError("invalid_name_required")
    if len(name) > MOST_IN_NAME:
        raise SlackError("invalid_name_maxlength")
    if not NAME.fullmatch(name) or name != name.lower():
        raise SlackError("invalid_name_specials")
    if any(channel.name == name and channel is not renamed for channel in call.workspace.channels.values()):
        raise SlackError("name_taken")
    return name


def changed(call: ApiRequest) -> Channel:
    """Return the channel of the request, which the token can change and the bot is in."""
    channel = call.workspace.visible(call.arguments.text("channel"))
    if is_direct(channel):
        raise SlackError("method_not_supported_for_channel_type")
    require_write(call, channel)
    return call.workspace.joined(channel.id)


def _own(call: ApiRequest) -> Channel:
    channel = changed(call)
    if channel.is_archived:
        raise SlackError("is_archived")
    return channel


def _refuse_guest(call: ApiRequest, channel: Channel, user: str) -> None:
    if user not in call.workspace.users:
        raise SlackError("user_not_found")
    if user == call.workspace.team.bot_user_id:
        raise SlackError("cant_invite_self")
    if user in channel.members:
        raise SlackError("already_in_channel")


def _shown(call: ApiRequest, channel: Channel) -> dict[str, Any]:
    return {"channel": wire.channel(call.workspace, channel, membership=True, members=False)}
