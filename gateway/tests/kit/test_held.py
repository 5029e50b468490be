"""What calls hold of large answers, counted together."""

import pytest

from connector_gateway.kit.errors import Overloaded
from connector_gateway.kit.upstream.memory_budget import MemoryBudget, MemoryReservation, WriteResponseMeter


def test_a_reservation_beyond_the_total_is_rejected_with_retry_after() -> None:
    total = MemoryBudget(100)
    first, second = MemoryReservation(total), MemoryReservation(total)
    first.reserve(60)

    with pytest.raises(Overloaded) as error:
        second.reserve(41)
    assert 2 == error.value.retry_after


def test_the_end_of_a_call_releases_its_reservation() -> None:
    total = MemoryBudget(100)
    with MemoryReservation(total) as first:
        first.reserve(60)
    second = MemoryReservation(total)

    second.reserve(100)

    with pytest.raises(Overloaded):
        second.reserve(1)


def test_the_largest_of_consecutive_responses_counts() -> None:
    total = MemoryBudget(100)
    reservation = MemoryReservation(total)

    reservation.count_response(30)
    reservation.count_response(70)
    reservation.count_response(50)
    total.reserve(30)

    with pytest.raises(Overloaded):
        total.reserve(1)


def test_a_rejected_call_reserves_nothing_more() -> None:
    total = MemoryBudget(100)
    with MemoryReservation(total) as reservation:
        reservation.reserve(80)
        with pytest.raises(Overloaded):
            reservation.reserve(30)

    total.reserve(100)

    with pytest.raises(Overloaded):
        total.reserve(1)


def test_a_write_response_counts_and_is_accepted() -> None:
    total = MemoryBudget(100)
    with MemoryReservation(total) as reservation:
        WriteResponseMeter(reservation).count_response(150)
        with pytest.raises(Overloaded):
            MemoryReservation(total).reserve(1)

    MemoryReservation(total).reserve(100)


async def test_answers_to_writes_are_read_one_at_a_time_with_the_others_of_the_call() -> None:
    reservation = MemoryReservation(MemoryBudget(100))

    assert WriteResponseMeter(reservation).large_response is reservation.large_response
