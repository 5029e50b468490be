"""Management routes, performed on the installation's own database."""

from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from connector_gateway.app import App
from connector_gateway.cli.installation_settings import run_management
from connector_gateway.core.access.operators import BUILT_IN
from connector_gateway.kit.models import Page, Params
from connector_gateway.management.request import ManagementRequest
from connector_gateway.management.route_declaration import ManagementRoute


def perform_route(
    data: Path | None, route: ManagementRoute, params: Params, *, limit: int, cursor: str | None, json: bool
) -> Any:
    """Return the result of *route*. Of a list, return up to *limit* items from *cursor*, and the next position."""
    return run_management(data, lambda app: run_route(app, route, params, limit=limit, cursor=cursor), json=json)


def find_connector(data: Path | None, connection_id: str, *, json: bool) -> str:
    """Return the connector of a connection."""
    connection = run_management(data, lambda app: app.connections.show(connection_id), json=json)
    return str(connection["connector"])


async def run_route(
    app: App, route: ManagementRoute, params: Params, *, limit: int = 0, cursor: str | None = None
) -> Any:
    """Return the result of *route*, as ``perform_route`` does."""
    if not route.pages:
        return await _perform(app, route, params, None)
    items: list[Any] = []
    while True:
        page = await _perform(app, route, params.model_copy(update={"limit": limit - len(items)}), cursor)
        items += page.items
        cursor = page.position["before"] if page.position else None
        if cursor is None or len(items) >= limit:
            return Page(items=items, position=page.position)


def _perform(app: App, route: ManagementRoute, params: Params, cursor: str | None) -> Awaitable[Any]:
    position = None if cursor is None else {"before": cursor}
    return route.handler(ManagementRequest(app.management, None, BUILT_IN, position, surface="cli"), params)
