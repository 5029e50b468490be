"""What calls hold of large answers, counted together."""

import pytest

from connector_gateway.kit.errors import Overloaded
from connector_gateway.kit.upstream.memory_budget import HeldBytes, Holding, Written


def test_what_is_kept_beyond_the_total_is_refused_with_a_time() -> None:
    total = HeldBytes(100)
    first, second = Holding(total), Holding(total)
    first.keep(60)

    with pytest.raises(Overloaded) as refused:
        second.keep(41)
    assert 2 == refused.value.retry_after


def test_the_end_of_a_call_gives_back_what_it_kept() -> None:
    total = HeldBytes(100)
    with Holding(total) as first:
        first.keep(60)
    second = Holding(total)

    second.keep(100)

    with pytest.raises(Overloaded):
        second.keep(1)


def test_of_answers_that_were_read_one_after_the_other_the_largest_counts() -> None:
    total = HeldBytes(100)
    holding = Holding(total)

    holding.keep_largest(30)
    holding.keep_largest(70)
    holding.keep_largest(50)
    total.take(30)

    with pytest.raises(Overloaded):
        total.take(1)


def test_a_refused_call_has_kept_nothing_more() -> None:
    total = HeldBytes(100)
    with Holding(total) as holding:
        holding.keep(80)
        with pytest.raises(Overloaded):
            holding.keep(30)

    total.take(100)

    with pytest.raises(Overloaded):
        total.take(1)


def test_the_answer_to_a_write_counts_and_is_not_refused() -> None:
    total = HeldBytes(100)
    with Holding(total) as holding:
        Written(holding).keep_largest(150)
        with pytest.raises(Overloaded):
            Holding(total).keep(1)

    Holding(total).keep(100)


async def test_answers_to_writes_are_read_one_at_a_time_with_the_others_of_the_call() -> None:
    holding = Holding(HeldBytes(100))

    assert Written(holding).turn is holding.turn
