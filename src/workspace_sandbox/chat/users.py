"""``users.*``: the people of the workspace."""

from typing import Any

from workspace_sandbox.chat import paging, wire
from workspace_sandbox.chat.call import ApiRequest
from workspace_sandbox.chat.state import User
from workspace_sandbox.chat.wire import SlackError
from workspace_sandbox.kit.refusals import require

UNPAGED = 1_000_000


def info(call: ApiRequest) -> dict[str, Any]:
    """``users.info``."""
    return {"user": _shown(call, _user(call, call.arguments.text("user")))}


def look_up_by_email(call: ApiRequest) -> dict[str, Any]:
    """``users.lookupByEmail``: who has that address and is still there."""
    wanted = call.arguments.text("email").lower()
    for user in call.workspace.users.values():
        if not user.deleted and call.workspace.email(user) == wanted:
            return {"user": _shown(call, user)}
    raise SlackError("users_not_found")


def presence(call: ApiRequest) -> dict[str, Any]:
    """``users.getPresence``: the bot is there, people are away."""
    user = _user(call, call.arguments.optional("user") or call.workspace.team.bot_user_id)
    return {"presence": "active" if user.is_bot else "away"}


def profile(call: ApiRequest) -> dict[str, Any]:
    """``users.profile.get``."""
    user = _user(call, call.arguments.optional("user") or call.workspace.team.bot_user_id)
    told = wire.profile(call.workspace, user, with_email=_sees_addresses(call))
    return {"profile": told | {"avatar_hash": f"g{user.id[-7:].lower()}", "phone": "", "skype": "", "fields": {}}}


def list_all(call: ApiRequest) -> dict[str, Any]:
    """``users.list``: everyone, deleted ones too; in one page unless a length is asked for."""
    limit = call.arguments.limit(UNPAGED, UNPAGED)
    page, following = paging.cut(call.workspace.users, "user", call.arguments.optional("cursor"), limit)
    shown = [_shown(call, user) for user in page]
    return {"members": shown, "cache_ts": int(call.workspace.now())} | following


def _user(call: ApiRequest, user_id: str) -> User:
    return require(call.workspace.users.get(user_id), SlackError("user_not_found"))


def _shown(call: ApiRequest, user: User) -> dict[str, Any]:
    return wire.user(call.workspace, user, with_email=_sees_addresses(call))


def _sees_addresses(call: ApiRequest) -> bool:
    return "users:read.email" in call.scopes
