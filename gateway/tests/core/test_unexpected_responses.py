"""Unexpected responses, counted for operators."""

import pytest

from connector_gateway.core.history.unexpected_responses import MAX_PATHS, UnexpectedResponses
from connector_gateway.kit.errors import GatewayError, OutcomeUnknown, PageNotFound, UpstreamUnexpected


def unexpected(*paths: str) -> UpstreamUnexpected:
    return UpstreamUnexpected("Unknown.", *({"place": path} for path in paths))


def counted(*errors: GatewayError) -> UnexpectedResponses:
    answers = UnexpectedResponses()
    for error in errors:
        answers.count("notes", error)
    return answers


@pytest.mark.parametrize(
    ("error", "path"),
    [
        (unexpected("results[3].properties"), "results[].properties"),
        (unexpected("[0].a[12][7]"), "[].a[][]"),
        (unexpected(), ""),
        (OutcomeUnknown("Unknown.", {"place": "id"}, doubt="garbled"), "id"),
    ],
)
def test_a_response_is_counted_by_its_path_without_indexes(error: GatewayError, path: str) -> None:
    assert {("notes", path): 2} == counted(error, error).counts


def test_other_errors_are_not_counted() -> None:
    assert {} == counted(PageNotFound("There is none.", {"parameter": "page_id"})).counts


def test_paths_after_the_first_hundred_are_counted_together() -> None:
    errors = [unexpected(f"field_{number}") for number in range(MAX_PATHS + 5)]
    answers = counted(*errors, errors[0])

    assert (2, 5) == (answers.counts["notes", "field_0"], answers.counts["notes", "other"])
    assert MAX_PATHS + 1 == len(answers.counts)
