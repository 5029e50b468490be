"""Connections: whose they are, whether they work, and what was observed through them."""

from starlette.responses import Response

from connector_gateway.http.console.budgets import MINUTES, charts_of
from connector_gateway.http.console.declared import ROOT, Visit
from connector_gateway.http.console.runs import rows_of
from connector_gateway.http.console.workspaces import SHOWN
from connector_gateway.http.management.routes import (
    list_connections,
    list_runs,
    remove_connection,
    show_connection,
)
from connector_gateway.kit.errors import InvalidCursor

FILTERS = ("workspace_id", "connector")
EVENTS = 50


async def show_all(visit: Visit) -> Response:
    """The connections of a workspace, of an application, or all."""
    given = {name: visit.query.get(name, "") for name in FILTERS}
    found = (await visit.ask(list_connections, given)).items
    names = await visit.management.workspaces.names({row.workspace_id for row in found[:SHOWN]})
    return visit.show(
        "connections.html",
        rows=found[:SHOWN],
        more=len(found) > SHOWN,
        names=names,
        wanted=given,
        connectors=list(visit.console.connectors),
    )


async def show(visit: Visit) -> Response:
    """One connection: its facts, its last calls and the budgets that it used."""
    asked = {"connection_id": visit.named("connection_id")}
    connection = await visit.ask(show_connection, asked)
    connector = visit.console.connectors.get(connection.connector)
    runs = await visit.ask(list_runs, {**asked, "limit": "10"})
    return visit.show(
        "connection.html",
        connection=connection,
        workspace=await visit.management.workspaces.show(connection.workspace_id),
        runs=await rows_of(visit, runs.items),
        budgets=await charts_of(visit, await visit.console.usage.list({connection.connection_id})),
        minutes=MINUTES,
        observed=connector is not None and connector.observing is not None,
    )


async def events(visit: Visit) -> Response:
    """What was observed through a connection, newest first."""
    connection = await visit.ask(show_connection, {"connection_id": visit.named("connection_id")})
    seen, before = await visit.console.feed.latest(connection.connection_id, limit=EVENTS, before=_before(visit))
    return visit.show("events.html", connection=connection, events=seen, before=before)


async def ask_to_remove(visit: Visit) -> Response:
    """Ask whether a connection is to be removed."""
    asked = {"connection_id": visit.named("connection_id")}
    return visit.show("connection_remove.html", connection=await visit.ask(show_connection, asked))


async def remove(visit: Visit) -> Response:
    """Remove a connection and its secrets."""
    removed = await visit.ask(remove_connection, {"connection_id": visit.named("connection_id")})
    return visit.lead(f"{ROOT}/connections", workspace_id=removed.workspace_id, done="removed")


def _before(visit: Visit) -> int | None:
    """The number of the event that ended the page before."""
    text = visit.query.get("before", "")
    if not text:
        return None
    if not (text.isdecimal() and text.isascii() and len(text) <= 18):
        raise InvalidCursor("No page of events ends there.", {"parameter": "before"})
    return int(text)
