"""Workspaces: search by a part of the name, and the page with their connections and keys."""

from collections.abc import Mapping, Sequence
from typing import Any

from connector_gateway.http.console.pages import connections, keys
from connector_gateway.http.console.request import ConsoleRequest
from connector_gateway.http.console.table_builder import LISTS, build_table
from connector_gateway.kit.models import Page, Position
from connector_gateway.management.field_descriptions import Field
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


async def search(request: ConsoleRequest, filters: Mapping[str, str], position: Position | None) -> Page[Any]:
    """Return workspaces whose name or identifier contains the search text, newest first."""
    before = None if position is None else str(position["before"])
    rows, more = await request.management.workspaces.page(filters.get("search", ""), before, SHOWN)
    return Page(items=[WorkspaceRecord(**row) for row in rows], position=position_before(more))


async def extra(request: ConsoleRequest, workspace: WorkspaceRecord) -> Mapping[str, Any]:
    """Return the connections and keys of a workspace."""
    return {
        name: await _list(request, name, workspace.workspace_id, columns)
        for name, columns in (("connections", connections.COLUMNS), ("keys", keys.COLUMNS))
    }


async def _list(request: ConsoleRequest, name: str, workspace_id: str, columns: Sequence[str]) -> Mapping[str, Any]:
    page = await request.submit(LISTS[name], {"workspace_id": workspace_id, "limit": str(SHOWN)})
    table = await build_table(request, name, page.items, columns)
    return {"table": table.without("workspace_id"), "more": page.position is not None}
