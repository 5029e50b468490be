"""Which processes are alive, and how the work of dead ones is settled."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple, Self

import structlog
from sqlalchemy import ColumnElement, bindparam, delete, func, inspect, select, update
from sqlalchemy import Connection as Reading
from sqlalchemy import Connection as Writing
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.base import Executable

from connector_gateway.core.calls.shutdown import Shutdown
from connector_gateway.core.history.runs import RunStore
from connector_gateway.core.writes.claims import Claims
from connector_gateway.kit.clock import Clock, monotonic_seconds
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.kit.identifiers import ProcessId
from connector_gateway.kit.tasks import cancel_and_wait
from connector_gateway.storage import tables
from connector_gateway.storage.sql.bulk_insert import execute, fetch
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.sqlite_files import DatabaseInUse

HEARTBEAT_SECONDS = 2.0

LIVE_SECONDS = 6.0
"""How long after its last sign of life a process may count on its claims and leases."""

DEAD_AFTER_SECONDS = 10.0
"""How long after its last sign of life others may take them over, by the database's clock."""

LOOK_SECONDS = 0.5
"""From one look for signs of life of other processes to the next, before one that has to be alone starts."""

Job = Callable[[], Awaitable[object]]

log = structlog.get_logger()

_processes = tables.processes.c


class _Statements(NamedTuple):
    """The statements of a heartbeat."""

    sign_of_life: Executable
    bury: Executable
    living: Executable


@lru_cache(maxsize=8)
def _statements(now: ColumnElement[float]) -> _Statements:
    new = insert(tables.processes).values(process_id=bindparam("_process_id"), started_at=now, seen_at=now)
    age = now - _processes.seen_at
    return _Statements(
        sign_of_life=new.on_conflict_do_update(index_elements=[_processes.process_id], set_={"seen_at": now}),
        bury=delete(tables.processes).where(_processes.seen_at < now - DEAD_AFTER_SECONDS),
        living=select(_processes.process_id, age.label("age"))
        .where(age <= DEAD_AFTER_SECONDS)
        .order_by(_processes.started_at, _processes.process_id),
    )


@dataclass(eq=False, repr=False)
class ProcessRegistry:
    """Tells the others that this process lives, and settles what dead ones have left: runs and claims.

    Signs of life are told and compared by the database's clock; how old this process's own one is, by its stopwatch.
    """

    database: Database
    process_id: ProcessId
    clock: Clock
    runs: RunStore = field(kw_only=True)
    claims: Claims = field(kw_only=True)
    alone: bool = field(kw_only=True, default=True)
    stopping: Shutdown | None = field(kw_only=True, default=None)
    also: Sequence[Job] = field(kw_only=True, default=())
    stopwatch: Callable[[], float] = field(kw_only=True, default=monotonic_seconds)

    offline_since: float | None = field(init=False, default=None)
    """Since when no process lived, until this one did; None if one did all the time, or none ever before."""

    _seen_at: float | None = field(init=False, default=None)
    count: int = field(init=False, default=1)
    """How many processes lived at the last beat, this one included."""

    _lapses: int = field(init=False, default=0)
    """How often this process was silent for so long that others may have taken its work over."""

    def __post_init__(self) -> None:
        self._owner = self.alone and self.database.embedded
        """Whether no other process can be alive on this database."""

        self._alone = self.alone and not self.database.embedded
        """Whether no other process may be alive on this database."""

        self._stopping = self.stopping or Shutdown()

    async def __aenter__(self) -> Self:
        self.offline_since = await self._last_sign_of_life()
        if self._owner:
            # Nobody else can be alive here, so these rows are of processes that have died.
            await self.database.write(lambda writing: writing.execute(delete(tables.processes)))
        await self.write_heartbeat()
        await self.heartbeat()
        self._beating = asyncio.create_task(self._beat_forever(), name="heartbeat")
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_and_wait(self._beating)
        leave = delete(tables.processes).where(tables.processes.c.process_id == self.process_id)
        # Where storage is away the row stays, and others take this process for dead a little later.
        with suppress(StorageUnavailable):
            await self.database.write(lambda writing: writing.execute(leave))

    @property
    def alive(self) -> bool:
        """Whether the last sign of life is so recent that no other process can have taken over this one's work."""
        return self._seen_at is not None and self.stopwatch() - self._seen_at < LIVE_SECONDS

    def fence(self) -> Callable[[], None]:
        """A check that raises an error if, from now on, others may have taken this process for dead.

        It keeps raising after the process gives signs of life again, since its work may have been taken over meanwhile.
        """
        lapses = self._lapses

        def check() -> None:
            if self._seen_at is not None and not (self.alive and lapses == self._lapses):
                raise StorageUnavailable("This process has lost touch with its storage.", retry_after=HEARTBEAT_SECONDS)

        return check

    async def require_alone(self) -> None:
        """Wait until no other process gives signs of life, and change nothing; ``AlreadyServed`` if one goes on to.

        It does nothing where several processes may serve.
        """
        seen = await self.database.read(self._living) if self._alone else {}
        while seen:
            await self.clock.sleep(LOOK_SECONDS)
            living = await self.database.read(self._living)
            for other, seen_at in living.items():
                if seen_at > seen.get(other, seen_at):
                    raise DatabaseInUse(f"{self._served_by(other)}; stop that one first.")
            seen = living

    def _living(self, reading: Reading) -> dict[str, float]:
        """Return the processes whose last sign of life is so recent that they count themselves alive, and that."""
        # An empty database has no tables yet.
        if not inspect(reading).has_table(tables.processes.name):
            return {}
        recent = self.database.now - _processes.seen_at < LIVE_SECONDS
        query = select(_processes.process_id, _processes.seen_at).where(recent)
        return {row.process_id: row.seen_at for row in reading.execute(query)}

    def _served_by(self, process_id: str) -> str:
        return f"The database {self.database.url.database} is being served by another process, {process_id}"

    async def _last_sign_of_life(self) -> float | None:
        """When any process was last alive, in epoch seconds; None if one is now, or none ever was."""
        query = select(func.max(tables.processes.c.seen_at).label("last"), self.database.now.label("now"))
        found = await self.database.read(lambda reading: reading.execute(query).one())
        recent = found.last is not None and found.last > found.now - 2 * HEARTBEAT_SECONDS
        return None if recent and not self._owner else found.last

    async def write_heartbeat(self) -> None:
        """Write a sign of life; its age counts from the beginning of the write."""
        began = self.stopwatch()
        mine = {"_process_id": self.process_id}
        await self.database.write(lambda writing: execute(writing, self._statements.sign_of_life, mine))
        if self._seen_at is not None and began - self._seen_at >= LIVE_SECONDS:
            self._lapses += 1
        self._seen_at = began

    @property
    def _statements(self) -> "_Statements":
        return _statements(self.database.now)

    async def prove_writable(self) -> None:
        """Write this process's row once more, to show that the database takes writes."""
        touch = update(tables.processes).where(tables.processes.c.process_id == self.process_id)
        await self.database.write(lambda writing: writing.execute(touch.values(seen_at=self.database.now)))

    async def heartbeat(self) -> None:
        """Write a sign of life and what is owed, and settle what dead processes left.

        If one job fails, the others still run. While storage is away none can succeed, so the rest waits for the next
        beat.
        """
        jobs = (
            *self.also,
            self.database.set_time,
            self.database.flush,
            self._look_around,
            self.runs.interrupt_abandoned,
            self.runs.interrupt_lost,
            self.claims.settle_abandoned,
        )
        if await self._do(self.write_heartbeat):
            await self._do(*jobs)

    async def _do(self, *jobs: Job) -> bool:
        """Do all *jobs* at once, so that they share commits; returns whether all of them reached storage."""
        return all(await asyncio.gather(*map(self._done, jobs)))

    @staticmethod
    async def _done(job: Job) -> bool:
        """Do one job and log its failure; returns whether storage could be reached."""
        try:
            settled = await job()
        except StorageUnavailable as away:
            log.warning("storage is away", job=job.__name__, private=away.private)
            return False
        except Exception:
            log.exception("a part of the heartbeat failed", job=job.__name__)
        else:
            if settled:
                log.warning("settled what a process left", job=job.__name__, count=settled)
        return True

    def _bury(self, writing: Writing) -> Sequence[tuple[Any, ...]]:
        """Delete the rows of dead processes; return the others, oldest first, and how old their signs of life are."""
        execute(writing, self._statements.bury)
        return fetch(writing, self._statements.living)

    async def _look_around(self) -> None:
        """Count the processes that live, and stop if this one has to be alone and another was there first."""
        found = await self.database.write(self._bury)
        self.count = max(1, len(found))
        oldest = next((process_id for process_id, age in found if age < LIVE_SECONDS), self.process_id)
        if self._alone and oldest != self.process_id:
            reason = f"{self._served_by(oldest)}, which was there first."
            log.error("stopping", reason=reason)
            self._stopping.start(reason)

    async def _beat_forever(self) -> None:
        while True:
            await self.clock.sleep(HEARTBEAT_SECONDS)
            await self.heartbeat()
