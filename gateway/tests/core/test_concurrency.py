"""Places: how many requests of one account are under way at the same time."""

from contextlib import AsyncExitStack

import pytest

from connector_gateway.core.calls.concurrency import AccountSlotPool, AccountSlots
from connector_gateway.kit.errors import UpstreamRateLimited


async def test_whoever_finds_no_place_in_time_is_refused_and_holds_none() -> None:
    places = AccountSlotPool(1, lambda: 1).for_account("nora")
    async with places.slot(1):
        with pytest.raises(UpstreamRateLimited):
            async with places.slot(0):
                pass

    async with places.slot(0):
        pass


async def test_accounts_have_places_of_their_own_which_all_their_calls_share() -> None:
    places = AccountSlotPool(1, lambda: 1)
    nora, again, ben = places.for_account("nora"), places.for_account("nora"), places.for_account("ben")

    assert nora is again
    assert nora is not ben


async def had(stack: AsyncExitStack, places: AccountSlots) -> bool:
    """Whether a place was to be had; it is held until *stack* ends."""
    try:
        await stack.enter_async_context(places.slot(0))
    except UpstreamRateLimited:
        return False
    return True


async def test_two_answers_are_read_whole_at_once_and_others_go_on_beside_them() -> None:
    nora = AccountSlotPool(8, lambda: 1).for_account("nora")
    async with nora.large_slot(0), nora.large_slot(0), nora.slot(0):
        with pytest.raises(UpstreamRateLimited):
            async with nora.large_slot(0):
                pass

    async with nora.large_slot(0):
        pass


@pytest.mark.parametrize(("processes", "places"), [(1, 8), (2, 4), (3, 2), (20, 1)])
async def test_processes_have_their_part_of_the_places_each(processes: int, places: int) -> None:
    nora = AccountSlotPool(8, lambda: processes).for_account("nora")
    async with AsyncExitStack() as stack:
        tried = [await had(stack, nora) for _ in range(9)]

    assert places == sum(tried)


async def test_places_are_divided_anew_when_processes_come_or_go() -> None:
    living = [1]
    places = AccountSlotPool(8, lambda: living[0])
    before = places.for_account("nora")
    living[0] = 2

    assert before is not places.for_account("nora")
