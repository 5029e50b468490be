"""One timer for all tasks with the same time limit."""

import asyncio
from collections.abc import Awaitable

import pytest

from connector_gateway.kit.upstream.deadlines import Deadlines
from harness.clocks import run_in_virtual_time


async def run_until_deadline(deadlines: Deadlines, work: Awaitable[object]) -> float | type[BaseException]:
    """Return the duration of *work*, or the type of the exception that ended it."""
    started_at = asyncio.get_running_loop().time()
    try:
        with deadlines:
            await work
    except (TimeoutError, ValueError, asyncio.CancelledError) as error:
        return type(error)
    return asyncio.get_running_loop().time() - started_at


def test_a_task_in_time_is_not_interrupted() -> None:
    assert 9.9 == run_in_virtual_time(run_until_deadline(Deadlines(10), asyncio.sleep(9.9)))


def test_a_longer_task_times_out_at_its_deadline() -> None:
    async def measure() -> tuple[float | type[BaseException], float]:
        outcome = await run_until_deadline(Deadlines(10), asyncio.sleep(100))
        return outcome, asyncio.get_running_loop().time()

    outcome, at = run_in_virtual_time(measure())

    assert TimeoutError is outcome
    assert 10 == pytest.approx(at)


def test_every_task_has_the_same_time_limit_from_its_start() -> None:
    async def start_one_after_the_other() -> list[tuple[float | type[BaseException], float]]:
        deadlines = Deadlines(10)

        async def start(at: float, takes: float) -> tuple[float | type[BaseException], float]:
            await asyncio.sleep(at)
            outcome = await run_until_deadline(deadlines, asyncio.sleep(takes))
            return outcome, asyncio.get_running_loop().time()

        return list(await asyncio.gather(start(0, 5), start(1, 100), start(4, 9), start(7, 100), start(30, 100)))

    outcomes = run_in_virtual_time(start_one_after_the_other())

    assert [5, TimeoutError, 9, TimeoutError, TimeoutError] == [outcome for outcome, _ in outcomes]
    assert [5, 11, 13, 17, 40] == [pytest.approx(at) for _, at in outcomes]


def test_a_task_can_enter_repeatedly() -> None:
    async def repeat() -> list[float | type[BaseException]]:
        deadlines = Deadlines(10)
        return [await run_until_deadline(deadlines, asyncio.sleep(takes)) for takes in (100, 8, 100, 8)]

    assert [TimeoutError, 8, TimeoutError, 8] == [
        outcome if isinstance(outcome, type) else pytest.approx(outcome) for outcome in run_in_virtual_time(repeat())
    ]


def test_a_task_cancelled_by_others_is_cancelled() -> None:
    async def cancel_after(after: float) -> float | type[BaseException]:
        task = asyncio.create_task(run_until_deadline(Deadlines(10), asyncio.sleep(100)))
        await asyncio.sleep(after)
        task.cancel()
        return await task

    assert asyncio.CancelledError is run_in_virtual_time(cancel_after(5))
    assert asyncio.CancelledError is run_in_virtual_time(cancel_after(10)), "simultaneously"


def test_an_error_of_the_work_is_raised_unchanged() -> None:
    async def fail_after(after: float) -> None:
        try:
            await asyncio.sleep(after)
        finally:
            raise ValueError

    assert ValueError is run_in_virtual_time(run_until_deadline(Deadlines(10), fail_after(5)))
    assert ValueError is run_in_virtual_time(run_until_deadline(Deadlines(10), fail_after(100))), (
        "even if it was interrupted"
    )


def test_a_task_can_wait_again_after_a_timeout() -> None:
    async def time_out() -> bool:
        await run_until_deadline(Deadlines(1), asyncio.sleep(100))
        await asyncio.sleep(1)
        task = asyncio.current_task()
        return task is not None and task.cancelling() == 0

    assert run_in_virtual_time(time_out())
