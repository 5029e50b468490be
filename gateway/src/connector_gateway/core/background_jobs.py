"""Background jobs, mostly retention, which deletes expired rows in short steps."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Self

import structlog

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.kit.task_cancellation import cancel_and_wait

PURGE_STEP = 100
"""Maximum rows that one statement deletes. It takes a few milliseconds, during which other writers wait."""

ROUND_SECONDS = 2.0
MAX_STEPS = 40
"""Maximum steps of a job per round: 2,000 rows a second, four times as many as 500 calls a second create."""

MAX_IDLE_WAIT_SECONDS = 2.0
"""Maximum seconds for which a round waits until storage is idle. However busy storage is, half of the time remains for
deletes: 4,000 rows per job in about four seconds, twice as many as 500 calls a second create.
"""

RARE_ROUNDS = 30
"""Rounds between two runs of a job that is slow, rarely needed, or had nothing to do."""

Job = Callable[[], Awaitable[int]]
"""A step, such as deleting up to about ``PURGE_STEP`` rows. Returns the number of rows."""

log = structlog.get_logger()


async def _return_immediately() -> None:
    pass


class JobRunner:
    """Runs jobs in rounds. A job that has nothing to do is skipped for a minute, since most tables change rarely.

    Jobs in *rare* run once a minute, however many rows they handle.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        always: Sequence[Job],
        rare: Sequence[Job] = (),
        wait_until_idle: Callable[[], Awaitable[object]] = _return_immediately,
    ) -> None:
        self._clock = clock
        self._idle = wait_until_idle
        """A function that waits until storage is idle."""

        self._always = always
        self._rare = rare
        self._resumes_at: dict[Job, int] = {}
        """The round in which an idle job runs again."""

        self._remaining_wait = MAX_IDLE_WAIT_SECONDS
        """Seconds for which this round can still wait until storage is idle."""

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self._run_loop(), name="jobs")
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_and_wait(self._running)

    async def run(self) -> None:
        """Run one round of all jobs."""
        await self._round(*self._always, *self._rare)

    async def _round(self, *jobs: Job) -> list[Job]:
        """Run *jobs* and return those that had nothing to do. A failing job does not stop the others."""
        self._remaining_wait = MAX_IDLE_WAIT_SECONDS
        idle = []
        for job in jobs:
            try:
                if not await self._repeat(job):
                    idle.append(job)
            except StorageUnavailable as error:
                log.warning("storage unavailable", job=job.__name__, private=error.private)
            except Exception:
                log.exception("job failed", job=job.__name__)
        return idle

    async def _run_loop(self) -> None:
        number = 0
        while True:
            await self._clock.sleep(ROUND_SECONDS)
            number += 1
            due = (job for job in self._always if self._resumes_at.get(job, 0) <= number)
            for job in await self._round(*due, *(() if number % RARE_ROUNDS else self._rare)):
                # An idle job may start up to a minute late: retention is counted in hours or days, and nothing waits
                # for a deletion. In return, each empty table costs one read a minute instead of thirty.
                self._resumes_at[job] = number + RARE_ROUNDS

    async def _repeat(self, job: Job) -> int:
        """Run *job* until less than a full step is left. Returns the number of rows."""
        handled = 0
        for _ in range(MAX_STEPS):
            await self._wait_until_idle()
            rows = await job()
            handled += rows
            if rows < PURGE_STEP:
                break
        return handled

    async def _wait_until_idle(self) -> None:
        """Wait until storage is idle, but no longer than the remaining time of this round."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._remaining_wait):
                await self._idle()
        self._remaining_wait = max(0.0, self._remaining_wait - (loop.time() - began))
