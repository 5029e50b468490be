"""Test calls of an operator through a connection: read operations, recorded like any call."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic_core import from_json, to_json
from starlette.responses import Response

from connector_gateway.core.access.keys import Caller
from connector_gateway.core.audited_actions import Actor
from connector_gateway.core.calls.arguments import Arguments, Body
from connector_gateway.core.calls.response_envelope import Envelope
from connector_gateway.core.history.runs import Run
from connector_gateway.http.console.form_choices import build_form
from connector_gateway.http.console.forms import parse_form
from connector_gateway.http.console.request import ROOT, ConsoleRequest
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.identifiers import KeyId
from connector_gateway.kit.operation import AnyOperation
from connector_gateway.management.connections import ConnectionRecord, list_connections, show_connection
from connector_gateway.management.field_descriptions import Field, describe_fields

CALLS_PER_MINUTE = 60
MAX_CHARACTERS = 20_000
"""The maximum number of characters of a result that a page displays."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A finished test call, and its result as JSON."""

    run: Run
    text: str
    is_cut: bool


async def begin(request: ConsoleRequest) -> Response:
    """Redirect to the newest active connection, or to the page that creates one."""
    page = await request.submit(list_connections, {"limit": "200"})
    active = next((one.connection_id for one in page.items if one.status == "active"), None)
    return request.redirect(f"{ROOT}/connections/{active}/try" if active else f"{ROOT}/connections/new")


async def ask(request: ConsoleRequest, problem: GatewayError | None = None, trial: Trial | None = None) -> Response:
    """Show the form of a read operation, and the result of the last call."""
    connection = await request.submit(show_connection, {"connection_id": request.path_param("identifier")})
    operations = _read_operations(request, connection)
    chosen = _chosen(request, operations)
    if chosen is None:
        return request.redirect(f"{ROOT}/connections/{connection.connection_id}")
    form = await build_form(
        request,
        _fields(chosen),
        values=request.form or request.query,
        fixed={},
        action=f"{ROOT}/connections/{connection.connection_id}/try?operation={chosen.name}",
        button="Run",
        problem=problem,
    )
    return request.show(
        "test_call.html",
        problem=problem,
        form=form,
        connector=connection.connector,
        connection=connection,
        operations=operations.values(),
        chosen=chosen,
        trial=trial,
        steps=await request.steps(),
    )


async def carry_out(request: ConsoleRequest) -> Response:
    """Perform the call and show its result."""
    connection = await request.submit(show_connection, {"connection_id": request.path_param("identifier")})
    operation = _chosen(request, _read_operations(request, connection))
    if operation is None:
        return request.redirect(f"{ROOT}/connections/{connection.connection_id}")
    actor = Actor(request.operator.name, request.context.address, "console")
    await request.management.audit.record(
        actor, "try_connection", connection.connection_id, connection.workspace_id, operation=operation.name
    )
    run = Run("console")
    values = parse_form(_fields(operation), request.form, include_empty=False)
    arguments = Arguments(path={}, body=Body(to_json({**values, "connection_id": connection.connection_id})))
    caller = Caller(KeyId(""), connection.workspace_id, "read", CALLS_PER_MINUTE, None, None)
    try:
        envelope = await request.console.edge.executor.call(run, caller, connection.connector, operation, arguments)
    except GatewayError as error:
        return await ask(request, error, Trial(run, "", is_cut=False))
    return await ask(request, trial=_trial(run, envelope))


def _read_operations(request: ConsoleRequest, connection: ConnectionRecord) -> Mapping[str, AnyOperation]:
    """Return the read operations of a connection, with the fewest required parameters first."""
    connector = request.console.connectors.get(connection.connector)
    operations = [one for one in (connector.operations if connector else ()) if one.scope == "read"]
    operations.sort(key=lambda one: sum(field.is_required for field in describe_fields(one.params)))
    return {operation.name: operation for operation in operations}


def _chosen(request: ConsoleRequest, operations: Mapping[str, AnyOperation]) -> AnyOperation | None:
    return operations.get(request.query.get("operation", ""), next(iter(operations.values()), None))


def _fields(operation: AnyOperation) -> list[Field]:
    return [field for field in describe_fields(operation.params) if field.name != "cursor"]


def _trial(run: Run, envelope: Envelope) -> Trial:
    text = to_json(from_json(b"".join(map(bytes, envelope.to_json()))), indent=2).decode()
    return Trial(run, text[:MAX_CHARACTERS], len(text) > MAX_CHARACTERS)
