"""Malformed responses to polls, and malformed deliveries, lose no events and cause no internal errors."""

from collections.abc import Iterator

import pytest

from hostile.event_trials import EventTrials, run_event_trials


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EventTrials]:
    with run_event_trials(tmp_path_factory.mktemp("watching")) as behind_the_proxy:
        yield behind_the_proxy


@pytest.mark.parametrize("connector", ["notes", "chat"])
def test_malformed_poll_responses_lose_no_later_events(watched: EventTrials, connector: str) -> None:
    violations = watched.poll_violations(connector, range(12))

    assert [] == violations


@pytest.mark.parametrize("connector", ["notes", "chat"])
def test_malformed_deliveries_cause_no_internal_error(watched: EventTrials, connector: str) -> None:
    violations = watched.delivery_violations(connector, range(12))

    assert [] == violations
