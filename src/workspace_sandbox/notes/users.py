"""The routes of users."""

from typing import Any

from workspace_sandbox.notes import wire
from workspace_sandbox.notes.answers import listing
from workspace_sandbox.notes.call import Call
from workspace_sandbox.notes.paging import window


def me(call: Call) -> dict[str, Any]:
    """The bot of the connection."""
    return call.answers.user(call.bot)


def list_users(call: Call) -> dict[str, Any]:
    """Everybody in the workspace: people, and the bot that asks."""
    found = [user for user in call.workspace.users.values() if user.kind == "person" or user is call.bot]
    shown, cursor = call.cursors.turn("users", found, lambda user: user.id, window(call.query, "query"))
    return listing("user", [call.answers.user(user) for user in shown], cursor)


def retrieve_user(call: Call) -> dict[str, Any]:
    """One user."""
    uid = call.uid("user_id")
    found = call.workspace.users.get(uid)
    if found is None:
        raise wire.not_shared("user", uid, call.bot.integration_id, call.bot.name)
    return call.answers.user(found)
