"""Counting in the memory of one process: idle logs are dropped, locks need no lease."""

import asyncio
import tracemalloc
from itertools import product
from pathlib import Path

import pytest

from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared import local_counters as in_memory
from connector_gateway.storage.shared.interface import ResolvedCharge
from connector_gateway.storage.shared.local_counters import LocalCounters
from harness.clocks import LoopClock, ManualClock, run_in_virtual_time
from harness.requirement import requirement

MINUTE = Budget(3, 60)


def charge(name: str = "key:1", units: float = 1) -> ResolvedCharge:
    return ResolvedCharge(name, MINUTE, units)


def test_an_exclusive_lock_is_acquired_one_at_a_time_in_order() -> None:
    async def run() -> list[str]:
        memory, seen = LocalCounters(LoopClock()), []

        async def hold(name: str) -> None:
            async with memory.lock("page"):
                seen.append(f"{name} in")
                await asyncio.sleep(1)
                seen.append(f"{name} out")

        await asyncio.gather(hold("a"), hold("b"), hold("c"))
        assert {} == memory._locks._queues
        return seen

    assert ["a in", "a out", "b in", "b out", "c in", "c out"] == run_in_virtual_time(run())


def test_locks_with_other_names_do_not_wait() -> None:
    async def run() -> float:
        memory = LocalCounters(LoopClock())

        async def hold(name: str) -> None:
            async with memory.lock(name):
                await asyncio.sleep(1)

        await asyncio.gather(hold("a"), hold("b"))
        return asyncio.get_running_loop().time()

    assert 1 == run_in_virtual_time(run())


async def test_a_failure_inside_releases_the_lock(clock: ManualClock) -> None:
    memory = LocalCounters(clock)
    with pytest.raises(LookupError):
        async with memory.lock("page"):
            raise LookupError
    async with memory.lock("page"):
        pass

    assert {} == memory._locks._queues


async def test_idle_logs_are_dropped(clock: ManualClock) -> None:
    memory = LocalCounters(clock)
    for number in range(10):
        await memory.consume(charge(f"old:{number}"))
    clock.at += 30
    await memory.consume(charge("key:1"))
    clock.at += 31
    for number in range(15):
        await memory.peek(charge(f"new:{number}"))

    assert not [name for name in memory._logs if name.startswith("old")]
    assert 2 == (await memory.peek(charge("key:1"))).remaining


@requirement("common-157")
async def test_an_idle_key_and_account_use_less_than_a_kilobyte(clock: ManualClock) -> None:
    memory = LocalCounters(clock)
    tracemalloc.start()
    await use_accounts(memory, clock, 40)
    clock.at += 60
    await memory.evict_idle()
    await memory.evict_idle()
    own_files = tracemalloc.Filter(True, str(Path(in_memory.__file__).parent / "*"))
    allocated = tracemalloc.take_snapshot().filter_traces([own_files]).statistics("filename")
    tracemalloc.stop()

    assert 0 < sum(statistic.size for statistic in allocated) <= 80 * 1024


async def use_accounts(memory: LocalCounters, clock: ManualClock, number: int) -> None:
    """Use *number* keys and accounts 1,500 times each within a minute."""
    for name, _ in product(range(number), range(1500)):
        clock.at += 60 / (number * 1500)
        await memory.consume(ResolvedCharge(f"key:{name}", Budget(1_000_000, 60)))
        (await memory.reserve([ResolvedCharge(f"upstream:{name}", Budget(100_000, 10))], 0)).record_end(responded=True)


async def test_response_times_of_an_idle_account_are_retained_while_few_are_known(
    clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = LocalCounters(clock)
    (await memory.reserve([charge("account:1")], 0)).record_end(responded=True)
    clock.at += 61
    await memory.evict_idle()
    await memory.evict_idle()
    few = list(memory._logs)
    monkeypatch.setattr(in_memory, "MAX_IDLE_LOGS", 0)
    await memory.evict_idle()
    await memory.evict_idle()

    assert (["account:1"], []) == (few, list(memory._logs))


async def test_a_request_without_a_response_counts_until_it_can_no_longer_arrive(clock: ManualClock) -> None:
    memory = LocalCounters(clock)
    reservation = await memory.reserve([charge("account:1", 3)], 0)
    clock.at += 1
    reservation.record_end(responded=False)

    # The window is 60 seconds. The request was sent 1 second ago, and may arrive up to half a window later.
    assert 89 == round((await memory.reserve([charge("account:1")], 100)).wait, 3)
