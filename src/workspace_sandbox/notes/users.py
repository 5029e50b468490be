"""The routes of users."""

from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.notes import wire
from workspace_sandbox.notes.answers import listing
from workspace_sandbox.notes.call import Call
from workspace_sandbox.notes.paging import window
from workspace_sandbox.notes.state import User
from workspace_sandbox.notes.wire import Refusal


def me(call: Call) -> dict[str, Any]:
    """The bot of the connection."""
    return call.answers.user(call.bot)


def list_users(call: Call) -> dict[str, Any]:
    """Everybody in the workspace: people, and the bot that asks."""
    _require_capability(call)
    found = [user for user in call.workspace.users.values() if user.kind == "person" or user is call.bot]
    shown, cursor = call.cursors.turn("users", found, lambda user: user.id, window(call.query, "query"))
    return listing("user", [_shown(call, user) for user in shown], cursor)


def retrieve_user(call: Call) -> dict[str, Any]:
    """One user."""
    _require_capability(call)
    uid = call.uid("user_id")
    found = require(call.workspace.users.get(uid), wire.not_shared("user", uid, call.bot.integration_id, call.bot.name))
    return _shown(call, found)


def _require_capability(call: Call) -> None:
    if call.stage.knobs["user_information"] == "none":
        raise Refusal(403, "restricted_resource", "Insufficient permissions for this endpoint.")


def _shown(call: Call, user: User) -> dict[str, Any]:
    """Return the user object, without the address if the integration may not read it."""
    shown = call.answers.user(user)
    hidden = call.stage.knobs["user_information"] == "without_email" and user.kind == "person"
    return {**shown, "person": {}} if hidden else shown
