"""Connections: connecting an account, recent calls, and observed events."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from connector_gateway.http.console.form_choices import build_form
from connector_gateway.http.console.pages.budgets import MINUTES, build_charts
from connector_gateway.http.console.pages.runs import build_rows
from connector_gateway.http.console.request import ROOT, ConsoleRequest
from connector_gateway.http.console.resource_actions import list_actions
from connector_gateway.kit.errors import InvalidCursor
from connector_gateway.management.connections import ConnectionRecord, show_connection
from connector_gateway.management.runs import list_runs

COLUMNS = ("connection_id", "connector", "account_name", "status", "last_used_at", "workspace_id")
EVENTS = 50


async def extra(request: ConsoleRequest, connection: ConnectionRecord) -> Mapping[str, Any]:
    """Return the latest runs of a connection, the budgets that it used, and the signs that its vendor's API changes."""
    connector = request.console.connectors.get(connection.connector)
    runs = await request.submit(list_runs, {"connection_id": connection.connection_id, "limit": "10"})
    return {
        "runs": await build_rows(request, runs.items),
        "budgets": await build_charts(request, request.console.usage.list({connection.connection_id})),
        "minutes": MINUTES,
        "changes": request.console.edge.executor.runs.vendor_changes.list(connection.connector),
        "observed": connector is not None and connector.event_source is not None,
        "readable": connector is not None and any(one.scope == "read" for one in connector.operations),
    }


async def connect(request: ConsoleRequest) -> Response:
    """Show the choice of an application, and then the forms for a connect link and for credentials."""
    chosen = request.console.connectors.get(request.query.get("connector", ""))
    if chosen is None:
        return request.show(
            "choose_vendor.html", connectors=request.console.connectors.values(), workspace=_workspace(request)
        )
    by_link, by_credentials = [
        await build_form(
            request,
            act.fields(chosen),
            values=request.query,
            fixed={"connector": chosen.name},
            action=f"{ROOT}/connections/{act.name}",
            button=act.label,
        )
        for act in list_actions("connections")
        if act.creates
    ]
    return request.show(
        "connect_account.html",
        chosen=chosen,
        by_link=by_link if request.management.connecting.has_links(chosen.name) else None,
        by_credentials=by_credentials,
    )


def _workspace(request: ConsoleRequest) -> Mapping[str, str]:
    """Return the previously selected workspace as query parameters."""
    workspace_id = request.query.get("workspace_id", "")
    return {"workspace_id": workspace_id} if workspace_id else {}


async def events(request: ConsoleRequest) -> Response:
    """Show the events observed through a connection, newest first."""
    connection = await request.submit(show_connection, {"connection_id": request.path_param("identifier")})
    before = _before(request)
    events_page, older = await request.console.feed.latest(connection.connection_id, limit=EVENTS, before=before)
    return request.show(
        "events.html", connection=connection, events=events_page, older=older, is_newest_page=before is None
    )


def _before(request: ConsoleRequest) -> int | None:
    """Return the number of the last event on the previous page."""
    text = request.query.get("before", "")
    if not text:
        return None
    if not (text.isdecimal() and text.isascii() and len(text) <= 18):
        raise InvalidCursor("The position before is invalid.", {"parameter": "before"})
    return int(text)
