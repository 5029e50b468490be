"""Calls that an operator makes to try a connection: operations that only read, recorded like any call."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic_core import from_json, to_json
from starlette.responses import Response

from connector_gateway.core.access.audited_actions import Actor
from connector_gateway.core.access.keys import Caller
from connector_gateway.core.calls.arguments import Arguments, Body
from connector_gateway.core.calls.envelope import Envelope
from connector_gateway.core.history.runs import Run
from connector_gateway.http.console.choices import form_of
from connector_gateway.http.console.forms import entered
from connector_gateway.http.console.request import ROOT, ConsoleRequest
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.fields import Field, fields_of
from connector_gateway.kit.identifiers import KeyId
from connector_gateway.kit.operation import AnyOperation
from connector_gateway.management.connections import ConnectionRecord, list_connections, show_connection

CALLS_PER_MINUTE = 60
MOST_SHOWN = 20_000
"""Characters of a result that a page shows."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A call that was made, and its result as JSON."""

    run: Run
    text: str
    is_cut: bool


async def begin(visit: ConsoleRequest) -> Response:
    """Lead to the newest connection that works, or to where one is made."""
    page = await visit.submit(list_connections, {"limit": "200"})
    active = next((one.connection_id for one in page.items if one.status == "active"), None)
    return visit.redirect(f"{ROOT}/connections/{active}/try" if active else f"{ROOT}/connections/new")


async def ask(visit: ConsoleRequest, problem: GatewayError | None = None, trial: Trial | None = None) -> Response:
    """Show the form of an operation that reads, and the result of the last call."""
    connection = await visit.submit(show_connection, {"connection_id": visit.path_param("identifier")})
    operations = _readings(visit, connection)
    chosen = _chosen(visit, operations)
    if chosen is None:
        return visit.redirect(f"{ROOT}/connections/{connection.connection_id}")
    form = await form_of(
        visit,
        _fields(chosen),
        values=visit.form or visit.query,
        fixed={},
        action=f"{ROOT}/connections/{connection.connection_id}/try?operation={chosen.name}",
        button="Run",
        problem=problem,
    )
    return visit.show(
        "try.html",
        problem=problem,
        form=form,
        connector=connection.connector,
        connection=connection,
        operations=operations.values(),
        chosen=chosen,
        trial=trial,
        steps=await visit.steps(),
    )


async def carry_out(visit: ConsoleRequest) -> Response:
    """Make the call, and show its result."""
    connection = await visit.submit(show_connection, {"connection_id": visit.path_param("identifier")})
    operation = _chosen(visit, _readings(visit, connection))
    if operation is None:
        return visit.redirect(f"{ROOT}/connections/{connection.connection_id}")
    actor = Actor(visit.operator.name, visit.exchange.address, "console")
    await visit.management.audit.note(
        actor, "try_connection", connection.connection_id, connection.workspace_id, operation=operation.name
    )
    run = Run("console")
    given = entered(_fields(operation), visit.form, keep_empty=False)
    arguments = Arguments(path={}, body=Body(to_json({**given, "connection_id": connection.connection_id})))
    caller = Caller(KeyId(""), connection.workspace_id, "read", CALLS_PER_MINUTE, None, None)
    try:
        envelope = await visit.console.edge.gateway.call(run, caller, connection.connector, operation, arguments)
    except GatewayError as error:
        return await ask(visit, error, Trial(run, "", is_cut=False))
    return await ask(visit, trial=_trial(run, envelope))


def _readings(visit: ConsoleRequest, connection: ConnectionRecord) -> Mapping[str, AnyOperation]:
    """Return the operations of a connection that change nothing, those first that need no parameter."""
    connector = visit.console.connectors.get(connection.connector)
    found = [one for one in (connector.operations if connector else ()) if one.scope == "read"]
    found.sort(key=lambda one: sum(field.is_required for field in fields_of(one.params)))
    return {operation.name: operation for operation in found}


def _chosen(visit: ConsoleRequest, operations: Mapping[str, AnyOperation]) -> AnyOperation | None:
    return operations.get(visit.query.get("operation", ""), next(iter(operations.values()), None))


def _fields(operation: AnyOperation) -> list[Field]:
    return [field for field in fields_of(operation.params) if field.name != "cursor"]


def _trial(run: Run, envelope: Envelope) -> Trial:
    text = to_json(from_json(b"".join(map(bytes, envelope.to_json()))), indent=2).decode()
    return Trial(run, text[:MOST_SHOWN], len(text) > MOST_SHOWN)
