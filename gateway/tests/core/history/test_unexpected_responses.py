"""Unexpected responses, counted for operators."""

import pytest

from connector_gateway.core.history.unexpected_responses import MAX_PATHS, UnexpectedResponses
from connector_gateway.kit.errors import GatewayError, OutcomeUnknown, PageNotFound, UpstreamUnexpected


def unexpected_error(*paths: str) -> UpstreamUnexpected:
    return UpstreamUnexpected("Unknown.", *({"place": path} for path in paths))


def count_errors(*errors: GatewayError) -> UnexpectedResponses:
    responses = UnexpectedResponses()
    for error in errors:
        responses.count("notes", error)
    return responses


@pytest.mark.parametrize(
    ("error", "path"),
    [
        (unexpected_error("results[3].properties"), "results[].properties"),
        (unexpected_error("[0].a[12][7]"), "[].a[][]"),
        (unexpected_error(), ""),
        (OutcomeUnknown("Unknown.", {"place": "id"}, doubt="garbled"), "id"),
    ],
)
def test_a_response_is_counted_by_its_path_without_indexes(error: GatewayError, path: str) -> None:
    assert {("notes", path): 2} == count_errors(error, error).counts


def test_other_errors_are_not_counted() -> None:
    assert {} == count_errors(PageNotFound("There is none.", {"parameter": "page_id"})).counts


def test_paths_after_the_first_hundred_are_counted_together() -> None:
    errors = [unexpected_error(f"field_{number}") for number in range(MAX_PATHS + 5)]
    responses = count_errors(*errors, errors[0])

    assert (2, 5) == (responses.counts["notes", "field_0"], responses.counts["notes", "other"])
    assert MAX_PATHS + 1 == len(responses.counts)
