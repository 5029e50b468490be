"""``users.*``: the users of the workspace."""

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
    """``users.lookupByEmail``, which ignores deactivated users."""
    email = call.arguments.text("email").lower()
    for user in call.workspace.users.values():
        if not user.deleted and call.workspace.email(user) == email:
            return {"user": _shown(call, user)}
    raise SlackError("users_not_found")


def presence(call: ApiRequest) -> dict[str, Any]:
    """``users.getPresence``: the bot is active, users are away."""
    user = _user(call, call.arguments.optional("user") or call.workspace.team.bot_user_id)
    return {"presence": "active" if user.is_bot else "away"}


def profile(call: ApiRequest) -> dict[str, Any]:
    """``users.profile.get``."""
    user = _user(call, call.arguments.optional("user") or call.workspace.team.bot_user_id)
    profile_json = wire.profile(call.workspace, user, with_email=_sees_addresses(call))
    return {
        "profile": profile_json | {"avatar_hash": f"g{user.id[-7:].lower()}", "phone": "", "skype": "", "fields": {}}
    }


def list_all(call: ApiRequest) -> dict[str, Any]:
    """``users.list``: all users, including deactivated ones, in one page unless a limit is given."""
    limit = call.arguments.limit(UNPAGED, UNPAGED)
    page, following = paging.cut(call.workspace.users, "user", call.arguments.optional("cursor"), limit)
    members = [_shown(call, user) for user in page]
    return {"members": members, "cache_ts": int(call.workspace.now())} | following


def _user(call: ApiRequest, user_id: str) -> User:
    return require(call.workspace.users.get(user_id), SlackError("user_not_found"))


def _shown(call: ApiRequest, user: User) -> dict[str, Any]:
    return wire.user(call.workspace, user, with_email=_sees_addresses(call))


def _sees_addresses(call: ApiRequest) -> bool:
    return "users:read.email" in call.scopes
