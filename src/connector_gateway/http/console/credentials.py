"""Credentials that the operator pastes: for a new connection, or in place of those that one has."""

from collections.abc import Mapping, Sequence

from starlette.responses import Response

from connector_gateway.http.console.declared import ROOT, Visit
from connector_gateway.kit.errors import GatewayError, InvalidParameters
from connector_gateway.management.connections import change_connection, create_connection, show_connection

FIELD = "credential."
"""How the names of fields begin that hold a secret: what is in them is never shown again."""


async def ask(visit: Visit, problem: GatewayError | None = None) -> Response:
    """Ask for new credentials of a connection."""
    connection = await visit.ask(show_connection, {"connection_id": visit.named("connection_id")})
    return visit.show(
        "credentials.html", problem=problem, connection=connection, names=_names(visit, connection.connector)
    )


async def change(visit: Visit) -> Response:
    """Give a connection the credentials that were pasted, once the application has accepted them."""
    connection_id = visit.named("connection_id")
    given = {
        "connection_id": connection_id,
        "credentials": _pasted(visit),
        "allow_other_account": bool(visit.form.get("allow_other_account")),
    }
    try:
        await visit.tell(change_connection, given)
    except GatewayError as error:
        return await ask(visit, error)
    return visit.lead(f"{ROOT}/connections/{connection_id}", done="changed")


def ask_for_new(visit: Visit, problem: GatewayError | None = None) -> Response:
    """Ask for the credentials of a connection that is to be made."""
    connector = visit.form.get("connector", "")
    # The address can be typed by anybody, with whatever name.
    names = _names(visit, connector)
    if not names:
        problem = InvalidParameters(
            "There is no such application.", {"parameter": "connector", "allowed": list(visit.console.connectors)}
        )
    return visit.show("credentials.html", problem=problem, connection=None, names=names)


async def create(visit: Visit) -> Response:
    """Make a connection of the credentials that were pasted."""
    given = {name: visit.form.get(name, "") for name in ("workspace_id", "connector", "name")}
    try:
        made = await visit.tell(create_connection, {**given, "credentials": _pasted(visit)})
    except GatewayError as error:
        return ask_for_new(visit, error)
    return visit.lead(f"{ROOT}/connections/{made.connection_id}", done="created")


def _names(visit: Visit, connector: str) -> Sequence[str]:
    known = visit.console.connectors.get(connector)
    return known.credentials if known else ()


def _pasted(visit: Visit) -> Mapping[str, str]:
    """The secrets by the connector's names; what was left empty is missing."""
    given = visit.form.items()
    return {name.removeprefix(FIELD): text for name, text in given if name.startswith(FIELD) and text}
