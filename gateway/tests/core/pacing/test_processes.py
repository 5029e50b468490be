"""A burst of calls to several processes that share a store, by a clock that advances when all of them wait."""

import asyncio
import heapq
from contextlib import AsyncExitStack
from itertools import count

import pytest

from connector_gateway.storage.shared.memory import LocalCounters
from connector_gateway.storage.shared.unavailable_store import FallbackCounters
from connector_gateway.storage.shared.valkey import ValkeyCounters
from gateway.tests.core.pacing.paced_vendor import BURST, PacedVendor
from harness.requirement import requirement
from harness.valkey import Server, StoreClock, store_of

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


@requirement("common-77", "common-194")
@pytest.mark.parametrize("count_of_processes", [2, 4])
async def test_a_burst_is_served_by_several_processes_as_by_one(
    valkey_of_tests: Server, count_of_processes: int
) -> None:
    clock = SteppedClock(valkey_of_tests)
    async with AsyncExitStack() as stack:
        stores = [await stack.enter_async_context(store_of(valkey_of_tests, clock))]
        for _ in range(count_of_processes - 1):
            store = ValkeyCounters(
                valkey_of_tests.url, clock, 20, script=stores[0].script, connectors=["notes"], prefix=stores[0].prefix
            )
            stores.append(await stack.enter_async_context(store))
        processes = [FallbackCounters(store, LocalCounters(clock), clock, lambda: len(stores)) for store in stores]
        vendor = PacedVendor(clock=clock, processes=processes)
        calls = asyncio.ensure_future(vendor.start_calls(*BURST))
        while not calls.done():
            await settle(stores)
            clock.advance()

    vendor.check_burst(len(BURST))
