"""The memory that large responses occupy, counted over all calls."""

import pytest

from connector_gateway.kit.errors import Overloaded
from connector_gateway.kit.upstream.memory_budget import MemoryBudget, MemoryReservation, WriteResponseMeter


def test_a_reservation_above_the_budget_is_rejected_with_retry_after() -> None:
    budget = MemoryBudget(100)
    first, second = MemoryReservation(budget), MemoryReservation(budget)
    first.reserve(60)

    with pytest.raises(Overloaded) as error:
        second.reserve(41)
    assert 2 == error.value.retry_after


def test_the_end_of_a_call_releases_its_reservation() -> None:
    budget = MemoryBudget(100)
    with MemoryReservation(budget) as first:
        first.reserve(60)
    second = MemoryReservation(budget)

    second.reserve(100)

    with pytest.raises(Overloaded):
        second.reserve(1)


def test_the_largest_of_consecutive_responses_counts() -> None:
    budget = MemoryBudget(100)
    reservation = MemoryReservation(budget)

    reservation.count_response(30)
    reservation.count_response(70)
    reservation.count_response(50)
    budget.reserve(30)

    with pytest.raises(Overloaded):
        budget.reserve(1)


def test_a_rejected_call_reserves_nothing_more() -> None:
    budget = MemoryBudget(100)
    with MemoryReservation(budget) as reservation:
        reservation.reserve(80)
        with pytest.raises(Overloaded):
            reservation.reserve(30)

    budget.reserve(100)

    with pytest.raises(Overloaded):
        budget.reserve(1)


def test_a_write_response_counts_and_is_accepted() -> None:
    budget = MemoryBudget(100)
    with MemoryReservation(budget) as reservation:
        WriteResponseMeter(reservation).count_response(150)
        with pytest.raises(Overloaded):
            MemoryReservation(budget).reserve(1)

    MemoryReservation(budget).reserve(100)


async def test_responses_to_writes_are_read_one_at_a_time_with_others_of_the_call() -> None:
    reservation = MemoryReservation(MemoryBudget(100))

    assert WriteResponseMeter(reservation).large_response is reservation.large_response
