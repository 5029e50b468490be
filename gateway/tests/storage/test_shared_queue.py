"""One queue of several processes in the shared store."""

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.budget_queue import ASK_SECONDS, SILENT_SECONDS
from connector_gateway.storage.shared.interface import CallPosition, ResolvedCharge
from connector_gateway.storage.shared.valkey import COUNTING, ValkeyCounters, ValkeyReservation
from harness.requirement import requirement
from harness.valkey import Server, StoreClock, store_of

NOTES = ResolvedCharge("upstream:notes:all:account", Budget(1, 1))
SKEW_SECONDS = 3600.0


class AheadClock:
    """A clock that is an hour ahead of *clock*."""

    def __init__(self, clock: StoreClock) -> None:
        self._clock = clock

    def now(self) -> float:
        return self._clock.now() + SKEW_SECONDS

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)


@pytest.fixture
def clock(valkey_of_tests: Server) -> StoreClock:
    return StoreClock(valkey_of_tests)


@pytest.fixture
async def processes(valkey_of_tests: Server, clock: StoreClock) -> AsyncIterator[Sequence[ValkeyCounters]]:
    """Two processes, the second of which has a wrong clock."""
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(store_of(valkey_of_tests, clock))
        second = ValkeyCounters(
            valkey_of_tests.url, AheadClock(clock), 20, script=first.script, connectors=["notes"], prefix=first.prefix
        )
        yield first, await stack.enter_async_context(second)


async def attempt(reservations: Sequence[ValkeyReservation]) -> int:
    """Attempt all reservations and return the number of those that may be sent."""
    return sum([await reservation.confirm() <= 0 for reservation in reservations])


@requirement("common-76", "common-194")
async def test_calls_of_processes_with_different_clocks_go_in_order_of_arrival(
    processes: Sequence[ValkeyCounters], clock: StoreClock
) -> None:
    one, ahead = processes
    await one.reserve([NOTES], 0)
    # The calls arrived in this order, but their requests were queued in the opposite one.
    arrivals = [(one, 4.0), (ahead, 3.0), (one, 2.0), (ahead, 1.0)]
    waiting = [
        await process.reserve([NOTES], 1000, CallPosition(process.clock.now() - ago))
        for process, ago in reversed(arrivals)
    ]
    order = []
    while waiting:
        clock.at += ASK_SECONDS
        gone = [reservation for reservation in waiting if await reservation.confirm() <= 0]
        order += [processes.index(reservation.store) for reservation in gone]
        waiting = [reservation for reservation in waiting if reservation not in gone]

    assert [0, 1, 0, 1] == order


@requirement("common-76")
async def test_others_continue_within_a_second_of_a_process_that_dies(
    processes: Sequence[ValkeyCounters], clock: StoreClock
) -> None:
    alive, dead = processes
    await alive.reserve([NOTES], 0)
    for _ in range(20):
        await dead.reserve([NOTES], 1000)
    waiting = await alive.reserve([NOTES], 1000)
    died_at = clock.at
    clock.at += SILENT_SECONDS - ASK_SECONDS
    before = await waiting.confirm()
    while await waiting.confirm() > 0:
        clock.at += ASK_SECONDS

    assert before > 19
    assert clock.at - died_at <= 1.0 + ASK_SECONDS


async def test_a_process_that_was_silent_returns_to_its_places(
    processes: Sequence[ValkeyCounters], clock: StoreClock
) -> None:
    steady, paused = processes
    await steady.reserve([NOTES], 0)
    early = [await paused.reserve([NOTES], 1000) for _ in range(3)]
    late = [await steady.reserve([NOTES], 1000) for _ in range(3)]
    clock.at += 0.9
    await late[0].confirm()
    await early[0].confirm()
    # The others of the process learn that they have to register again.
    woken = [reservation.waiter.woken.is_set() for reservation in early if reservation.waiter]
    await attempt(early[1:])
    clock.at += 0.1

    assert [False, True, True] == woken
    assert (0, 1) == (await attempt(late), await attempt(early))


async def test_a_waiting_request_costs_one_query_per_attempt(
    processes: Sequence[ValkeyCounters], valkey_of_tests: Server
) -> None:
    one, _ = processes
    valkey_of_tests.client.config_resetstat()
    immediate = await one.reserve([NOTES], 0)
    waiting = await one.reserve([NOTES], 1000)
    await waiting.confirm()
    queries: Any = valkey_of_tests.client.info("commandstats")

    assert immediate.wait == 0
    assert 3 == queries["cmdstat_evalsha"]["calls"]


def test_the_script_has_the_same_constants() -> None:
    assert f"local SILENT = {SILENT_SECONDS} * 1000000\n" in COUNTING
