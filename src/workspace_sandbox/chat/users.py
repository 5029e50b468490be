"""``users.*``: the people of the workspace."""

from typing import Any

from workspace_sandbox.chat import paging, wire
from workspace_sandbox.chat.call import Call
from workspace_sandbox.chat.wire import SlackError

UNPAGED = 1_000_000


def info(call: Call) -> dict[str, Any]:
    """``users.info``."""
    user = call.workspace.users.get(call.arguments.text("user"))
    if user is None:
        raise SlackError("user_not_found")
    return {"user": wire.user(call.workspace, user)}


def list_all(call: Call) -> dict[str, Any]:
    """``users.list``: everyone, deleted ones too; in one page unless a length is asked for."""
    limit = call.arguments.limit(UNPAGED, UNPAGED)
    page, following = paging.cut(call.workspace.users, "user", call.arguments.optional("cursor"), limit)
    shown = [wire.user(call.workspace, user) for user in page]
    return {"members": shown, "cache_ts": int(call.workspace.now())} | following
