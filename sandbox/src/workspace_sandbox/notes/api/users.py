"""The routes of users."""

from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.notes import error_responses
from workspace_sandbox.notes.data.state import User
from workspace_sandbox.notes.error_responses import ApiError
from workspace_sandbox.notes.object_json import list_object
from workspace_sandbox.notes.pagination import read_window
from workspace_sandbox.notes.request import ApiRequest


def get_bot_user(request: ApiRequest) -> dict[str, Any]:
    """Return the bot of the connection."""
    return request.responses.user(request.bot)


def list_users(request: ApiRequest) -> dict[str, Any]:
    """List the people in the workspace, and the connection's own bot."""
    _require_capability(request)
    users = [user for user in request.workspace.users.values() if user.kind == "person" or user is request.bot]
    items, cursor = request.cursors.paginate("users", users, lambda user: user.id, read_window(request.query, "query"))
    return list_object("user", [_user_json(request, user) for user in items], cursor)


def retrieve_user(request: ApiRequest) -> dict[str, Any]:
    """Return a user."""
    _require_capability(request)
    uid = request.path_id("user_id")
    user = require(
        request.workspace.users.get(uid),
        error_responses.not_shared("user", uid, request.bot.integration_id, request.bot.name),
    )
    return _user_json(request, user)


def _require_capability(request: ApiRequest) -> None:
    if request.context.knobs["user_information"] == "none":
        raise ApiError(403, "restricted_resource", "Insufficient permissions for this endpoint.")


def _user_json(request: ApiRequest, user: User) -> dict[str, Any]:
    """Return the user object, without the email if the integration is not allowed to read it."""
    fields = request.responses.user(user)
    hidden = request.context.knobs["user_information"] == "without_email" and user.kind == "person"
    return {**fields, "person": {}} if hidden else fields
