"""Connections: how an account is connected, what was called and observed through one, and calls to try it."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from connector_gateway.http.console.actions import acts_of
from connector_gateway.http.console.choices import form_of
from connector_gateway.http.console.pages.budgets import MINUTES, charts_of
from connector_gateway.http.console.pages.runs import rows_of
from connector_gateway.http.console.request import ROOT, ConsoleRequest
from connector_gateway.kit.errors import InvalidCursor
from connector_gateway.management.connections import ConnectionRecord, show_connection
from connector_gateway.management.runs import list_runs

EVENTS = 50


async def extra(visit: ConsoleRequest, connection: ConnectionRecord) -> Mapping[str, Any]:
    """Return the last calls of a connection, and the budgets that it used."""
    connector = visit.console.connectors.get(connection.connector)
    runs = await visit.submit(list_runs, {"connection_id": connection.connection_id, "limit": "10"})
    return {
        "runs": await rows_of(visit, runs.items),
        "budgets": await charts_of(visit, visit.console.usage.list({connection.connection_id})),
        "minutes": MINUTES,
        "observed": connector is not None and connector.observing is not None,
        "readable": connector is not None and any(one.scope == "read" for one in connector.operations),
    }


async def connect(visit: ConsoleRequest) -> Response:
    """Ask which application an account is connected of, and then by whom: its user, or whoever has its credentials."""
    chosen = visit.console.connectors.get(visit.query.get("connector", ""))
    if chosen is None:
        return visit.show("connect.html", connectors=visit.console.connectors.values(), workspace=_workspace(visit))
    by_link, by_credentials = [
        await form_of(
            visit,
            act.fields(chosen),
            values=visit.query,
            fixed={"connector": chosen.name},
            action=f"{ROOT}/connections/{act.name}",
            button=act.label,
        )
        for act in acts_of("connections")
        if act.creates
    ]
    return visit.show(
        "connect_one.html",
        chosen=chosen,
        by_link=by_link if visit.management.connecting.has_links(chosen.name) else None,
        by_credentials=by_credentials,
    )


def _workspace(visit: ConsoleRequest) -> Mapping[str, str]:
    """Return the workspace that was chosen before, to be handed on."""
    workspace_id = visit.query.get("workspace_id", "")
    return {"workspace_id": workspace_id} if workspace_id else {}


async def events(visit: ConsoleRequest) -> Response:
    """Show what was observed through a connection, newest first."""
    connection = await visit.submit(show_connection, {"connection_id": visit.path_param("identifier")})
    seen, before = await visit.console.feed.latest(connection.connection_id, limit=EVENTS, before=_before(visit))
    return visit.show("events.html", connection=connection, events=seen, before=before)


def _before(visit: ConsoleRequest) -> int | None:
    """The number of the event that ended the page before."""
    text = visit.query.get("before", "")
    if not text:
        return None
    if not (text.isdecimal() and text.isascii() and len(text) <= 18):
        raise InvalidCursor("No page of events ends there.", {"parameter": "before"})
    return int(text)
