"""A write is performed once for any status and body from the vendor's edge, and never denied after it was performed."""

from collections.abc import Iterator

import pytest

from hostile.outcome_cases import STATUSES, STEPS, Walk, failures, run_cases, some_cases


@pytest.fixture(scope="module")
def walk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Walk]:
    with run_cases(tmp_path_factory.mktemp("outcomes")) as started:
        yield started


def test_no_response_releases_a_completed_write(walk: Walk) -> None:
    cases = list(some_cases())

    assert set(STATUSES) == {case.status for case in cases}
    assert set(STEPS) == {(case.name, case.method, case.path) for case in cases}
    assert [] == list(failures(walk, cases))
