"""Exclusive locks, and how long tasks wait for them."""

import asyncio
from dataclasses import dataclass, field

import pytest

from connector_gateway.kit.errors import UpstreamConflict
from connector_gateway.kit.upstream.client import Timeouts
from connector_gateway.storage.shared.locks import RETRY_SECONDS, NamedLocks
from harness.clocks import run_in_virtual_time

PATIENCE = Timeouts(queue_seconds=30, run_seconds=120)


@dataclass
class LockUsers:
    """Tasks that lock one name for a time, and when each of them entered or gave up."""

    locks: NamedLocks = field(default_factory=lambda: NamedLocks(PATIENCE))
    story: list[tuple[str, str, float]] = field(default_factory=list)

    async def hold(self, name: str, seconds: float) -> None:
        try:
            async with self.locks.acquire("page"):
                self.record(name, "in")
                await asyncio.sleep(seconds)
        except UpstreamConflict:
            self.record(name, "gave up")

    def record(self, name: str, what: str) -> None:
        self.story.append((name, what, asyncio.get_running_loop().time()))

    async def run_all(self, **seconds: float) -> None:
        await asyncio.gather(*(self.hold(name, duration) for name, duration in seconds.items()))


def test_tasks_behind_a_stuck_lock_give_up_in_order_without_a_trace() -> None:
    users = LockUsers()
    run_in_virtual_time(users.run_all(a=1000, b=1, c=1))

    assert [("a", "in", 0), ("b", "gave up", 30), ("c", "gave up", 30)] == users.story
    assert {} == users.locks._queues


def test_no_task_is_rejected_in_a_moving_queue() -> None:
    users = LockUsers()
    run_in_virtual_time(users.run_all(a=25, b=25, c=25, d=25))

    assert [("a", "in", 0), ("b", "in", 25), ("c", "in", 50), ("d", "in", 75)] == users.story


def test_the_wait_is_limited_to_the_maximum_time_of_a_run() -> None:
    users = LockUsers()
    run_in_virtual_time(users.run_all(a=29, b=29, c=29, d=29, e=29, f=29))

    assert [("e", "in", 116), ("f", "gave up", 120)] == users.story[-2:]


def test_no_task_waits_for_one_that_gave_up() -> None:
    async def run(users: LockUsers) -> None:
        waiting = asyncio.gather(users.hold("a", 31), users.hold("b", 1))
        await asyncio.sleep(30.5)
        await users.hold("c", 1)
        await waiting

    users = LockUsers()
    run_in_virtual_time(run(users))

    assert [("a", "in", 0), ("b", "gave up", 30), ("c", "in", 31)] == users.story


def test_a_cancelled_waiter_does_not_affect_the_others() -> None:
    async def run(users: LockUsers) -> None:
        first, leaving, last = (asyncio.create_task(users.hold(name, 10)) for name in "abc")
        await asyncio.sleep(5)
        leaving.cancel()
        await asyncio.gather(first, last)

    users = LockUsers()
    run_in_virtual_time(run(users))

    assert [("a", "in", 0), ("c", "in", 10)] == users.story
    assert {} == users.locks._queues


def test_a_lock_released_at_the_deadline_goes_to_the_next_waiter() -> None:
    users = LockUsers()
    run_in_virtual_time(users.run_all(a=30, b=1, c=1))

    assert {} == users.locks._queues
    assert 3 == len(users.story)


async def test_the_error_states_when_to_retry_and_that_nothing_was_sent() -> None:
    locks = NamedLocks(Timeouts(queue_seconds=0))
    async with locks.acquire("page"):
        with pytest.raises(UpstreamConflict, match="was not sent") as error:
            await locks.acquire("page").__aenter__()

    assert (RETRY_SECONDS, None) == (error.value.retry_after, error.value.doubt)
