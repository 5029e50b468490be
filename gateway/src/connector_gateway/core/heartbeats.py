"""Process heartbeats, and recovery of the runs and claims of dead processes."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Self

import structlog
from sqlalchemy import ColumnElement, bindparam, delete, func, inspect, select, update
from sqlalchemy import Connection as SqlConnection
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.base import Executable

from connector_gateway.core.history.runs import RunStore
from connector_gateway.core.shutdown import Shutdown
from connector_gateway.core.writes.idempotency import Claims
from connector_gateway.kit.clock import Clock, monotonic_seconds
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.kit.identifiers import ProcessId
from connector_gateway.kit.task_cancellation import cancel_and_wait
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.compiled_statements import execute, fetch
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.sqlite_files import DatabaseInUse

HEARTBEAT_SECONDS = 2.0

LIVE_SECONDS = 6.0
"""Seconds after its last heartbeat for which a process is allowed to rely on its claims and leases."""

DEAD_AFTER_SECONDS = 10.0
"""Seconds after its last heartbeat, by the database's clock, until other processes take over a process's work."""

PEER_CHECK_SECONDS = 0.5
"""Seconds between two checks for heartbeats of other processes, before a single-instance process starts."""

Job = Callable[[], Awaitable[object]]

log = structlog.get_logger()

_processes = tables.processes.c


class _Statements(NamedTuple):
    """The statements of a heartbeat."""

    heartbeat: Executable
    delete_dead: Executable
    living: Executable


@lru_cache(maxsize=8)
def _statements(now: ColumnElement[float]) -> _Statements:
    new = insert(tables.processes).values(process_id=bindparam("_process_id"), started_at=now, seen_at=now)
    age = now - _processes.seen_at
    return _Statements(
        heartbeat=new.on_conflict_do_update(index_elements=[_processes.process_id], set_={"seen_at": now}),
        delete_dead=delete(tables.processes).where(_processes.seen_at < now - DEAD_AFTER_SECONDS),
        living=select(_processes.process_id, age.label("age"))
        .where(age <= DEAD_AFTER_SECONDS)
        .order_by(_processes.started_at, _processes.process_id),
    )


@dataclass(eq=False, repr=False)
class ProcessHeartbeats:
    """Writes this process's heartbeat, and closes the runs and claims of processes whose heartbeat has expired.

    Heartbeats use the database's clock. The age of this process's own heartbeat is measured by its monotonic clock.
    """

    database: Database
    process_id: ProcessId
    clock: Clock
    runs: RunStore = field(kw_only=True)
    claims: Claims = field(kw_only=True)
    single_instance: bool = field(kw_only=True, default=True)
    shutdown: Shutdown | None = field(kw_only=True, default=None)
    jobs: Sequence[Job] = field(kw_only=True, default=())
    monotonic: Callable[[], float] = field(kw_only=True, default=monotonic_seconds)

    offline_since: float | None = field(init=False, default=None)
    """The time at which the last process stopped before this one started, in epoch seconds.

    None if there was no gap, or on first start.
    """

    _seen_at: float | None = field(init=False, default=None)
    count: int = field(init=False, default=1)
    """Number of live processes at the last heartbeat, including this one."""

    _lapses: int = field(init=False, default=0)
    """Number of times that this process had no heartbeat for so long that others might have taken over its work."""

    def __post_init__(self) -> None:
        self._has_exclusive_database = self.single_instance and self.database.embedded
        """Whether the database is exclusive to this process, as an embedded database is."""

        self._must_be_single = self.single_instance and not self.database.embedded
        """Whether this process has to be the only one on a database server, and checks it."""

        self._shutdown = self.shutdown or Shutdown()

    async def __aenter__(self) -> Self:
        self.offline_since = await self._last_heartbeat()
        if self._has_exclusive_database:
            # The database is exclusive to this process, so all rows belong to dead processes.
            await self.database.write(lambda db: db.execute(delete(tables.processes)))
        await self.write_heartbeat()
        await self.heartbeat()
        self._beating = asyncio.create_task(self._heartbeat_loop(), name="heartbeat")
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_and_wait(self._beating)
        delete_row = delete(tables.processes).where(tables.processes.c.process_id == self.process_id)
        # If storage is unavailable, the row remains, and other processes consider this one dead after a while.
        with suppress(StorageUnavailable):
            await self.database.write(lambda db: db.execute(delete_row))

    @property
    def alive(self) -> bool:
        """Whether the last heartbeat is so recent that no other process can have taken over this one's work."""
        return self._seen_at is not None and self.monotonic() - self._seen_at < LIVE_SECONDS

    def fence(self) -> Callable[[], None]:
        """Return a check that raises ``StorageUnavailable`` once other processes may consider this process dead.

        It also raises after heartbeats resume, because the work might have been taken over in between.
        """
        lapses = self._lapses

        def check() -> None:
            if self._seen_at is not None and not (self.alive and lapses == self._lapses):
                raise StorageUnavailable("This process has lost its storage.", retry_after=HEARTBEAT_SECONDS)

        return check

    async def wait_until_single(self) -> None:
        """Wait until no other process has a recent heartbeat, without changing the database.

        Raises ``DatabaseInUse`` if another process continues to write heartbeats. Returns immediately if several
        processes are allowed.
        """
        previous = await self.database.read(self._read_live) if self._must_be_single else {}
        while previous:
            await self.clock.sleep(PEER_CHECK_SECONDS)
            current = await self.database.read(self._read_live)
            for other, seen_at in current.items():
                if seen_at > previous.get(other, seen_at):
                    raise DatabaseInUse(f"{self._in_use_message(other)}; stop that process first.")
            previous = current

    def _read_live(self, db: SqlConnection) -> dict[str, float]:
        """Return the processes that consider themselves alive, with the times of their last heartbeats."""
        # An empty database has no tables yet.
        if not inspect(db).has_table(tables.processes.name):
            return {}
        recent = self.database.now - _processes.seen_at < LIVE_SECONDS
        query = select(_processes.process_id, _processes.seen_at).where(recent)
        return {row.process_id: row.seen_at for row in db.execute(query)}

    def _in_use_message(self, process_id: str) -> str:
        return f"The database {self.database.url.database} is in use by another process, {process_id}"

    async def _last_heartbeat(self) -> float | None:
        """Return when the last process stopped, in epoch seconds. None if one is alive or there was none."""
        query = select(func.max(tables.processes.c.seen_at).label("last"), self.database.now.label("now"))
        row = await self.database.read(lambda db: db.execute(query).one())
        is_recent = row.last is not None and row.last > row.now - 2 * HEARTBEAT_SECONDS
        return None if is_recent and not self._has_exclusive_database else row.last

    async def write_heartbeat(self) -> None:
        """Write a heartbeat. Its age counts from the start of the write."""
        began = self.monotonic()
        parameters = {"_process_id": self.process_id}
        await self.database.write(lambda db: execute(db, self._statements.heartbeat, parameters))
        if self._seen_at is not None and began - self._seen_at >= LIVE_SECONDS:
            self._lapses += 1
        self._seen_at = began

    @property
    def _statements(self) -> "_Statements":
        return _statements(self.database.now)

    async def prove_writable(self) -> None:
        """Write this process's row again, to check that the database is writable."""
        touch = update(tables.processes).where(tables.processes.c.process_id == self.process_id)
        await self.database.write(lambda db: db.execute(touch.values(seen_at=self.database.now)))

    async def heartbeat(self) -> None:
        """Write a heartbeat and deferred writes, and settle the runs and claims of dead processes.

        If one job fails, the others still run. While storage is unavailable none can succeed, so all of them are
        deferred to the next heartbeat.
        """
        jobs = (
            *self.jobs,
            self.database.synchronize_clock,
            self.database.flush,
            self._refresh_peers,
            self.runs.interrupt_abandoned,
            self.runs.interrupt_lost,
            self.claims.settle_abandoned,
        )
        if await self._run_jobs(self.write_heartbeat):
            await self._run_jobs(*jobs)

    async def _run_jobs(self, *jobs: Job) -> bool:
        """Run *jobs* concurrently, so that they share commits. Returns whether storage was available for all."""
        return all(await asyncio.gather(*map(self._run_job, jobs)))

    @staticmethod
    async def _run_job(job: Job) -> bool:
        """Run *job* and log its failure. Returns whether storage was available."""
        try:
            settled = await job()
        except StorageUnavailable as error:
            log.warning("storage unavailable", job=job.__name__, private=error.private)
            return False
        except Exception:
            log.exception("heartbeat job failed", job=job.__name__)
        else:
            if settled:
                log.warning("work of a dead process recovered", job=job.__name__, count=settled)
        return True

    def _settle_dead(self, db: SqlConnection) -> Sequence[tuple[Any, ...]]:
        """Delete the rows of dead processes. Returns the others, oldest first, with the ages of their heartbeats."""
        execute(db, self._statements.delete_dead)
        return fetch(db, self._statements.living)

    async def _refresh_peers(self) -> None:
        """Count the live processes. Shuts down if this one has to be the only one and another is older."""
        processes = await self.database.write(self._settle_dead)
        self.count = max(1, len(processes))
        oldest = next((process_id for process_id, age in processes if age < LIVE_SECONDS), self.process_id)
        if self._must_be_single and oldest != self.process_id:
            reason = f"{self._in_use_message(oldest)}, which started earlier."
            log.error("stopping", reason=reason)
            self._shutdown.start(reason)

    async def _heartbeat_loop(self) -> None:
        while True:
            await self.clock.sleep(HEARTBEAT_SECONDS)
            await self.heartbeat()
