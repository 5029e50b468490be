"""Calls that wait for a reservation during shutdown."""

import asyncio

import pytest

from connector_gateway.core.pacing.pacer import BackgroundPacer, ConnectionPacer
from connector_gateway.core.shutdown import Shutdown
from connector_gateway.kit.clock import SystemClock
from connector_gateway.kit.errors import Overloaded
from connector_gateway.kit.upstream.budget import Budget, Charge, Deadline
from connector_gateway.storage.shared.local_counters import LocalCounters
from harness.requirement import requirement

ONE = (Charge("all"),)
FAR = Deadline(2_000_000_000.0)


class Queue:
    """A vendor that accepts one request an hour, and callers that send some."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.shutdown = Shutdown()
        self.shared = LocalCounters(self.clock)

    def pacer(self, kind: type[ConnectionPacer] = ConnectionPacer) -> ConnectionPacer:
        budgets = {"all": Budget(1, 3600)}
        return kind("notes", budgets, "account", self.shared, self.clock, shutdown=self.shutdown)

    async def stop_soon(self) -> None:
        await asyncio.sleep(0)
        self.shutdown.start()


@requirement("common-143")
async def test_a_call_waiting_for_a_reservation_is_rejected_and_releases_it() -> None:
    queue = Queue()
    await queue.pacer().acquire(ONE, FAR)
    outcomes = await asyncio.gather(queue.pacer().acquire(ONE, FAR), queue.stop_soon(), return_exceptions=True)
    (window,) = queue.shared._logs.values()

    assert isinstance(outcomes[0], Overloaded)
    assert outcomes[0].retry_after
    assert 0 == window.remaining(queue.clock.now())
    assert 1 == len(window._entries)


async def test_a_call_during_shutdown_is_rejected() -> None:
    queue = Queue()
    queue.shutdown.start()

    with pytest.raises(Overloaded):
        await queue.pacer().acquire(ONE, FAR)


async def test_a_started_call_continues_to_wait() -> None:
    queue = Queue()
    begun = queue.pacer()
    await begun.acquire(ONE, FAR)
    waiting = asyncio.ensure_future(begun.acquire(ONE, FAR))
    await queue.stop_soon()
    done, _ = await asyncio.wait({waiting}, timeout=0.01)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert set() == done


async def test_polls_are_not_ended_by_shutdown_itself() -> None:
    queue = Queue()
    queue.shutdown.start()

    reservation = await queue.pacer(BackgroundPacer).acquire(ONE, FAR)

    assert 0 == reservation.wait


async def test_a_result_before_shutdown_is_returned() -> None:
    shutdown = Shutdown()

    assert "there" == await shutdown.wait(asyncio.sleep(0, "there"))
    assert set() == shutdown._waiting


async def test_a_timeout_of_the_awaited_work_is_raised_unchanged() -> None:
    with pytest.raises(TimeoutError):
        await Shutdown().wait(asyncio.wait_for(asyncio.Event().wait(), 0.001))


async def test_the_first_shutdown_reason_is_retained() -> None:
    shutdown = Shutdown()
    shutdown.start()
    shutdown.start("Another process has taken over.")
    shutdown.start("Something else.")

    assert "Another process has taken over." == shutdown.reason
