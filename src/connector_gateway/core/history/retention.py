"""Jobs in the background: mostly retention, which deletes what is past its time in steps too short to notice."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Self

import structlog

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.kit.tasks import cancel_and_wait

PURGE_STEP = 100
"""Rows that one statement deletes: a few milliseconds, during which others wait to write."""

ROUND_SECONDS = 2.0
MOST_STEPS = 40
"""Steps of one job in one round: 2,000 rows a second, four times what 500 calls a second make."""

CALM_SECONDS = 2.0
"""How long one round waits for calm, all in all. However busy the log is, half of the rounds' time is left to delete:
4,000 rows of each job in some four seconds, twice what 500 calls a second make.
"""

RARE_ROUNDS = 30
"""Rounds from one run to the next of a job that is slow or rarely needed, or that found nothing to do."""

Job = Callable[[], Awaitable[int]]
"""Does a step, such as deleting up to about ``PURGE_STEP`` rows, and returns how many rows it were."""

log = structlog.get_logger()


async def _at_once() -> None:
    pass


class JobRunner:
    """Runs jobs in rounds. A job that finds nothing to do is skipped for a minute: most tables are mostly calm.

    Jobs in *seldom* run once a minute, however much they find.
    """

    def __init__(
        self,
        clock: Clock,
        *,
        always: Sequence[Job],
        seldom: Sequence[Job] = (),
        calm: Callable[[], Awaitable[object]] = _at_once,
    ) -> None:
        self._clock = clock
        self._calm = calm
        """Waits until storage has time for what is in no hurry."""

        self._always = always
        self._seldom = seldom
        self._resumes_at: dict[Job, int] = {}
        """The round in which a job that found nothing runs again."""

        self._patience = CALM_SECONDS
        """Seconds that this round may still wait for calm."""

    async def __aenter__(self) -> Self:
        self._running = asyncio.create_task(self._run_loop(), name="jobs")
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_and_wait(self._running)

    async def run(self) -> None:
        """One round of everything."""
        await self._round(*self._always, *self._seldom)

    async def _round(self, *jobs: Job) -> list[Job]:
        """Run *jobs*, each of which fails alone; return those that found nothing to do."""
        self._patience = CALM_SECONDS
        idle = []
        for job in jobs:
            try:
                if not await self._repeat(job):
                    idle.append(job)
            except StorageUnavailable as away:
                log.warning("storage is away", job=job.__name__, private=away.private)
            except Exception:
                log.exception("a job failed", job=job.__name__)
        return idle

    async def _run_loop(self) -> None:
        rounds = 0
        while True:
            await self._clock.sleep(ROUND_SECONDS)
            rounds += 1
            due = (job for job in self._always if self._resumes_at.get(job, 0) <= rounds)
            for job in await self._round(*due, *(() if rounds % RARE_ROUNDS else self._seldom)):
                self._resumes_at[job] = rounds + RARE_ROUNDS

    async def _repeat(self, job: Job) -> int:
        """Run *job* until less than a full step is left; return how many rows it handled."""
        handled = 0
        for _ in range(MOST_STEPS):
            await self._wait_for_calm()
            rows = await job()
            handled += rows
            if rows < PURGE_STEP:
                break
        return handled

    async def _wait_for_calm(self) -> None:
        """Wait until storage is calm, though no longer than this round may still wait."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await self._calm()
        self._patience = max(0.0, self._patience - (loop.time() - began))
