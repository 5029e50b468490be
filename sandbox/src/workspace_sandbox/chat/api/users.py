"""``users.*``: the users of the workspace."""

from typing import Any

from workspace_sandbox.chat import object_json, pagination
from workspace_sandbox.chat.data.state import User
from workspace_sandbox.chat.error_responses import ApiError
from workspace_sandbox.chat.request import ApiRequest
from workspace_sandbox.kit.error_responses import require

UNPAGED = 1_000_000


def info(request: ApiRequest) -> dict[str, Any]:
    """``users.info``."""
    return {"user": _describe(request, _user(request, request.arguments.text("user")))}


def look_up_by_email(request: ApiRequest) -> dict[str, Any]:
    """``users.lookupByEmail``, which ignores deactivated users."""
    email = request.arguments.text("email").lower()
    for user in request.workspace.users.values():
        if not user.deleted and request.workspace.email(user) == email:
            return {"user": _describe(request, user)}
    raise ApiError("users_not_found")


def presence(request: ApiRequest) -> dict[str, Any]:
    """``users.getPresence``: the bot is active, users are away."""
    user = _user(request, request.arguments.optional("user") or request.workspace.team.bot_user_id)
    return {"presence": "active" if user.is_bot else "away"}


def profile(request: ApiRequest) -> dict[str, Any]:
    """``users.profile.get``."""
    user = _user(request, request.arguments.optional("user") or request.workspace.team.bot_user_id)
    profile_json = object_json.profile(request.workspace, user, with_email=_sees_addresses(request))
    return {
        "profile": profile_json | {"avatar_hash": f"g{user.id[-7:].lower()}", "phone": "", "skype": "", "fields": {}}
    }


def list_all(request: ApiRequest) -> dict[str, Any]:
    """``users.list``: all users, including deactivated ones, in one page unless a limit is given."""
    limit = request.arguments.limit(UNPAGED, UNPAGED)
    page, following = pagination.paginate(request.workspace.users, "user", request.arguments.optional("cursor"), limit)
    members = [_describe(request, user) for user in page]
    return {"members": members, "cache_ts": int(request.workspace.now())} | following


def _user(request: ApiRequest, user_id: str) -> User:
    return require(request.workspace.users.get(user_id), ApiError("user_not_found"))


def _describe(request: ApiRequest, user: User) -> dict[str, Any]:
    return object_json.user(request.workspace, user, with_email=_sees_addresses(request))


def _sees_addresses(request: ApiRequest) -> bool:
    return "users:read.email" in request.scopes
