"""Which processes are alive, and what the dead have left behind."""

import asyncio
import time
from contextlib import suppress
from typing import Self

import structlog
from sqlalchemy import delete, func, select
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.claims import Claims
from connector_gateway.core.events.feed import Feed
from connector_gateway.core.owners import Owners
from connector_gateway.core.runs import Runs
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.kit.identifiers import ProcessId
from connector_gateway.storage import tables
from connector_gateway.storage.database import Database

HEARTBEAT_SECONDS = 2.0
DEAD_AFTER_SECONDS = 10.0
ALIVE_SECONDS = 6.0
"""A process without a sign of life for so long stops writing, well before others take its work over."""

PURGE_EVERY = 30
"""Beats between two purges."""

MAX_PURGES = 50
"""Steps of one purge; each is bounded, so that nobody waits long for it."""

_insert = insert(tables.processes)
BEAT = _insert.on_conflict_do_update(
    index_elements=[tables.processes.c.process_id], set_={"seen_at": _insert.excluded.seen_at}
)

log = structlog.get_logger()


class Processes:
    """Tells the others that this process lives, and settles what dead ones have left: runs, claims, old records."""

    def __init__(
        self,
        database: Database,
        process_id: ProcessId,
        clock: Clock,
        *,
        runs: Runs,
        claims: Claims,
        owners: Owners,
        feed: Feed,
        keep_runs_seconds: float,
    ) -> None:
        self._database = database
        self._process_id = process_id
        self._runs = runs
        self._claims = claims
        self._owners = owners
        self._feed = feed
        self.absent_since: float | None = None
        """Since when no process lived, until this one did; None if one did all the time, or none ever before."""

        self._beaten_at: float | None = None
        """When the last sign of life that was committed began, by the monotonic clock."""

        self._clock = clock
        self._keep_runs_seconds = keep_runs_seconds

    async def __aenter__(self) -> Self:
        self.absent_since = await self._last_sign_of_life()
        if self._database.embedded:
            await self._database.write(lambda writing: writing.execute(delete(tables.processes)))
        await self.beat()
        self._beating = asyncio.create_task(self._beat_forever(), name="heartbeat")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._beating.cancel()
        with suppress(asyncio.CancelledError):
            await self._beating
        leave = delete(tables.processes).where(tables.processes.c.process_id == self._process_id)
        await self._database.write(lambda writing: writing.execute(leave))

    async def _last_sign_of_life(self) -> float | None:
        """When any process was last alive, in epoch seconds; None if one is now, or none ever was."""
        query = select(func.max(tables.processes.c.seen_at))
        last: float | None = await self._database.read(lambda reading: reading.execute(query).scalar())
        recent = last is not None and last > self._clock.now() - 2 * HEARTBEAT_SECONDS
        return None if recent and not self._database.embedded else last

    def require_alive(self) -> None:
        """Raise if the others may have taken this process for dead, and its work over."""
        if self._beaten_at is not None and time.monotonic() - self._beaten_at > ALIVE_SECONDS:
            raise StorageUnavailable("This process has lost touch with its storage.", retry_after=HEARTBEAT_SECONDS)

    async def beat(self) -> None:
        """Say that this process lives, and settle what those have left that have been silent for too long."""
        now, began = self._clock.now(), time.monotonic()
        await self._database.put(BEAT, {"process_id": self._process_id, "started_at": now, "seen_at": now})
        self._beaten_at = began
        bury = delete(tables.processes).where(tables.processes.c.seen_at < now - DEAD_AFTER_SECONDS)
        await self._database.write(lambda writing: writing.execute(bury))
        runs = await self._runs.interrupt_abandoned()
        claims = await self._claims.settle_abandoned()
        if runs or claims:
            log.warning("settled what a dead process left", runs=runs, claims=claims)

    async def purge(self) -> None:
        """Delete a bounded number of records that are past their time."""
        await self._runs.purge(self._clock.now() - self._keep_runs_seconds)
        await self._claims.purge()
        await self._owners.purge()
        for _ in range(MAX_PURGES):
            if not await self._feed.purge():
                break

    async def _beat_forever(self) -> None:
        beats = 0
        while True:
            await self._clock.sleep(HEARTBEAT_SECONDS)
            beats += 1
            try:
                await self.beat()
                if beats % PURGE_EVERY == 0:
                    await self.purge()
            except Exception:
                log.exception("heartbeat failed")
