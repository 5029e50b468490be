"""Workspaces: found by a part of their name, and shown with their connections and keys."""

from collections.abc import Mapping
from typing import Any

from connector_gateway.http.console.request import ConsoleRequest
from connector_gateway.http.console.tables import LISTS, table_of
from connector_gateway.kit.fields import Field
from connector_gateway.kit.shapes import Page, Position
from connector_gateway.management.request import position_before
from connector_gateway.management.workspaces import WorkspaceRecord

SHOWN = 50
SEARCH = Field(
    name="search",
    kind="text",
    description="",
    is_required=False,
    default=None,
    choices=(),
    minimum=None,
    maximum=None,
    max_length=200,
    is_secret=False,
)


async def search(visit: ConsoleRequest, given: Mapping[str, str], position: Position | None) -> Page[Any]:
    """Return workspaces whose name or identifier contains what is searched for, newest first."""
    before = None if position is None else str(position["before"])
    rows, more = await visit.management.workspaces.page(given.get("search", ""), before, SHOWN)
    return Page(items=[WorkspaceRecord(**row) for row in rows], position=position_before(more))


async def extra(visit: ConsoleRequest, workspace: WorkspaceRecord) -> Mapping[str, Any]:
    """Return the connections and keys of a workspace."""
    return {name: await _list(visit, name, workspace.workspace_id) for name in ("connections", "keys")}


async def _list(visit: ConsoleRequest, name: str, workspace_id: str) -> Mapping[str, Any]:
    page = await visit.submit(LISTS[name], {"workspace_id": workspace_id, "limit": str(SHOWN)})
    table = await table_of(visit, name, page.items)
    return {"table": table.without("workspace_id"), "more": page.position is not None}
