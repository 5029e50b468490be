"""The run history: rows of lists, and the page of one run with its timeline."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from starlette.responses import Response

from connector_gateway.core.calls.passthrough import operations_of
from connector_gateway.core.run_explanations import explain_run
from connector_gateway.core.writes.idempotency_messages import describe_outcome
from connector_gateway.http.console.pages.run_timeline import timeline
from connector_gateway.http.console.request import ConsoleRequest
from connector_gateway.kit.errors import ConnectionRevoked, KeyNotFound
from connector_gateway.kit.models import DryRunResult, Listing, Page
from connector_gateway.kit.operation import AnyOperation
from connector_gateway.management.field_descriptions import Field, describe_fields
from connector_gateway.management.runs import RunRecord, show_run


@dataclass(frozen=True, slots=True)
class Row:
    """A run in a list, and the name of its connection."""

    run: RunRecord
    connection: str


async def show(request: ConsoleRequest) -> Response:
    """Show one run: its outcome, and its upstream requests on a timeline."""
    run = await request.submit(show_run, {"run_id": request.path_param("run_id")})
    (row,) = await build_rows(request, [run])
    operation = _operation(request, run)
    sent, returned = _declared_fields(operation, run)
    return request.show(
        "run.html",
        row=row,
        run=run,
        title=operation.title if operation else run.operation.replace("_", " ").capitalize(),
        outcome=explain_run(run.model_dump(), request.console.connectors.get(run.connector)),
        is_revoked=run.code == ConnectionRevoked.code,
        key=await _key_name(request, run.key_id),
        idempotency=describe_outcome(run.idempotency.model_dump()) if run.idempotency else "",
        timeline=timeline(run),
        sent=sent,
        returned=returned,
    )


async def _key_name(request: ConsoleRequest, key_id: str) -> str:
    """Return the name of the key of a run, with that of its agent, or an empty string if there was none."""
    if not key_id:
        return ""
    try:
        key = await request.management.keys.show(key_id)
    except KeyNotFound:
        return key_id
    name = str(key["name"]) or f"…{key['ending']}"
    return f"{name}, {key['agent']}" if key["agent"] and key["agent"] != name else name


def _operation(request: ConsoleRequest, run: RunRecord) -> AnyOperation | None:
    connector = request.console.connectors.get(run.connector)
    operations = {operation.name: operation for operation in operations_of(connector)} if connector else {}
    return operations.get(run.operation)


def _declared_fields(operation: AnyOperation | None, run: RunRecord) -> tuple[Sequence[Field], Sequence[Field]]:
    """Return the declarations of the sent parameters and of the result fields, without values."""
    if operation is None:
        return (), ()
    sent = [field for field in describe_fields(operation.params) if field.name in (run.parameters or ())]
    if run.status not in {"ok", "partial"}:
        return sent, ()
    result = describe_fields(DryRunResult if run.dry_run else operation.item)
    lists = issubclass(operation.result, Page | Listing) and not run.dry_run
    return sent, [replace(field, name=f"[].{field.name}") for field in result] if lists else result


async def build_rows(request: ConsoleRequest, runs: Sequence[RunRecord]) -> Sequence[Row]:
    """Return *runs* with the names of their connections."""
    names = await request.management.connections.names({run.connection_id for run in runs if run.connection_id})
    return [Row(run, names.get(run.connection_id or "", "")) for run in runs]
