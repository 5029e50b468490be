"""Runs: a record of every call, written before its answer leaves, and the history made of them."""

import asyncio
import time
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from sqlalchemy import Connection as Transaction
from sqlalchemy import delete, select, update
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.stopping import Stopping
from connector_gateway.core.unexpected import UnexpectedAnswers
from connector_gateway.kit.clock import Clock, instant
from connector_gateway.kit.errors import GatewayError, InternalError, RunNotFound, StorageUnavailable
from connector_gateway.kit.identifiers import KeyId, ProcessId, RunId, WorkspaceId, run_id
from connector_gateway.kit.upstream import Exchange, Trace
from connector_gateway.storage import tables
from connector_gateway.storage.database import Database
from connector_gateway.storage.rows import Put
from connector_gateway.storage.shared import Allowance

OUTCOME = ("status", "http_status", "code", "duration_ms", "upstream", "idempotency", "process_id")
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

PURGE_STEP = 1000
LOST_STEP = 500
"""Runs of this process that are marked as interrupted in one statement."""


@dataclass(slots=True)
class Run:
    """One call on its way, from the edge to its answer."""

    surface: str
    run_id: RunId = field(default_factory=run_id)
    started: float = field(default_factory=time.perf_counter)
    """By the process's own stopwatch, in seconds."""

    trace: Trace = field(default_factory=Trace)
    allowance: Allowance | None = None
    """What the key has left, once that was counted."""

    status: str = "running"
    http_status: int | None = None
    code: str | None = None
    idempotency: dict[str, Any] | None = None

    @property
    def duration_ms(self) -> float:
        """Milliseconds since it began."""
        return (time.perf_counter() - self.started) * 1000

    def succeed(self, status: str) -> None:
        """Note that it ended with an envelope of *status*."""
        self.status, self.http_status = status, 200

    def refuse(self, error: GatewayError) -> None:
        """Note that it ended with *error*."""
        self.status, self.http_status, self.code = "error", error.status, error.code


class Runs:
    """Records runs and tells their history."""

    def __init__(
        self, database: Database, process_id: ProcessId, clock: Clock, stopping: Stopping | None = None
    ) -> None:
        self.database = database
        self.process_id = process_id
        self.stopping = stopping or Stopping()
        self.unexpected = UnexpectedAnswers()
        self.under_way: set[RunId] = set()
        """Runs of this process that were opened and have not ended."""

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
    ) -> "Recording":
        """Have *run* committed when it ends, however it ends; a fault that nobody foresaw becomes ``InternalError``.

        It has no key where no caller asked for it: what is observed, and downloads by their link.
        """
        identity = {
            "run_id": run.run_id,
            "workspace_id": workspace_id,
            "key_id": key_id or "",
            "connection_id": connection_id and connection_id[:200],
            "connector": connector,
            "operation": operation,
            "surface": run.surface,
            "started_at": self._clock.now(),
        }
        return Recording(self, identity, run)

    async def show(
        self, wanted: str, workspace_id: WorkspaceId | None, connection_ids: Collection[str] | None = None
    ) -> dict[str, Any]:
        """One run, of *workspace_id* and through one of *connection_ids* where given."""
        query = select(tables.runs).where(tables.runs.c.run_id == wanted)
        if workspace_id is not None:
            query = query.where(tables.runs.c.workspace_id == workspace_id)
        row = await self.database.read(lambda reading: reading.execute(query).mappings().first())
        if row is None or (connection_ids is not None and row["connection_id"] not in connection_ids):
            raise RunNotFound(f"There is no run {wanted} in this workspace.", {"parameter": "run_id", "value": wanted})
        return _public(row)

    async def list(
        self,
        workspace_id: WorkspaceId | None,
        connection_ids: Collection[str] | None = None,
        *,
        before: str | None = None,
        limit: int = 50,
        since: float | None = None,
        **filters: str | None,
    ) -> Sequence[dict[str, Any]]:
        """Runs, newest first: those *before* a run, started *since* an instant, equal in all *filters*."""
        query = select(tables.runs).order_by(tables.runs.c.run_id.desc()).limit(limit)
        if workspace_id is not None:
            query = query.where(tables.runs.c.workspace_id == workspace_id)
        if connection_ids is not None:
            query = query.where(tables.runs.c.connection_id.in_(connection_ids))
        if before is not None:
            query = query.where(tables.runs.c.run_id < before)
        if since is not None:
            query = query.where(tables.runs.c.started_at >= since)
        for name, value in filters.items():
            if value is not None:
                query = query.where(tables.runs.c[name] == value)
        rows = await self.database.read(lambda reading: reading.execute(query).mappings().all())
        return [_public(row) for row in rows]

    async def interrupt_abandoned(self) -> int:
        """Mark the runs of processes that are gone as ``interrupted``; how many there were."""
        return await self.database.write(lambda writing: writing.execute(INTERRUPT_ABANDONED).rowcount)

    async def interrupt_lost(self) -> int:
        """Mark the runs of this process as ``interrupted`` whose end was never committed; how many there were."""
        runs = tables.runs.c
        mine = select(runs.run_id).where(runs.process_id == self.process_id)
        running = await self.database.read(lambda reading: reading.execute(mine).scalars().all())
        lost = [found for found in running if found not in self.under_way][:LOST_STEP]
        if not lost:
            return 0
        interrupt = (
            update(tables.runs)
            .where(runs.run_id.in_(lost), runs.process_id == self.process_id)
            .values(status="interrupted", process_id=None)
        )
        return await self.database.write(lambda writing: writing.execute(interrupt).rowcount)

    async def purge(self, before: float) -> int:
        """Delete a bounded number of runs that started *before* an instant; how many it were."""
        oldest = (
            select(tables.runs.c.run_id)
            .where(tables.runs.c.started_at < before)
            .order_by(tables.runs.c.run_id)
            .limit(PURGE_STEP)
        )
        purge = delete(tables.runs).where(tables.runs.c.run_id.in_(oldest))
        return await self.database.write(lambda writing: writing.execute(purge).rowcount)


class Recording:
    """The record of one run under way."""

    def __init__(self, runs: Runs, identity: Mapping[str, Any], run: Run) -> None:
        self._runs = runs
        self._identity = identity
        self._run = run
        self.opened = False
        """Whether it was committed that it is under way."""

        self.in_doubt: GatewayError | None = None
        """What is told if the call is cut off while a request that writes is under way."""

        self.closed = False
        """Whether its end was committed already, together with what it did."""

    @property
    def run_id(self) -> RunId:
        """The run's identifier."""
        return self._run.run_id

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, _: object, fault: BaseException | None, __: object) -> None:
        if fault is None and self.closed:
            self._runs.under_way.discard(self._run.run_id)
            return
        failure = self._end(fault)
        try:
            await self.close()
        except StorageUnavailable:
            if fault is None or failure is not None or isinstance(fault, Exception):
                raise
        finally:
            self._runs.under_way.discard(self._run.run_id)
        if failure is not None:
            raise failure from fault

    def refuse(self, error: GatewayError) -> None:
        """Note that it ended with *error*, and count that where it tells of the third party."""
        self._run.refuse(error)
        self._runs.unexpected.count(self._identity["connector"], error)

    def _end(self, fault: BaseException | None) -> GatewayError | None:
        """Note how it ended; returns what is told in place of a *fault* that nobody foresaw."""
        if isinstance(fault, GatewayError):
            self.refuse(fault)
            return None
        failure: GatewayError | None = None
        if isinstance(fault, Exception):
            failure = InternalError("Something went wrong here.", private=repr(fault))
        elif isinstance(fault, asyncio.CancelledError) and self._runs.stopping.begun:
            failure = self._runs.stopping.cut_off(self.in_doubt)
        if failure is not None:
            self.refuse(failure)
        elif fault is not None:
            self._run.status = "interrupted"
        return failure

    def open(self) -> Awaitable[bool]:
        """Commit that the run is under way, so that a crash leaves a trace."""
        self._runs.under_way.add(self._run.run_id)
        return self._runs.database.put(PUT_RUN, self._row(self._runs.process_id))

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
        """Commit how it ended; where storage is away the run ends with that, on record once storage is back."""
        try:
            await self._runs.database.put(PUT_RUN, self._row(None))
        except StorageUnavailable as away:
            if self._run.status != "interrupted":
                self._run.refuse(away)
            row = self._row(None)
            self._runs.database.eventually(lambda writing: _put(writing, row))
            raise

    def _row(self, process_id: ProcessId | None) -> dict[str, Any]:
        run = self._run
        return {
            **self._identity,
            "status": run.status,
            "http_status": run.http_status,
            "code": run.code,
            "duration_ms": round(run.duration_ms, 3),
            "upstream": [_exchange(exchange) for exchange in run.trace.exchanges],
            "idempotency": run.idempotency,
            "process_id": process_id,
        }


def _put(writing: Transaction, row: dict[str, Any]) -> None:
    writing.execute(PUT_RUN, row)


def _exchange(exchange: Exchange) -> dict[str, Any]:
    return {
        "at": exchange.at,
        "method": exchange.method,
        "path": exchange.path,
        "status": exchange.status,
        "wait_ms": round(exchange.wait_ms, 3),
        "duration_ms": round(exchange.duration_ms, 3),
    }


def _public(row: Mapping[Any, Any]) -> dict[str, Any]:
    shown = {name: value for name, value in row.items() if name not in {"process_id", "workspace_id"}}
    return shown | {
        "started_at": instant(row["started_at"]),
        "upstream": [exchange | {"at": instant(exchange["at"])} for exchange in row["upstream"]],
    }
