"""Concurrency slots: the number of concurrent requests per account."""

from contextlib import AsyncExitStack

import pytest

from connector_gateway.core.calls.concurrency import AccountSlotPool, AccountSlots
from connector_gateway.kit.errors import UpstreamRateLimited


async def test_a_request_without_a_slot_in_time_is_rejected_and_occupies_none() -> None:
    slots = AccountSlotPool(1, lambda: 1).for_account("nora")
    async with slots.slot(1):
        with pytest.raises(UpstreamRateLimited):
            async with slots.slot(0):
                pass

    async with slots.slot(0):
        pass


async def test_slots_are_per_account_and_shared_by_its_calls() -> None:
    slots = AccountSlotPool(1, lambda: 1)
    nora, again, ben = slots.for_account("nora"), slots.for_account("nora"), slots.for_account("ben")

    assert nora is again
    assert nora is not ben


async def occupy_slot(stack: AsyncExitStack, slots: AccountSlots) -> bool:
    """Return True if a slot was free. It is occupied until *stack* ends."""
    try:
        await stack.enter_async_context(slots.slot(0))
    except UpstreamRateLimited:
        return False
    return True


async def test_two_large_responses_are_read_concurrently_alongside_others() -> None:
    nora = AccountSlotPool(8, lambda: 1).for_account("nora")
    async with nora.large_slot(0), nora.large_slot(0), nora.slot(0):
        with pytest.raises(UpstreamRateLimited):
            async with nora.large_slot(0):
                pass

    async with nora.large_slot(0):
        pass


@pytest.mark.parametrize(("processes", "slots"), [(1, 8), (2, 4), (3, 2), (20, 1)])
async def test_slots_are_divided_among_processes(processes: int, slots: int) -> None:
    nora = AccountSlotPool(8, lambda: processes).for_account("nora")
    async with AsyncExitStack() as stack:
        tried = [await occupy_slot(stack, nora) for _ in range(9)]

    assert slots == sum(tried)


async def test_slots_are_redistributed_when_the_number_of_processes_changes() -> None:
    living = [1]
    slots = AccountSlotPool(8, lambda: living[0])
    before = slots.for_account("nora")
    living[0] = 2

    assert before is not slots.for_account("nora")
