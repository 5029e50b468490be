"""A burst of calls to several processes that share a store, by a clock that advances when all of them wait."""

import asyncio
import heapq
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any

import pytest

from connector_gateway.storage.shared.budget_queue import ASK_SECONDS
from connector_gateway.storage.shared.local_counters import LocalCounters
from connector_gateway.storage.shared.unavailable_store import FallbackCounters
from connector_gateway.storage.shared.valkey import ValkeyCounters
from gateway.tests.core.pacing.paced_vendor import BURST, QUEUE_SECONDS, Call, PacedVendor
from harness.requirement import requirement
from harness.valkey import Server, StoreClock, store_of

AT_ONCE_SECONDS = 0.1
"""The time in which a rejection counts as immediate."""

LONGEST_CHAIN = 40
"""More iterations of the loop than any task needs from one command to the next."""


class SteppedClock(StoreClock):
    """A clock on which tasks sleep until ``advance``."""

    def __init__(self, server: Server) -> None:
        super().__init__(server)
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._numbers = count()

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.at + max(0.0, seconds), next(self._numbers), future))
        await future

    def advance(self) -> None:
        """Advance to the next task that wakes."""
        while self._sleepers:
            at, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                self.at = max(self.at, at)
                future.set_result(None)
                return


async def settle(stores: list[ValkeyCounters]) -> None:
    """Let all tasks run until they wait for the clock."""
    idle = 0
    while idle < LONGEST_CHAIN:
        await asyncio.sleep(0)
        pending = any(store._pipeline._sent or store._pipeline._unsent for store in stores)
        idle = 0 if pending else idle + 1


class SkewedClock:
    """The clock of a process, which differs from that of the store by *seconds*."""

    def __init__(self, clock: SteppedClock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds

    def now(self) -> float:
        return self._clock.now() + self._seconds

    async def sleep(self, seconds: float) -> None:
        await self._clock.sleep(seconds)


Scenario = Callable[[PacedVendor], Coroutine[Any, Any, None]]


async def run_processes(server: Server, skews: Sequence[float], scenario: Scenario, **options: Any) -> PacedVendor:
    """Run *scenario* with a vendor and a process for each of *skews*, whose clock differs by so many seconds."""
    clock = SteppedClock(server)
    clocks = [SkewedClock(clock, seconds) for seconds in skews]
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(store_of(server, clock))
        # The store's own time passes faster than that of a busy test, and would expire the counts.
        script = first.script.replace("'PEXPIRE', key, rest", "'PEXPIRE', key, 100000 + rest")
        stores = [
            ValkeyCounters(server.url, own, 20, script=script, connectors=["notes"], prefix=first.prefix)
            for own in clocks
        ]
        for store in stores:
            await stack.enter_async_context(store)
        processes = [
            FallbackCounters(store, LocalCounters(own), own, lambda: len(stores))
            for store, own in zip(stores, clocks, strict=True)
        ]
        vendor = PacedVendor(clock=clock, processes=processes, clocks=clocks, **options)
        calls = asyncio.ensure_future(scenario(vendor))
        while not calls.done():
            await settle(stores)
            clock.advance()
        await calls
    return vendor


@requirement("common-77", "common-194")
@pytest.mark.parametrize("count_of_processes", [1, 2, 4])
async def test_a_burst_is_served_by_several_processes_as_by_one(
    valkey_of_tests: Server, count_of_processes: int
) -> None:
    vendor = await run_processes(
        valkey_of_tests, [0] * count_of_processes, lambda vendor: vendor.start_calls(*BURST), is_cold=True
    )

    vendor.check_burst(len(BURST))


@requirement("common-77")
@pytest.mark.parametrize("count_of_processes", [1, 4])
async def test_calls_that_wait_for_look_ups_of_others_have_a_place_or_are_rejected_at_once(
    valkey_of_tests: Server, count_of_processes: int
) -> None:
    vendor = await run_processes(
        valkey_of_tests,
        [0] * count_of_processes,
        lambda vendor: vendor.start_calls(*BURST),
        is_cold=True,
        shares_lookups=True,
    )

    vendor.check_waits(len(BURST))
    assert [] == find_overtaken(vendor)


@dataclass
class Traffic:
    """Random calls, callers that leave, and blocks."""

    seed: int
    blocks: list[tuple[float, float]] = field(default_factory=list)
    """The times at which the vendor blocks the budget and unblocks it."""

    left: set[int] = field(default_factory=set)
    """The numbers of calls whose callers left."""

    async def run(self, vendor: PacedVendor) -> None:
        """Send calls for 40 seconds, on average more than the vendor allows."""
        random, started_at = Random(self.seed), vendor.clock.now()
        tasks = [asyncio.ensure_future(self._block(vendor, random.uniform(10, 30), random.uniform(2, 8)))]
        while vendor.clock.now() < started_at + 40:
            for _ in range(random.choice([1, 1, 1, 2, 30] if random.random() < 0.2 else [1])):
                leaves_after = random.uniform(0, 20) if random.random() < 0.1 else None
                tasks.append(asyncio.ensure_future(self._call(vendor, random.choice([1, 1, 2, 4]), leaves_after)))
                await vendor.clock.sleep(0.002)
            await vendor.clock.sleep(random.expovariate(1.5))
        await asyncio.gather(*tasks)

    async def _block(self, vendor: PacedVendor, after: float, seconds: float) -> None:
        await vendor.clock.sleep(after)
        self.blocks.append((vendor.clock.now(), vendor.clock.now() + seconds))
        await vendor.block(seconds)

    async def _call(self, vendor: PacedVendor, requests: int, leaves_after: float | None) -> None:
        number, task = len(vendor.calls), asyncio.ensure_future(vendor.call(requests))
        if leaves_after is not None:
            await vendor.clock.sleep(leaves_after)
            if task.cancel():
                self.left.add(number)
        with suppress(asyncio.CancelledError):
            await task


def find_overtaken(vendor: PacedVendor) -> list[tuple[int, int]]:
    """Return the calls with a request that waited while one of a later call was sent, each with that call."""
    return [
        (earlier.number, later.number)
        for later in vendor.calls
        for _, later_sent_at in later.requested
        for earlier in vendor.calls[: later.number]
        for queued_at, sent_at in earlier.requested
        # Processes attempt their first request this often.
        if queued_at + ASK_SECONDS < later_sent_at < sent_at - ASK_SECONDS
    ]


@requirement("common-76", "common-77", "common-194")
@pytest.mark.parametrize("seed", range(3))
async def test_calls_of_processes_with_wrong_clocks_are_served_in_order_within_the_bound(
    valkey_of_tests: Server, seed: int
) -> None:
    traffic = Traffic(seed)
    vendor = await run_processes(valkey_of_tests, [0, -40, 7200], traffic.run, is_cold=True, shares_lookups=True)
    staying = [call for call in vendor.calls if call.number not in traffic.left]
    served = [call for call in staying if call.retry_after is None]
    rejected = [call for call in staying if call.retry_after is not None]

    assert [] == find_overtaken(vendor)
    assert [] == [call for call in served if call.seconds > QUEUE_SECONDS + 1.1 * (call.requests - 1) + 1]
    # A block can leave a call that was accepted too little time, until the bound.
    blocked = [call for call in rejected if any(call.arrived_at < start < call.ended_at for start, _ in traffic.blocks)]
    assert [] == [call for call in blocked if call.seconds > QUEUE_SECONDS]
    assert [] == [call for call in rejected if call.seconds > AT_ONCE_SECONDS and call not in blocked]
    at_once = [call for call in rejected if call not in blocked]
    estimates = [((call.retry_after or 0) / find_true_wait(vendor, traffic, call)) for call in at_once]
    assert len(at_once) > 10
    assert [] == [ratio for ratio in estimates if not 0.8 <= ratio <= 1.2]
    times = [at for _, at in vendor.sent]
    assert all(fourth - at >= 1 for at, fourth in zip(times, times[3:], strict=False))


def find_true_wait(vendor: PacedVendor, traffic: Traffic, call: Call) -> float:
    """Return how long the calls before a rejected one would have taken, without leaving and later blocks."""
    # Those that waited for a look-up at first are rejected a moment later, with the queue of that time ahead.
    ahead = [
        one
        for one in vendor.calls
        if one.arrived_at < call.ended_at < one.ended_at and (one.retry_after is None or one.seconds > AT_ONCE_SECONDS)
    ]
    until = max(sent_at for one in ahead for _, sent_at in one.requested)
    unsent = sum(one.requests - len(one.requested) for one in ahead)
    blocked = sum(max(0.0, min(end, until) - start) for start, end in traffic.blocks if start > call.arrived_at)
    return until - call.ended_at - blocked + unsent / vendor.budget.limit
