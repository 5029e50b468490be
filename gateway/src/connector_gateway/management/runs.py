"""Explain calls by their run_id."""

from operator import not_
from typing import Annotated, Any, Literal

from pydantic import Field

from connector_gateway.core.history.run_filters import check_filters
from connector_gateway.kit.errors import RunNotFound, RunNotRecorded
from connector_gateway.kit.models import Identifier, Page, Params, Result, UtcDatetime
from connector_gateway.management.list_parameters import ListParams
from connector_gateway.management.request import ManagementRequest, position_before
from connector_gateway.management.route_declaration import Resource

RESOURCE = Resource("runs", columns=("run_id", "status", "connector", "operation", "duration_ms", "started_at"))

Status = Literal["ok", "partial", "error", "running", "interrupted"]


class ShowRun(Params):
    """The run to show."""

    run_id: Identifier


class ListRuns(ListParams):
    """The requested page of runs."""

    workspace_id: Identifier | None = None
    """Only runs of this workspace."""

    connection_id: Identifier | None = None
    """Only runs through this connection."""

    connector: str | None = None
    """Only runs of this connector."""

    operation: str | None = None
    """Only runs of this operation, such as ``create_page``."""

    status: Status | None = None
    """Only runs with this status."""

    code: str | None = None
    """Only runs that ended with this error, such as ``rate_limited``."""

    since: UtcDatetime | None = None
    """ISO 8601 date and time: returns runs that started then or later."""


class UpstreamRequest(Result):
    """One request to the vendor."""

    at: UtcDatetime
    method: str
    path: str
    status: int | None
    """HTTP status of the response; null if there was none."""

    wait_ms: float
    """Milliseconds in the queue for the vendor's budget."""

    duration_ms: float


class KeyOutcomeRecord(Result):
    """Outcome of a call's idempotency key."""

    key: str
    outcome: Literal["first", "replayed", "recovered", "unfinished"]
    """``replayed`` if the first result was returned again; ``recovered`` if the call completed an earlier one."""

    first_run_id: Annotated[str | None, Field(exclude_if=not_)] = None
    """The run whose result was returned again."""

    parameters_differ: Annotated[bool, Field(exclude_if=not_)] = False
    """True if the call's parameters differed from those of the first call, and were ignored."""


class RunRecord(Result):
    """One call in the history."""

    run_id: str
    key_id: str
    """The key of the caller; empty if the gateway itself started the run."""

    connection_id: str | None
    connector: str
    operation: str
    surface: str
    """The surface of the call, such as ``http``, ``cli`` or ``watch``."""

    dry_run: bool
    """True if nothing was to be written."""

    status: Status
    http_status: int | None
    code: str | None
    """The error that it ended with."""

    started_at: UtcDatetime
    duration_ms: float | None
    upstream: list[UpstreamRequest]
    idempotency: KeyOutcomeRecord | None
    """Outcome of the idempotency key, if there was one."""

    and_more: int | None
    """Number of further calls of the key that were rejected in that hour as rate-limited, and have no run."""

    parameters: list[str] | None
    """Names of the parameters that were sent; null if they were not read, and for runs without a caller."""

    details: list[dict[str, Any]] | None
    """Subjects of an error by names and codes: parameters, properties, fields, paths; never their values.

    For a write whose response was lost: ``found`` with what a search found, or ``sent_again`` with the step.
    """


@RESOURCE.route("GET /v1/runs/{run_id}", "show RUN_ID", open_to_keys=True, errors=[RunNotFound, RunNotRecorded])
async def show_run(request: ManagementRequest, params: ShowRun) -> RunRecord:
    """Show a run: its outcome, and all its requests to the vendor."""
    return RunRecord(**await request.management.runs.show(params.run_id, request.workspace_id, request.connection_ids))


@RESOURCE.route("GET /v1/runs", "list", open_to_keys=True)
async def list_runs(request: ManagementRequest, params: ListRuns) -> Page[RunRecord]:
    """List runs, newest first.

    A page can hold fewer runs than requested, or none, while there is a ``next_cursor``: continue with it.
    """
    filters = params.model_dump(include={"connector", "operation", "code"})
    check_filters(request.management.connectors, **filters)
    page = await request.management.runs.page(
        request.workspace_filter(params.workspace_id),
        request.connection_ids,
        before=request.before,
        limit=params.limit,
        since=params.since.timestamp() if params.since else None,
        connection_id=params.connection_id,
        status=params.status,
        **filters,
    )
    return Page(items=[RunRecord(**row) for row in page.rows], position=position_before(page.before))
