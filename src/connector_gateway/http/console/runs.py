"""The history: runs with filters, page by page, and one run as a time line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from starlette.responses import Response

from connector_gateway.http.console.declared import Visit
from connector_gateway.http.console.shapes import Field, parameters_of, result_of
from connector_gateway.http.console.timeline import timeline
from connector_gateway.kit.clock import instant
from connector_gateway.kit.errors import GatewayError, InvalidParameters
from connector_gateway.kit.shapes import Page
from connector_gateway.management.runs import RunRecord, list_runs, show_run

FILTERS = ("workspace_id", "connection_id", "connector", "operation", "status")
STATUSES = ("ok", "partial", "error", "running", "interrupted")
HOURS = {"1": "the last hour", "24": "the last day", "168": "the last week"}
SHOWN = "50"


@dataclass(frozen=True, slots=True)
class Row:
    """A run in a list, and what its connection is called."""

    run: RunRecord
    connection: str


async def show_all(visit: Visit) -> Response:
    """Runs that fit the filters, newest first, a page of them."""
    given = {name: visit.query.get(name, "") for name in FILTERS}
    page, problem = await _page(visit, given)
    return visit.show(
        "runs.html",
        problem=problem,
        rows=await rows_of(visit, page.items),
        cursor=visit.cursor(page.position, *_binding(visit, given)),
        wanted={**given, "hours": visit.query.get("hours", "")},
        connectors=visit.console.connectors,
        statuses=STATUSES,
        hours=HOURS,
        first="cursor" not in visit.query,
        workspaces=await visit.workspaces(given["workspace_id"]),
    )


async def show(visit: Visit) -> Response:
    """One run, with its requests upstream along its time."""
    run = await visit.ask(show_run, {"run_id": visit.named("run_id")})
    (row,) = await rows_of(visit, [run])
    sent, returned = _shapes(visit, run)
    return visit.show("run.html", row=row, run=run, timeline=timeline(run), sent=sent, returned=returned)


def _shapes(visit: Visit, run: RunRecord) -> tuple[Sequence[Field], Sequence[Field]]:
    """The parameters that were sent and the fields of the result, by the declaration of the operation: no values."""
    connector = visit.console.connectors.get(run.connector)
    named = {operation.name: operation for operation in connector.operations} if connector else {}
    operation = named.get(run.operation)
    if operation is None:
        return (), ()
    sent = [field for field in parameters_of(operation) if field.name in (run.parameters or ())]
    ended = run.status in {"ok", "partial"}
    return sent, result_of(operation, dry_run=run.dry_run) if ended else ()


async def rows_of(visit: Visit, runs: Sequence[RunRecord]) -> Sequence[Row]:
    """*runs* with the names of their connections."""
    names = await visit.management.connections.names({run.connection_id for run in runs if run.connection_id})
    return [Row(run, names.get(run.connection_id or "", "")) for run in runs]


async def _page(visit: Visit, given: Mapping[str, str]) -> tuple[Page[RunRecord], GatewayError | None]:
    """The page; none, and why, where the filters cannot be used."""
    position = visit.position(*_binding(visit, given))
    try:
        return await visit.ask(list_runs, {**given, "limit": SHOWN, "since": _since(visit)}, position), None
    except InvalidParameters as error:
        return Page[RunRecord](items=[], position=None), error


def _binding(visit: Visit, given: Mapping[str, str]) -> tuple[Any, ...]:
    """What a cursor holds for: another page of the same list."""
    return "console runs", dict(given), visit.query.get("hours", "")


def _since(visit: Visit) -> str:
    """The instant from which on runs are wanted, as the route takes it; empty for all."""
    hours = visit.query.get("hours", "")
    if hours not in HOURS:
        return ""
    return (instant(visit.console.clock.now()) - timedelta(hours=int(hours))).isoformat()
