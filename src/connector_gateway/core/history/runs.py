"""Runs: a record of every call, written before its answer leaves, and the history made of them."""

import asyncio
import time
from collections.abc import Awaitable, Collection, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Self

from msgspec import Struct, field
from sqlalchemy import ColumnElement, TextClause, bindparam, delete, literal_column, select, update
from sqlalchemy import Connection as Transaction
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.calls.error_details import loggable_details
from connector_gateway.core.calls.shutdown import Shutdown
from connector_gateway.core.history.rejected_calls import RejectedCallCounter
from connector_gateway.core.history.retention import PURGE_STEP
from connector_gateway.core.history.unexpected_responses import UnexpectedResponses
from connector_gateway.kit import errors
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.identifiers import KeyId, ProcessId, RunId, WorkspaceId, run_id
from connector_gateway.kit.upstream.client import RequestRecord, UpstreamLog
from connector_gateway.kit.upstream.redaction import Redaction
from connector_gateway.storage import tables
from connector_gateway.storage.shared.interface import RateLimitWindow
from connector_gateway.storage.sql.bulk_insert import Put, execute, fetch
from connector_gateway.storage.sql.database import Database

Condition = ColumnElement[bool] | TextClause

HIDDEN = {"process_id", "workspace_id", "more_until"}
"""Columns that are nobody's business but ours."""

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
"""What a run ends with; all else is known when it begins."""

_insert = insert(tables.runs)
PUT_RUN = _insert.on_conflict_do_update(
    index_elements=[tables.runs.c.run_id], set_={name: _insert.excluded[name] for name in OUTCOME}
)
"""Writes a run, whether it was recorded as running before or not."""

INTERRUPT_ABANDONED = (
    update(tables.runs)
    .where(
        tables.runs.c.process_id.is_not(None),
        tables.runs.c.process_id.not_in(select(tables.processes.c.process_id)),
    )
    .values(status="interrupted", process_id=None)
)
"""Marks the runs of processes that are gone."""

RUNNING = select(tables.runs.c.run_id).where(tables.runs.c.process_id == bindparam("_process_id"))

EXAMINED = 5_000
"""Runs that are looked at for one page, which takes some milliseconds."""

LATENESS_SECONDS = 60 * 60.0
"""How much later than its identifier was made a run may have started, by a clock that may be set."""

MAX_CONNECTION_ID = 200
"""Characters that are kept of what a caller gave as a connection; that may be anything."""

LOST_STEP = 500
"""Runs of this process that are marked as interrupted in one statement."""


UNDER_WAY: ContextVar[str] = ContextVar("run under way")
"""The run that the task carries out, for lines of the log; every call and poll is a task of its own."""

_runs = tables.runs.c
REFUSED = literal_column("runs.code") == literal_column("'rate_limited'")
"""With the words of the index, which SQLite finds by them."""

UNSUCCESSFUL = {"error", "interrupted", "partial"}
"""Statuses that have an index, since they are looked for among many that went well."""


@dataclass(frozen=True, slots=True)
class RunsPage:
    """Some runs, and before which run to look for more; None where there are none."""

    rows: Sequence[dict[str, Any]]
    before: str | None


class Run(Struct):
    """One call on its way, from the edge to its answer."""

    surface: str
    run_id: RunId = field(default_factory=run_id)
    started: float = field(default_factory=time.perf_counter)
    """By the process's own stopwatch, in seconds."""

    trace: UpstreamLog = field(default_factory=UpstreamLog)
    redaction: Redaction = field(default_factory=Redaction)
    """Hides the secrets of the connection that it goes through."""

    allowance: RateLimitWindow | None = None
    """What the key has left, once that was counted."""

    dry_run: bool = False
    """Whether nothing is to be written, but told what would be."""

    mentions: str | None = None
    """What the call itself asks for about people whom its texts mention."""

    status: str = "running"
    http_status: int | None = None
    code: str | None = None
    idempotency: dict[str, Any] | None = None
    details: Sequence[Mapping[str, Any]] | None = None
    """What it was refused for, without values."""

    parameters: str | None = None
    """Names of the parameters that were sent, with commas between them."""

    @property
    def duration_ms(self) -> float:
        """Milliseconds since it began."""
        return (time.perf_counter() - self.started) * 1000

    def succeed(self, status: str) -> None:
        """Note that it ended with an envelope of *status*."""
        self.status, self.http_status = status, 200

    def refuse(self, error: errors.GatewayError) -> None:
        """Note that it ended with *error*."""
        self.status, self.http_status, self.code = "error", error.status, error.code
        self.details = loggable_details(error.details) or None


class RunStore:
    """Records runs and tells their history."""

    def __init__(
        self,
        database: Database,
        process_id: ProcessId,
        clock: Clock,
        stopping: Shutdown | None = None,
        *,
        steady: Clock | None = None,
    ) -> None:
        self.database = database
        self.process_id = process_id
        self.stopping = stopping or Shutdown()
        self.unexpected = UnexpectedResponses()
        self.refusals = RejectedCallCounter(database, steady or clock)
        self.under_way: set[RunId] = set()
        """Runs of this process that were opened and have not ended."""

        self._purged_to = ""
        """The last run that the purge has deleted; nothing if it begins anew."""

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
        """Commit *run* when it ends, however it ends; an unexpected exception becomes ``InternalError``.

        It has no key where no caller asked for it: what is observed, and downloads by their link.
        """
        identity = {
            "run_id": run.run_id,
            "workspace_id": workspace_id,
            "key_id": key_id or "",
            "connection_id": _recorded(connection_id),
            "connector": connector,
            "operation": operation,
            "surface": run.surface,
            "dry_run": run.dry_run,
            "started_at": self._clock.now(),
        }
        return RunRecorder(self, identity, run)

    async def show(
        self, wanted: str, workspace_id: WorkspaceId | None, connection_ids: Collection[str] | None = None
    ) -> dict[str, Any]:
        """One run, of *workspace_id* and through one of *connection_ids* where given."""
        query = select(tables.runs).where(tables.runs.c.run_id == wanted)
        if workspace_id is not None:
            query = query.where(tables.runs.c.workspace_id == workspace_id)
        row = await self.database.read_slow(lambda reading: reading.execute(query).mappings().first())
        if row is None and await self.refusals.counted(workspace_id, wanted):
            raise errors.RunNotRecorded(
                f"Too many calls of the key were refused to keep the run {wanted}; it was only counted.",
                {"parameter": "run_id", "value": wanted},
            )
        if row is None or (connection_ids is not None and row["connection_id"] not in connection_ids):
            raise errors.RunNotFound(
                f"There is no run {wanted} in this workspace.", {"parameter": "run_id", "value": wanted}
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
        """Runs, newest first: those *before* a run, started *since* an instant, equal in all *filters*.

        However few match, no more than ``EXAMINED`` are examined.
        """
        conditions = _indexed(workspace_id, before, filters)
        further = _unindexed(connection_ids, since, filters)
        query = select(tables.runs).where(*conditions, *further).order_by(_runs.run_id.desc()).limit(limit + 1)
        last = (
            select(_runs.run_id, _runs.started_at)
            .where(*conditions)
            .order_by(_runs.run_id.desc())
            .offset(EXAMINED - 1)
            .limit(1)
        )

        def read(reading: Transaction) -> RunsPage:
            # The last one that may be examined comes first, from an index alone: of a filter that many runs pass, no
            # more of them are read than are shown.
            end = reading.execute(last).first() if further else None
            within = query if end is None else query.where(_runs.run_id >= end.run_id)
            rows = [_public(row) for row in reading.execute(within).mappings()]
            if len(rows) > limit:
                return RunsPage(rows[:limit], rows[limit - 1]["run_id"])
            over = end is None or (since is not None and end.started_at < since - LATENESS_SECONDS)
            return RunsPage(rows, None if end is None or over else end.run_id)

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
        """The same, however many have to be examined; page by page, so that no other reader waits for all of them."""
        found: list[dict[str, Any]] = []
        while True:
            rest = limit - len(found)
            page = await self.page(workspace_id, connection_ids, before=before, limit=rest, since=since, **filters)
            found += page.rows
            before = page.before
            if before is None or len(found) >= limit:
                return found

    async def interrupt_abandoned(self) -> int:
        """Mark the runs of dead processes as ``interrupted``; returns how many there were."""
        return await self.database.write(lambda writing: execute(writing, INTERRUPT_ABANDONED))

    async def interrupt_lost(self) -> int:
        """Mark the runs of this process whose end was never committed as ``interrupted``; returns how many."""
        return await self.database.write(self._interrupt_lost)

    def _interrupt_lost(self, writing: Transaction) -> int:
        running = fetch(writing, RUNNING, {"_process_id": self.process_id})
        lost = [found for (found,) in running if found not in self.under_way][:LOST_STEP]
        if not lost:
            return 0
        # A run that ends meanwhile is no longer this process's.
        interrupt = (
            update(tables.runs)
            .where(_runs.run_id.in_(lost), _runs.process_id == self.process_id)
            .values(status="interrupted", process_id=None)
        )
        return writing.execute(interrupt).rowcount

    async def purge(self, before: float) -> int:
        """Delete a bounded number of runs that started *before* an instant; returns how many.

        Only the oldest are looked at: identifiers are in the order in which calls began.
        """
        # A server keeps what was deleted in its index until a vacuum, and would go through all of that again.
        deleted = await self._purge(_runs.run_id > self._purged_to, before)
        self._purged_to = deleted[-1] if deleted else ""
        return len(deleted)

    async def purge_refused(self, before: float) -> int:
        """The same for calls that were refused because the key's minute was used up."""
        return len(await self._purge(REFUSED, before))

    async def _purge(self, which: ColumnElement[bool], before: float) -> Sequence[str]:
        oldest = select(_runs.run_id, _runs.started_at).where(which).order_by(_runs.run_id).limit(PURGE_STEP)
        rows = await self.database.read_slow(lambda reading: reading.execute(oldest).all())
        run_ids = [row.run_id for row in rows if row.started_at < before]
        purge = delete(tables.runs).where(_runs.run_id.in_(run_ids))
        if run_ids:
            await self.database.delete_expired(lambda writing: writing.execute(purge).rowcount)
        return run_ids


class RunRecorder:
    """The record of one run under way."""

    def __init__(self, runs: RunStore, identity: dict[str, Any], run: Run) -> None:
        self._runs = runs
        self._identity = identity
        self._run = run
        self.opened = False
        """Whether it was committed that it is under way."""

        self.in_doubt: errors.GatewayError | None = None
        """What is told if the call is cut off while a request that writes is under way."""

        self.closed = False
        """Whether its end was committed already, together with what it did."""

    @property
    def run_id(self) -> RunId:
        """The run's identifier."""
        return self._run.run_id

    def set_connection(self, connection_id: str | None) -> None:
        """Note the connection, where it is known only now."""
        self._identity["connection_id"] = _recorded(connection_id)

    async def __aenter__(self) -> Self:
        UNDER_WAY.set(self._run.run_id)
        return self

    async def __aexit__(self, _: object, fault: BaseException | None, __: object) -> None:
        if fault is None and self.closed:
            self._runs.under_way.discard(self._run.run_id)
            return
        if isinstance(fault, errors.RateLimited) and not self._admitted():
            self.refuse(fault)
            return
        failure = self._end(fault)
        try:
            await self.close()
        except errors.StorageUnavailable:
            if fault is None or failure is not None or isinstance(fault, Exception):
                raise
        finally:
            self._runs.under_way.discard(self._run.run_id)
        if failure is not None:
            raise failure from fault

    def _admitted(self) -> bool:
        """Whether a call that came after the key's minute was used up is recorded, rather than only counted."""
        identity = self._identity
        return self._runs.refusals.should_record(identity["key_id"], identity["workspace_id"], self._run.run_id)

    @property
    def redaction(self) -> Redaction:
        """Hides the secrets of the connection that the run goes through."""
        return self._run.redaction

    def refuse(self, error: errors.GatewayError) -> None:
        """Note that it ended with *error*, without secrets from now on; count it where it tells of the third party."""
        self.redaction.error(error)
        self._run.refuse(error)
        self._runs.unexpected.count(self._identity["connector"], error)

    def _end(self, fault: BaseException | None) -> errors.GatewayError | None:
        """Note how it ended; returns the error that is told in place of an unexpected *fault*."""
        if isinstance(fault, errors.GatewayError):
            self.refuse(fault)
            return None
        failure: errors.GatewayError | None = None
        if isinstance(fault, Exception):
            failure = errors.InternalError("Something went wrong here.", private=repr(fault))
        elif isinstance(fault, asyncio.CancelledError) and self._runs.stopping.begun:
            failure = self._runs.stopping.interrupted_error(self.in_doubt)
        if failure is not None:
            self.refuse(failure)
        elif fault is not None:
            self._run.status = "interrupted"
        return failure

    def open(self) -> Awaitable[bool]:
        """Commit that the run is under way, so that a crash leaves a trace."""
        self._runs.under_way.add(self._run.run_id)
        return self._runs.database.put(PUT_RUN, self._row(self._runs.process_id), self._run.run_id)

    def opening(self) -> list[Put]:
        """The same as ``open``, to be committed with other things, unless it was opened before."""
        if self.opened:
            return []
        self._runs.under_way.add(self._run.run_id)
        return [(PUT_RUN, self._row(self._runs.process_id))]

    def closing(self) -> list[Put]:
        """The same as ``close``, to be committed with other things."""
        return [(PUT_RUN, self._row(None))]

    async def close(self) -> None:
        """Commit how it ended; while storage is away it ends with ``StorageUnavailable``, which is recorded later."""
        try:
            await self._runs.database.put(PUT_RUN, self._row(None), self._run.run_id)
        except errors.StorageUnavailable as away:
            if self._run.status != "interrupted":
                self._run.refuse(away)
            row = self._row(None)
            self._runs.database.write_deferred(lambda writing: writing.execute(PUT_RUN, row), about=self._run.run_id)
            raise

    def _row(self, process_id: ProcessId | None) -> dict[str, Any]:
        run = self._run
        return {
            **self._identity,
            "status": run.status,
            "http_status": run.http_status,
            "code": run.code,
            "duration_ms": _thousandths(run.duration_ms),
            "upstream": [_exchange(exchange) for exchange in run.trace.requests],
            "idempotency": run.idempotency,
            "details": run.details,
            "parameters": run.parameters,
            "process_id": process_id,
        }


def _indexed(workspace_id: str | None, before: str | None, filters: Mapping[str, str | None]) -> list[Condition]:
    """The conditions that an index answers: the workspace, one of its connections, or only runs that did not go well.

    A connection belongs to one workspace, so the operator may leave the workspace out.
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


def _unindexed(
    connection_ids: Collection[str] | None, since: float | None, filters: Mapping[str, str | None]
) -> list[Condition]:
    """The conditions that are checked on each run: those that no index answers."""
    answered = "status" if filters.get("status") in UNSUCCESSFUL else "connection_id"
    given = {name: value for name, value in filters.items() if value is not None and name != answered}
    conditions: list[Condition] = [_runs[name] == value for name, value in given.items()]
    if connection_ids is not None:
        conditions.append(_runs.connection_id.in_(connection_ids))
    if since is not None:
        conditions.append(_runs.started_at >= since)
    return conditions


def _recorded(connection_id: str | None) -> str | None:
    return connection_id and connection_id[:MAX_CONNECTION_ID]


def _exchange(exchange: RequestRecord) -> dict[str, Any]:
    return {
        "at": exchange.at,
        "method": exchange.method,
        "path": exchange.path,
        "status": exchange.status,
        "wait_ms": _thousandths(exchange.wait_ms),
        "duration_ms": _thousandths(exchange.duration_ms),
    }


def _thousandths(number: float) -> float:
    """*number* to three decimals; ``round`` counts out digits, which takes three times as long (decision 73)."""
    return int(number * 1000 + 0.5) / 1000


def _public(row: Mapping[Any, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in row.items() if name not in HIDDEN}
    return shown | {
        # Runs of the time before dry runs do not tell.
        "dry_run": bool(row["dry_run"]),
        "started_at": utc_datetime(row["started_at"]),
        "upstream": [exchange | {"at": utc_datetime(exchange["at"])} for exchange in row["upstream"]],
        "parameters": None if row["parameters"] is None else sorted(filter(None, row["parameters"].split(","))),
    }
