"""What is particular to counting in the memory of one process: idle ledgers cost nothing, locks need no lease."""

import asyncio
import tracemalloc
from itertools import product

import pytest

from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared import memory as in_memory
from connector_gateway.storage.shared.interface import Take
from connector_gateway.storage.shared.memory import InMemory
from harness.clocks import HandClock, LoopClock, in_no_time
from harness.requirement import requirement

MINUTE = Budget(3, 60)


def take(name: str = "key:1", units: float = 1) -> Take:
    return Take(name, MINUTE, units)


def test_what_is_exclusive_is_held_by_one_at_a_time_in_order() -> None:
    async def run() -> list[str]:
        memory, seen = InMemory(LoopClock()), []

        async def hold(name: str) -> None:
            async with memory.exclusive("page"):
                seen.append(f"{name} in")
                await asyncio.sleep(1)
                seen.append(f"{name} out")

        await asyncio.gather(hold("a"), hold("b"), hold("c"))
        assert {} == memory._locks._queues
        return seen

    assert ["a in", "a out", "b in", "b out", "c in", "c out"] == in_no_time(run())


def test_other_names_do_not_wait() -> None:
    async def run() -> float:
        memory = InMemory(LoopClock())

        async def hold(name: str) -> None:
            async with memory.exclusive(name):
                await asyncio.sleep(1)

        await asyncio.gather(hold("a"), hold("b"))
        return asyncio.get_running_loop().time()

    assert 1 == in_no_time(run())


async def test_whoever_fails_inside_lets_go(clock: HandClock) -> None:
    memory = InMemory(clock)
    with pytest.raises(LookupError):
        async with memory.exclusive("page"):
            raise LookupError
    async with memory.exclusive("page"):
        pass

    assert {} == memory._locks._queues


async def test_ledgers_that_say_nothing_any_more_are_dropped(clock: HandClock) -> None:
    memory = InMemory(clock)
    for number in range(10):
        await memory.spend(take(f"old:{number}"))
    clock.at += 30
    await memory.spend(take("key:1"))
    clock.at += 31
    for number in range(15):
        await memory.peek(take(f"new:{number}"))

    assert not [name for name in memory._ledgers if name.startswith("old")]
    assert 2 == (await memory.peek(take("key:1"))).remaining


@requirement("common-157")
async def test_a_key_and_an_account_that_were_idle_for_a_minute_cost_less_than_a_kilobyte(clock: HandClock) -> None:
    memory = InMemory(clock)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    await use(memory, clock, 40)
    clock.at += 60
    await memory.tidy()
    await memory.tidy()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert after - before <= 80 * 1024


async def use(memory: InMemory, clock: HandClock, number: int) -> None:
    """Use so many keys, and as many accounts, 1,500 times each within a minute."""
    for name, _ in product(range(number), range(1500)):
        clock.at += 60 / (number * 1500)
        await memory.spend(Take(f"key:{name}", Budget(1_000_000, 60)))
        (await memory.reserve([Take(f"upstream:{name}", Budget(100_000, 10))], 0)).answered()


async def test_what_was_learned_of_an_account_outlasts_idleness_while_few_are_known(
    clock: HandClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = InMemory(clock)
    (await memory.reserve([take("account:1")], 0)).answered()
    clock.at += 61
    await memory.tidy()
    await memory.tidy()
    few = list(memory._ledgers)
    monkeypatch.setattr(in_memory, "MOST_LEARNED", 0)
    await memory.tidy()
    await memory.tidy()

    assert (["account:1"], []) == (few, list(memory._ledgers))
