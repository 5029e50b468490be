"""Runs, the records of calls. Each is committed before its response is sent, and all form the run history."""

import asyncio
import time
from collections.abc import Awaitable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Self

from msgspec import Struct, field
from sqlalchemy import ColumnElement, TextClause, bindparam, select, update
from sqlalchemy import Connection as SqlConnection
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.error_serialization import loggable_details
from connector_gateway.core.history.rejected_calls import RejectedCallCounter
from connector_gateway.core.history.vendor_api_change_counts import VendorChanges
from connector_gateway.core.shutdown import Shutdown
from connector_gateway.kit import errors
from connector_gateway.kit.clock import Clock, to_milliseconds, utc_datetime
from connector_gateway.kit.identifiers import KeyId, ProcessId, RunId, WorkspaceId, new_run_id
from connector_gateway.kit.upstream.client import UpstreamLog
from connector_gateway.kit.upstream.redaction import Redaction
from connector_gateway.storage.shared.interface import RateLimitWindow
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.compiled_statements import Put, execute, fetch
from connector_gateway.storage.sql.database import Database

Condition = ColumnElement[bool] | TextClause

HIDDEN = {"process_id", "workspace_id", "more_until"}
"""Internal columns, which are not public."""

OUTCOME = (
    "status",
    "http_status",
    "code",
    "duration_ms",
    "upstream",
    "idempotency",
    "details",
    "parameters",
    "process_id",
)
"""Columns that are updated when a run ends. All others are set when it begins."""

_insert = insert(tables.runs)
PUT_RUN = _insert.on_conflict_do_update(
    index_elements=[tables.runs.c.run_id], set_={name: _insert.excluded[name] for name in OUTCOME}
)
"""Inserts a run, or updates it if it is recorded as running."""

INTERRUPT_ABANDONED = (
    update(tables.runs)
    .where(
        tables.runs.c.process_id.is_not(None),
        tables.runs.c.process_id.not_in(select(tables.processes.c.process_id)),
    )
    .values(status="interrupted", process_id=None)
)
"""Marks the runs of dead processes."""

RUNNING = select(tables.runs.c.run_id).where(tables.runs.c.process_id == bindparam("_process_id"))

EXAMINED = 5_000
"""Maximum runs that are examined for one page, which takes some milliseconds."""

LATENESS_SECONDS = 60 * 60.0
"""Seconds by which ``started_at`` can be later than the time in the identifier, since clocks can be set."""

MAX_CONNECTION_ID = 200
"""Characters that are stored of a caller's connection_id, which can be any text."""

LOST_STEP = 500
"""Maximum runs that one statement marks as interrupted."""


CURRENT_RUN: ContextVar[str] = ContextVar("current run")
"""The run of the current task, for log lines. Every call and poll has its own task."""

_runs = tables.runs.c
UNSUCCESSFUL = {"error", "interrupted", "partial"}
"""Statuses with an index, since they are searched among many successful runs."""


@dataclass(frozen=True, slots=True)
class RunsPage:
    """A page of runs, and the run before which the next page starts, or None."""

    rows: Sequence[dict[str, Any]]
    before: str | None


class Run(Struct):
    """One call in progress, from its arrival to its response."""

    surface: str
    run_id: RunId = field(default_factory=new_run_id)
    started: float = field(default_factory=time.perf_counter)
    """Monotonic start time in seconds."""

    log: UpstreamLog = field(default_factory=UpstreamLog)
    redaction: Redaction = field(default_factory=Redaction)
    """The redaction of the secrets of its connection."""

    allowance: RateLimitWindow | None = None
    """The rate-limit allowance of the key, once the call is counted."""

    dry_run: bool = False
    """Whether the call only describes the write, without sending it."""

    loses_response: bool = False
    """Whether the call loses the response to its first vendor request that writes."""

    mentions: str | None = None
    """The preference of the call for mentions of people in its texts."""

    status: str = "running"
    http_status: int | None = None
    code: str | None = None
    idempotency: dict[str, Any] | None = None
    details: Sequence[Mapping[str, Any]] | None = None
    """The details of its error, without values."""

    parameters: str | None = None
    """Names of the sent parameters, separated by commas."""

    @property
    def duration_ms(self) -> float:
        """Milliseconds since the call began."""
        return (time.perf_counter() - self.started) * 1000

    def succeed(self, status: str) -> None:
        """Set the outcome to an envelope of *status*."""
        self.status, self.http_status = status, 200

    def fail(self, error: errors.GatewayError) -> None:
        """Set the outcome to *error*."""
        self.status, self.http_status, self.code = "error", error.status, error.code
        self.details = loggable_details(error.details) or None


class RunStore:
    """Records runs, and queries the run history."""

    def __init__(
        self,
        database: Database,
        process_id: ProcessId,
        clock: Clock,
        shutdown: Shutdown | None = None,
        *,
        steady: Clock | None = None,
    ) -> None:
        self.database = database
        self.process_id = process_id
        self.shutdown = shutdown or Shutdown()
        self.vendor_changes = VendorChanges(clock)
        self.rejected_calls = RejectedCallCounter(database, steady or clock)
        self.open_runs: set[RunId] = set()
        """Open runs of this process that have not ended."""

        self._clock = clock

    def record(
        self,
        run: Run,
        workspace_id: WorkspaceId,
        connector: str,
        operation: str,
        *,
        connection_id: str | None,
        key_id: KeyId | None = None,
    ) -> "RunRecorder":
        """Return a context manager that commits *run* when it ends. Unexpected exceptions become ``InternalError``.

        Polls and downloads have no *key_id*, since no caller with a key requests them.
        """
        identity = {
            "run_id": run.run_id,
            "workspace_id": workspace_id,
            "key_id": key_id or "",
            "connection_id": _truncate_connection_id(connection_id),
            "connector": connector,
            "operation": operation,
            "surface": run.surface,
            "dry_run": run.dry_run,
            "started_at": self._clock.now(),
        }
        return RunRecorder(self, identity, run)

    async def show(
        self, identifier: str, workspace_id: WorkspaceId | None, connection_ids: Collection[str] | None = None
    ) -> dict[str, Any]:
        """Return one run, only if it matches *workspace_id* and *connection_ids*."""
        query = select(tables.runs).where(tables.runs.c.run_id == identifier)
        if workspace_id is not None:
            query = query.where(tables.runs.c.workspace_id == workspace_id)
        row = await self.database.read_slow(lambda db: db.execute(query).mappings().first())
        if row is None and await self.rejected_calls.was_counted(workspace_id, identifier):
            raise errors.RunNotRecorded(
                f"Too many calls of the key were rejected to store the run {identifier}; it was only counted.",
                {"parameter": "run_id", "value": identifier},
            )
        if row is None or (connection_ids is not None and row["connection_id"] not in connection_ids):
            where = " in this workspace" if workspace_id else ""
            raise errors.RunNotFound(
                f"There is no run {identifier}{where}.", {"parameter": "run_id", "value": identifier}
            )
        return _public(row)

    async def page(
        self,
        workspace_id: WorkspaceId | None,
        connection_ids: Collection[str] | None = None,
        *,
        before: str | None = None,
        limit: int = 50,
        since: float | None = None,
        **filters: str | None,
    ) -> "RunsPage":
        """Return runs, newest first: older than *before*, started *since* a time, and matching all *filters*.

        At most ``EXAMINED`` runs are examined, however few match.
        """
        conditions = _indexed_conditions(workspace_id, before, filters)
        further = _unindexed_conditions(connection_ids, since, filters)
        query = select(tables.runs).where(*conditions, *further).order_by(_runs.run_id.desc()).limit(limit + 1)
        last = (
            select(_runs.run_id, _runs.started_at)
            .where(*conditions)
            .order_by(_runs.run_id.desc())
            .offset(EXAMINED - 1)
            .limit(1)
        )

        def read(db: SqlConnection) -> RunsPage:
            # An index-only query first finds the last run to examine. If many runs match, no more of them are read
            # than are returned.
            end = db.execute(last).first() if further else None
            within = query if end is None else query.where(_runs.run_id >= end.run_id)
            rows = [_public(row) for row in db.execute(within).mappings()]
            if len(rows) > limit:
                return RunsPage(rows[:limit], rows[limit - 1]["run_id"])
            is_last = end is None or (since is not None and end.started_at < since - LATENESS_SECONDS)
            return RunsPage(rows, None if end is None or is_last else end.run_id)

        return await self.database.read_slow(read)

    async def list(
        self,
        workspace_id: WorkspaceId | None,
        connection_ids: Collection[str] | None = None,
        *,
        limit: int = 50,
        before: str | None = None,
        since: float | None = None,
        **filters: str | None,
    ) -> Sequence[dict[str, Any]]:
        """Return runs like ``page``, however many have to be examined, page by page to let in other readers."""
        rows: list[dict[str, Any]] = []
        while True:
            missing = limit - len(rows)
            page = await self.page(workspace_id, connection_ids, before=before, limit=missing, since=since, **filters)
            rows += page.rows
            before = page.before
            if before is None or len(rows) >= limit:
                return rows

    async def interrupt_abandoned(self) -> int:
        """Mark the runs of dead processes as ``interrupted``. Returns how many there were."""
        return await self.database.write(lambda db: execute(db, INTERRUPT_ABANDONED))

    async def interrupt_lost(self) -> int:
        """Mark runs of this process as ``interrupted`` if their end was not committed. Returns how many."""
        return await self.database.write(self._interrupt_lost)

    def _interrupt_lost(self, db: SqlConnection) -> int:
        running = fetch(db, RUNNING, {"_process_id": self.process_id})
        lost = [each for (each,) in running if each not in self.open_runs][:LOST_STEP]
        if not lost:
            return 0
        # A run that has ended in the meantime no longer has this process_id.
        interrupt = (
            update(tables.runs)
            .where(_runs.run_id.in_(lost), _runs.process_id == self.process_id)
            .values(status="interrupted", process_id=None)
        )
        return db.execute(interrupt).rowcount


class RunRecorder(Struct, eq=False):
    """The recorder of one run in progress."""

    _runs: RunStore
    _identity: dict[str, Any]
    _run: Run
    is_open: bool = False
    """Whether the run is committed as running."""

    in_doubt_error: errors.GatewayError | None = None
    """The error to return if the call is cancelled while a write request is in progress."""

    is_closed: bool = False
    """Whether the end of the run is committed already, together with its writes."""

    @property
    def run_id(self) -> RunId:
        """The identifier of the run."""
        return self._run.run_id

    def set_connection(self, connection_id: str | None) -> None:
        """Set the connection, if it was unknown when the run began."""
        self._identity["connection_id"] = _truncate_connection_id(connection_id)

    async def __aenter__(self) -> Self:
        CURRENT_RUN.set(self._run.run_id)
        return self

    async def __aexit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None and self.is_closed:
            self._runs.open_runs.discard(self._run.run_id)
            return
        if isinstance(error, errors.RateLimited) and not self._should_record():
            self.fail(error)
            return
        replacement = self._set_outcome(error)
        try:
            await self.close()
        except errors.StorageUnavailable:
            if error is None or replacement is not None or isinstance(error, Exception):
                raise
        finally:
            self._runs.open_runs.discard(self._run.run_id)
        if replacement is not None:
            raise replacement from error

    def _should_record(self) -> bool:
        """Return True if a rate-limited call is recorded, and False if it is only counted."""
        identity = self._identity
        return self._runs.rejected_calls.should_record(identity["key_id"], identity["workspace_id"], self._run.run_id)

    @property
    def redaction(self) -> Redaction:
        """The redaction of the secrets of the run's connection."""
        return self._run.redaction

    def fail(self, error: errors.GatewayError) -> None:
        """Set the outcome to *error* and redact its secrets. Unexpected vendor responses are counted."""
        self.redaction.error(error)
        self._run.fail(error)
        self._runs.vendor_changes.count_error(self._identity["connector"], error, self._run.log.requests)

    def _set_outcome(self, error: BaseException | None) -> errors.GatewayError | None:
        """Set the outcome. Returns the error that replaces an unexpected *error*."""
        if isinstance(error, errors.GatewayError):
            self.fail(error)
            return None
        replacement: errors.GatewayError | None = None
        if isinstance(error, Exception):
            replacement = errors.InternalError("Internal error.", private=repr(error))
        elif isinstance(error, asyncio.CancelledError) and self._runs.shutdown.started:
            replacement = self._runs.shutdown.interrupted_error(self.in_doubt_error)
        if replacement is not None:
            self.fail(replacement)
        elif error is not None:
            self._run.status = "interrupted"
        return replacement

    def open(self) -> Awaitable[bool]:
        """Commit the run as running, so that it is visible after a crash."""
        self._runs.open_runs.add(self._run.run_id)
        return self._runs.database.put(PUT_RUN, self._row(self._runs.process_id), self._run.run_id)

    def open_statements(self) -> list[Put]:
        """Return the statements of ``open``, for a commit with other statements. Empty if the run is open already."""
        if self.is_open:
            return []
        self._runs.open_runs.add(self._run.run_id)
        return [(PUT_RUN, self._row(self._runs.process_id))]

    def close_statements(self) -> list[Put]:
        """Return the statements of ``close``, for a commit with other statements."""
        return [(PUT_RUN, self._row(None))]

    async def close(self) -> None:
        """Commit the outcome. If storage is unavailable, it becomes ``StorageUnavailable`` and is committed later."""
        try:
            await self._runs.database.put(PUT_RUN, self._row(None), self._run.run_id)
        except errors.StorageUnavailable as error:
            if self._run.status != "interrupted":
                self._run.fail(error)
            row = self._row(None)
            self._runs.database.write_deferred(lambda db: db.execute(PUT_RUN, row), about=self._run.run_id)
            raise

    def _row(self, process_id: ProcessId | None) -> dict[str, Any]:
        run = self._run
        return {
            **self._identity,
            "status": run.status,
            "http_status": run.http_status,
            "code": run.code,
            "duration_ms": to_milliseconds(time.perf_counter() - run.started),
            "upstream": list(run.log.requests),
            "idempotency": run.idempotency,
            "details": run.details,
            "parameters": run.parameters,
            "process_id": process_id,
        }


def _indexed_conditions(
    workspace_id: str | None, before: str | None, filters: Mapping[str, str | None]
) -> list[Condition]:
    """Return the conditions with an index: the workspace, one of its connections, or an unsuccessful status.

    A connection belongs to one workspace, so an operator can omit the workspace.
    """
    connection_id, status = filters.get("connection_id"), filters.get("status")
    conditions: list[Condition] = [] if before is None else [_runs.run_id < before]
    if workspace_id is not None:
        conditions.append(_runs.workspace_id == workspace_id)
    elif connection_id is not None:
        connections = tables.connections.c
        owner = select(connections.workspace_id).where(connections.connection_id == connection_id)
        conditions.append(_runs.workspace_id == owner.scalar_subquery())
    if status in UNSUCCESSFUL:
        return [*conditions, _runs.status == status, tables.UNSUCCESSFUL]
    return conditions if connection_id is None else [*conditions, _runs.connection_id == connection_id]


def _unindexed_conditions(
    connection_ids: Collection[str] | None, since: float | None, filters: Mapping[str, str | None]
) -> list[Condition]:
    """Return the conditions without an index, which are checked on each run."""
    indexed = "status" if filters.get("status") in UNSUCCESSFUL else "connection_id"
    conditions_by_name = {name: value for name, value in filters.items() if value is not None and name != indexed}
    conditions: list[Condition] = [_runs[name] == value for name, value in conditions_by_name.items()]
    if connection_ids is not None:
        conditions.append(_runs.connection_id.in_(connection_ids))
    if since is not None:
        conditions.append(_runs.started_at >= since)
    return conditions


def _truncate_connection_id(connection_id: str | None) -> str | None:
    return connection_id and connection_id[:MAX_CONNECTION_ID]


def _public(row: Mapping[Any, Any]) -> dict[str, Any]:
    public = {name: value for name, value in row.items() if name not in HIDDEN}
    return public | {
        # Runs from before dry runs were introduced have NULL.
        "dry_run": bool(row["dry_run"]),
        "started_at": utc_datetime(row["started_at"]),
        "upstream": [request | {"at": utc_datetime(request["at"])} for request in row["upstream"]],
        "parameters": None if row["parameters"] is None else sorted(filter(None, row["parameters"].split(","))),
    }
