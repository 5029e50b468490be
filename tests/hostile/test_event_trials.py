"""Polls are answered oddly, and deliveries are odd: nothing is lost by it, and nothing is a fault of ours."""

from collections.abc import Iterator

import pytest

from hostile.event_trials import Watching, watching


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watching]:
    with watching(tmp_path_factory.mktemp("watching")) as behind_the_proxy:
        yield behind_the_proxy


@pytest.mark.parametrize("room", ["notes", "chat"])
def test_no_odd_answer_to_a_poll_is_a_fault_of_ours_or_loses_what_comes_later(watched: Watching, room: str) -> None:
    faults = watched.poll_faults(room, range(12))

    assert [] == faults


@pytest.mark.parametrize("room", ["notes", "chat"])
def test_no_odd_delivery_is_a_fault_of_ours(watched: Watching, room: str) -> None:
    faults = watched.delivery_faults(room, range(12))

    assert [] == faults
