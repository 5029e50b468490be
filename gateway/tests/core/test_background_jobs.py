"""Intervals of deleting expired rows, and failing jobs."""

import asyncio
from collections.abc import Awaitable, Callable

from connector_gateway.core.background_jobs import (
    MAX_IDLE_WAIT_SECONDS,
    MAX_STEPS,
    PURGE_STEP,
    RARE_ROUNDS,
    ROUND_SECONDS,
    JobRunner,
)
from connector_gateway.kit.errors import StorageUnavailable
from harness.clocks import LoopClock, ManualClock, run_in_virtual_time
from harness.requirement import requirement


class ExpiredRows:
    """A number of expired rows."""

    def __init__(self, rows: int, error: Exception | None = None) -> None:
        self.rows = rows
        self.steps: list[int] = []
        self._error = error

    async def purge(self) -> int:
        """Delete some rows."""
        if self._error is not None:
            raise self._error
        deleted = min(self.rows, PURGE_STEP)
        self.rows -= deleted
        self.steps.append(deleted)
        return deleted


async def return_immediately() -> None:
    """Storage that is always idle."""


def run_jobs(
    seconds: float,
    *always: Callable[[], Awaitable[int]],
    rare: ExpiredRows | None = None,
    calm: Callable[[], Awaitable[object]] = return_immediately,
) -> None:
    """Run retention for *seconds*."""

    async def run() -> None:
        async with JobRunner(LoopClock(), always=always, rare=[rare.purge] if rare else [], wait_until_idle=calm):
            await asyncio.sleep(seconds)

    run_in_virtual_time(run())


@requirement("common-155")
async def test_a_round_takes_short_steps_until_little_is_left(clock: ManualClock) -> None:
    some, many = ExpiredRows(2 * PURGE_STEP + 7), ExpiredRows(100 * PURGE_STEP)
    await JobRunner(clock, always=[some.purge, many.purge]).run()

    assert [PURGE_STEP, PURGE_STEP, 7] == some.steps
    assert [PURGE_STEP] * MAX_STEPS == many.steps


@requirement("common-155")
def test_rows_of_five_hundred_calls_a_second_are_deleted_as_fast_as_they_come() -> None:
    pile = ExpiredRows(30 * 500)
    run_jobs(30.0, pile.purge)

    assert 0 == pile.rows
    assert 500 * ROUND_SECONDS < PURGE_STEP * MAX_STEPS


def test_slowly_growing_tables_are_checked_rarely() -> None:
    always, rare = ExpiredRows(10**6), ExpiredRows(10**6)
    run_jobs(2 * RARE_ROUNDS * ROUND_SECONDS + 1, always.purge, rare=rare)

    assert (2 * RARE_ROUNDS * MAX_STEPS, 2 * MAX_STEPS) == (len(always.steps), len(rare.steps))


def test_an_idle_job_is_skipped_for_a_minute() -> None:
    pile = ExpiredRows(3)
    run_jobs((2 + RARE_ROUNDS) * ROUND_SECONDS + 1, pile.purge)

    assert [3, 0, 0] == pile.steps


async def test_a_failing_job_does_not_stop_the_others(clock: ManualClock) -> None:
    unavailable, broken, good = (
        ExpiredRows(1, StorageUnavailable("Away.")),
        ExpiredRows(1, LookupError("odd")),
        ExpiredRows(1),
    )
    await JobRunner(clock, always=[unavailable.purge, broken.purge, good.purge]).run()

    assert [1] == good.steps


async def test_a_step_waits_until_storage_is_idle(clock: ManualClock) -> None:
    pile, calm = ExpiredRows(7), asyncio.Event()
    purging = asyncio.create_task(JobRunner(clock, always=[pile.purge], wait_until_idle=calm.wait).run())
    await asyncio.sleep(0)
    before = pile.rows
    calm.set()
    await purging

    assert (7, 0) == (before, pile.rows)


@requirement("common-155")
def test_busy_storage_does_not_slow_deletion_below_the_rate_of_new_rows() -> None:
    seconds = 60
    never, pile = asyncio.Event(), ExpiredRows(2 * 500 * seconds)
    run_jobs(seconds, pile.purge, calm=never.wait)

    assert pile.rows <= 2 * 500 * (ROUND_SECONDS + MAX_IDLE_WAIT_SECONDS)
