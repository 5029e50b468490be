"""What calls hold of large answers, counted together."""

import pytest

from connector_gateway.kit.errors import Overloaded
from connector_gateway.kit.upstream.memory_budget import MemoryBudget, MemoryReservation, WriteResponseMeter


def test_what_is_kept_beyond_the_total_is_refused_with_a_time() -> None:
    total = MemoryBudget(100)
    first, second = MemoryReservation(total), MemoryReservation(total)
    first.reserve(60)

    with pytest.raises(Overloaded) as refused:
        second.reserve(41)
    assert 2 == refused.value.retry_after


def test_the_end_of_a_call_gives_back_what_it_kept() -> None:
    total = MemoryBudget(100)
    with MemoryReservation(total) as first:
        first.reserve(60)
    second = MemoryReservation(total)

    second.reserve(100)

    with pytest.raises(Overloaded):
        second.reserve(1)


def test_of_answers_that_were_read_one_after_the_other_the_largest_counts() -> None:
    total = MemoryBudget(100)
    holding = MemoryReservation(total)

    holding.count_response(30)
    holding.count_response(70)
    holding.count_response(50)
    total.reserve(30)

    with pytest.raises(Overloaded):
        total.reserve(1)


def test_a_refused_call_has_kept_nothing_more() -> None:
    total = MemoryBudget(100)
    with MemoryReservation(total) as holding:
        holding.reserve(80)
        with pytest.raises(Overloaded):
            holding.reserve(30)

    total.reserve(100)

    with pytest.raises(Overloaded):
        total.reserve(1)


def test_the_answer_to_a_write_counts_and_is_not_refused() -> None:
    total = MemoryBudget(100)
    with MemoryReservation(total) as holding:
        WriteResponseMeter(holding).count_response(150)
        with pytest.raises(Overloaded):
            MemoryReservation(total).reserve(1)

    MemoryReservation(total).reserve(100)


async def test_answers_to_writes_are_read_one_at_a_time_with_the_others_of_the_call() -> None:
    holding = MemoryReservation(MemoryBudget(100))

    assert WriteResponseMeter(holding).large_response is holding.large_response
