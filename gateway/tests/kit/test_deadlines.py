"""One timer for all who have the same time."""

import asyncio
from collections.abc import Awaitable

import pytest

from connector_gateway.kit.upstream.deadlines import Deadlines
from harness.clocks import run_in_virtual_time


async def within(deadlines: Deadlines, work: Awaitable[object]) -> float | type[BaseException]:
    """How long *work* took, or what ended it."""
    began = asyncio.get_running_loop().time()
    try:
        with deadlines:
            await work
    except (TimeoutError, ValueError, asyncio.CancelledError) as error:
        return type(error)
    return asyncio.get_running_loop().time() - began


def test_a_task_in_time_is_not_interrupted() -> None:
    assert 9.9 == run_in_virtual_time(within(Deadlines(10), asyncio.sleep(9.9)))


def test_a_longer_task_ends_at_its_deadline() -> None:
    async def late() -> tuple[float | type[BaseException], float]:
        ended = await within(Deadlines(10), asyncio.sleep(100))
        return ended, asyncio.get_running_loop().time()

    how, at = run_in_virtual_time(late())

    assert TimeoutError is how
    assert 10 == pytest.approx(at)


def test_everybody_has_the_same_time_from_when_they_began() -> None:
    async def one_after_the_other() -> list[tuple[float | type[BaseException], float]]:
        deadlines = Deadlines(10)

        async def begin(at: float, takes: float) -> tuple[float | type[BaseException], float]:
            await asyncio.sleep(at)
            ended = await within(deadlines, asyncio.sleep(takes))
            return ended, asyncio.get_running_loop().time()

        return list(await asyncio.gather(begin(0, 5), begin(1, 100), begin(4, 9), begin(7, 100), begin(30, 100)))

    ended = run_in_virtual_time(one_after_the_other())

    assert [5, TimeoutError, 9, TimeoutError, TimeoutError] == [how for how, _ in ended]
    assert [5, 11, 13, 17, 40] == [pytest.approx(at) for _, at in ended]


def test_one_task_may_come_again() -> None:
    async def twice() -> list[float | type[BaseException]]:
        deadlines = Deadlines(10)
        return [await within(deadlines, asyncio.sleep(takes)) for takes in (100, 8, 100, 8)]

    assert [TimeoutError, 8, TimeoutError, 8] == [
        how if isinstance(how, type) else pytest.approx(how) for how in run_in_virtual_time(twice())
    ]


def test_a_task_cancelled_by_others_is_cancelled() -> None:
    async def cancelled(after: float) -> float | type[BaseException]:
        task = asyncio.create_task(within(Deadlines(10), asyncio.sleep(100)))
        await asyncio.sleep(after)
        task.cancel()
        return await task

    assert asyncio.CancelledError is run_in_virtual_time(cancelled(5))
    assert asyncio.CancelledError is run_in_virtual_time(cancelled(10)), "at the same instant"


def test_an_error_of_the_work_is_raised_unchanged() -> None:
    async def fails(after: float) -> None:
        try:
            await asyncio.sleep(after)
        finally:
            raise ValueError

    assert ValueError is run_in_virtual_time(within(Deadlines(10), fails(5)))
    assert ValueError is run_in_virtual_time(within(Deadlines(10), fails(100))), "even if it was interrupted"


def test_it_can_be_waited_again_after_a_timeout() -> None:
    async def interrupted() -> bool:
        await within(Deadlines(1), asyncio.sleep(100))
        await asyncio.sleep(1)
        task = asyncio.current_task()
        return task is not None and task.cancelling() == 0

    assert run_in_virtual_time(interrupted())
