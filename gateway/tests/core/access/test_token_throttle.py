"""The throttle of wrong tokens."""

import asyncio
from collections import Counter

import pytest

from connector_gateway.core.access.wrong_token_throttle import (
    BURST,
    DELAY_SECONDS,
    MAX_ADDRESSES,
    MAX_DELAYED,
    MAX_DELAYED_PER_ADDRESS,
    TokenThrottle,
)
from connector_gateway.kit.errors import RateLimited
from harness.clocks import LoopClock, ManualClock, run_in_virtual_time
from harness.requirement import requirement

HERE, THERE = "192.0.2.1", "192.0.2.2"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def throttle(clock: ManualClock) -> TokenThrottle:
    return TokenThrottle(clock)


async def send_wrong_tokens(throttle: TokenThrottle, times: int, address: str = HERE) -> None:
    for _ in range(times):
        await throttle.delay(address)


async def test_a_burst_of_wrong_tokens_is_not_delayed(throttle: TokenThrottle, clock: ManualClock) -> None:
    began = clock.at
    await send_wrong_tokens(throttle, BURST)

    assert began == clock.at


@requirement("limits-2")
async def test_responses_are_delayed_once_the_burst_is_used_up(throttle: TokenThrottle, clock: ManualClock) -> None:
    began = clock.at
    await send_wrong_tokens(throttle, BURST + 2)

    assert began + 2 * DELAY_SECONDS == clock.at


async def test_the_burst_is_restored_over_time(throttle: TokenThrottle, clock: ManualClock) -> None:
    await send_wrong_tokens(throttle, BURST)
    clock.at += BURST / 2
    began = clock.at
    await send_wrong_tokens(throttle, BURST // 2)

    assert began == clock.at


async def test_each_address_is_throttled_separately(throttle: TokenThrottle, clock: ManualClock) -> None:
    await send_wrong_tokens(throttle, BURST)
    began = clock.at
    await throttle.delay(THERE)

    assert began == clock.at


async def outcomes(throttle: TokenThrottle, addresses: list[str]) -> Counter[str]:
    """Return the outcomes of concurrent wrong tokens, one from each of *addresses*."""
    ended = await asyncio.gather(*map(throttle.delay, addresses), return_exceptions=True)
    return Counter(type(one).__name__ for one in ended)


@requirement("limits-2")
def test_excess_wrong_tokens_are_rejected_without_a_trace() -> None:
    async def send_burst() -> list[Counter[str]]:
        throttle = TokenThrottle(LoopClock())
        await send_wrong_tokens(throttle, BURST)
        return [await outcomes(throttle, [HERE] * (MAX_DELAYED_PER_ADDRESS + 3)), await outcomes(throttle, [HERE])]

    expected = {"NoneType": MAX_DELAYED_PER_ADDRESS, "RateLimited": 3}

    assert [expected, {"NoneType": 1}] == run_in_virtual_time(send_burst())


@requirement("limits-3")
def test_ten_thousand_wrong_tokens_delay_at_most_a_hundred_responses() -> None:
    async def send_burst() -> Counter[str]:
        throttle = TokenThrottle(LoopClock())
        return await outcomes(throttle, [f"198.51.100.{number % 100}" for number in range(10_000)])

    answered = 100 * BURST + MAX_DELAYED

    assert {"NoneType": answered, "RateLimited": 10_000 - answered} == run_in_virtual_time(send_burst())


async def test_the_remedy_of_the_error_is_a_correct_token(throttle: TokenThrottle) -> None:
    throttle._delayed = MAX_DELAYED
    await send_wrong_tokens(throttle, BURST)

    with pytest.raises(RateLimited, match="The token is wrong") as raised:
        await throttle.delay(HERE)

    assert raised.value.remedy.startswith("Send a correct token, which is accepted immediately")
    assert 1 == raised.value.retry_after


@requirement("limits-3")
async def test_the_number_of_tracked_addresses_is_limited(throttle: TokenThrottle) -> None:
    for number in range(MAX_ADDRESSES + 10):
        await throttle.delay(str(number))

    assert MAX_ADDRESSES == len(throttle._failures)
