"""Undocumented vendor responses are reported as vendor errors, and have no harmful effects."""

from collections.abc import Iterator

import pytest

from connector_gateway.connectors import CONNECTORS
from hostile.call_trials import Hostile, hostile

every_connector = pytest.mark.parametrize("connector", CONNECTORS)


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hostile]:
    with hostile(tmp_path_factory.mktemp("hostile")) as behind_the_proxy:
        yield behind_the_proxy


@every_connector
def test_malformed_responses_cause_no_internal_error(started: Hostile, connector: str) -> None:
    violations = started.violations(connector, range(14))

    assert [] == violations
    assert started.proxy.mangled_answers > 50


@every_connector
def test_a_write_with_a_malformed_response_is_performed_once(started: Hostile, connector: str) -> None:
    doubles = started.doubles(connector, range(16))

    assert [] == doubles


@every_connector
def test_malformed_responses_are_not_cached(started: Hostile, connector: str) -> None:
    spoiled = started.spoiled(connector, range(14))

    assert [] == spoiled
