"""Guesses at the operator token."""

import asyncio

import pytest

from connector_gateway.core.guesses import FREE, MAX_ADDRESSES, MAX_WAITING, PAUSE_SECONDS, Guesses
from connector_gateway.kit.errors import GatewayError, InvalidApiKey, RateLimited
from harness.clocks import HandClock, LoopClock, in_no_time
from harness.requirement import requirement

HERE, THERE = "192.0.2.1", "192.0.2.2"


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def guesses(clock: HandClock) -> Guesses:
    return Guesses(clock)


async def miss(guesses: Guesses, address: str = HERE) -> type[GatewayError]:
    """How a wrong token is refused."""
    try:
        async with guesses.slowed(address):
            raise InvalidApiKey("wrong")
    except GatewayError as error:
        return type(error)


async def missed(guesses: Guesses, times: int, address: str = HERE) -> None:
    for _ in range(times):
        await miss(guesses, address)


async def test_a_few_wrong_tokens_cost_nothing(guesses: Guesses, clock: HandClock) -> None:
    begun = clock.at
    await missed(guesses, FREE)

    assert begun == clock.at


@requirement("doors:operator-guesses")
async def test_each_further_one_takes_its_time(guesses: Guesses, clock: HandClock) -> None:
    begun = clock.at
    await missed(guesses, FREE + 2)

    assert begun + 2 * PAUSE_SECONDS == clock.at


async def test_what_was_free_comes_back_with_time(guesses: Guesses, clock: HandClock) -> None:
    await missed(guesses, FREE)
    clock.at += FREE / 2
    begun = clock.at
    await missed(guesses, FREE // 2)

    assert begun == clock.at


async def test_each_address_waits_for_itself(guesses: Guesses, clock: HandClock) -> None:
    await missed(guesses, FREE)
    begun = clock.at
    await miss(guesses, THERE)

    assert begun == clock.at


async def test_a_right_token_waits_for_nothing(guesses: Guesses, clock: HandClock) -> None:
    await missed(guesses, FREE)
    begun = clock.at
    async with guesses.slowed(HERE):
        pass

    assert begun == clock.at


@requirement("doors:operator-guesses")
def test_only_so_many_wait_at_once() -> None:
    async def guess() -> list[type[GatewayError]]:
        guesses = Guesses(LoopClock())
        await missed(guesses, FREE)
        at_once = await asyncio.gather(*(miss(guesses) for _ in range(MAX_WAITING)), _afterwards(guesses))
        return [*at_once, await miss(guesses)]

    assert [InvalidApiKey] * MAX_WAITING + [RateLimited, InvalidApiKey] == in_no_time(guess())


async def _afterwards(guesses: Guesses) -> type[GatewayError]:
    await asyncio.sleep(PAUSE_SECONDS / 2)
    return await miss(guesses)


async def test_only_so_many_addresses_are_remembered(guesses: Guesses) -> None:
    for number in range(MAX_ADDRESSES + 10):
        await miss(guesses, str(number))

    assert MAX_ADDRESSES == len(guesses._guessing)
