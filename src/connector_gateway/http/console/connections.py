"""Connections: whose they are, whether they work, and what was observed through them."""

from typing import Any

from starlette.responses import Response

from connector_gateway.http.console import credentials
from connector_gateway.http.console.budgets import MINUTES, charts_of
from connector_gateway.http.console.declared import ROOT, Visit
from connector_gateway.http.console.runs import SHOWN, rows_of
from connector_gateway.http.console.workspaces import show_one as show_workspace
from connector_gateway.kit.errors import CallerError, GatewayError, InvalidCursor
from connector_gateway.management.connections import (
    TestedConnection,
    create_connection,
    list_connections,
    reconnect_connection,
    remove_connection,
    show_connection,
    test_connection,
)
from connector_gateway.management.runs import list_runs

FILTERS = ("workspace_id", "connector")
EVENTS = 50


async def show_all(visit: Visit) -> Response:
    """The connections of a workspace, of an application, or all, newest first, a page of them."""
    given = {name: visit.query.get(name, "") for name in FILTERS}
    list_of = ("console connections", given)
    page = await visit.ask(list_connections, {**given, "limit": SHOWN}, visit.position(*list_of))
    names = await visit.management.workspaces.names({row.workspace_id for row in page.items})
    return visit.show(
        "connections.html",
        rows=page.items,
        cursor=visit.cursor(page.position, *list_of),
        names=names,
        wanted=given,
        connectors=list(visit.console.connectors),
        first=visit.is_first,
        workspaces=await visit.workspaces(given["workspace_id"]),
    )


async def show(visit: Visit, problem: GatewayError | None = None, tested: TestedConnection | None = None) -> Response:
    """One connection: its facts, its last calls and the budgets that it used."""
    asked = _named(visit)
    connection = await visit.ask(show_connection, asked)
    connector = visit.console.connectors.get(connection.connector)
    runs = await visit.ask(list_runs, {**asked, "limit": "10"})
    return visit.show(
        "connection.html",
        problem=problem,
        connection=connection,
        tested=tested,
        workspace=await visit.management.workspaces.show(connection.workspace_id),
        runs=await rows_of(visit, runs.items),
        budgets=await charts_of(visit, visit.console.usage.list({connection.connection_id})),
        minutes=MINUTES,
        observed=connector is not None and connector.observing is not None,
    )


async def create(visit: Visit) -> Response:
    """Make a connection, and show the link by which its user connects an account; or ask for credentials."""
    if visit.form.get("by") == "credentials":
        return credentials.ask_for_new(visit)
    given = {name: visit.form.get(name, "") for name in ("workspace_id", "connector", "name")}
    try:
        made = await visit.ask(create_connection, given)
    except CallerError as error:
        return await show_workspace(visit, given["workspace_id"], error)
    return _link(visit, made)


async def ask_to_reconnect(visit: Visit) -> Response:
    """Ask for what a connection is to be connected again."""
    return visit.show("connection_reconnect.html", connection=await _one(visit))


async def reconnect(visit: Visit) -> Response:
    """Show a link by which the user connects the account again."""
    given = {"allow_other_account": visit.form.get("allow_other_account", "")}
    return _link(visit, await visit.ask(reconnect_connection, {**_named(visit), **given}))


async def check(visit: Visit) -> Response:
    """Ask the application whether the connection works, and show its page with what it said."""
    try:
        tested = await visit.ask(test_connection, _named(visit))
    except GatewayError as error:
        return await show(visit, error)
    return await show(visit, tested=tested)


async def events(visit: Visit) -> Response:
    """What was observed through a connection, newest first."""
    connection = await _one(visit)
    seen, before = await visit.console.feed.latest(connection.connection_id, limit=EVENTS, before=_before(visit))
    return visit.show("events.html", connection=connection, events=seen, before=before)


async def ask_to_remove(visit: Visit) -> Response:
    """Ask whether a connection is to be removed."""
    return visit.show("connection_remove.html", connection=await _one(visit))


async def remove(visit: Visit) -> Response:
    """Remove a connection and its secrets."""
    removed = await visit.ask(remove_connection, _named(visit))
    return visit.lead(f"{ROOT}/connections", workspace_id=removed.workspace_id, done="removed")


def _named(visit: Visit) -> dict[str, str]:
    return {"connection_id": visit.named("connection_id")}


async def _one(visit: Visit) -> Any:
    return await visit.ask(show_connection, _named(visit))


def _link(visit: Visit, issued: Any) -> Response:
    """The page with a link that is good once, which no address of ours opens again."""
    return visit.show("connect_link.html", issued=issued)


def _before(visit: Visit) -> int | None:
    """The number of the event that ended the page before."""
    text = visit.query.get("before", "")
    if not text:
        return None
    if not (text.isdecimal() and text.isascii() and len(text) <= 18):
        raise InvalidCursor("No page of events ends there.", {"parameter": "before"})
    return int(text)
