"""Signs of change are counted by place, and logged once a day each."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from structlog.testing import capture_logs

from connector_gateway.connectors.notes import NOTES
from connector_gateway.core.history.vendor_api_change_counts import (
    LOG_SECONDS,
    MAX_PLACES,
    SAMPLE_SECONDS,
    ResponseObserver,
    VendorChanges,
)
from connector_gateway.kit.errors import GatewayError, OutcomeUnknown, PageNotFound, UpstreamUnexpected
from connector_gateway.kit.operation import ApiVersion
from connector_gateway.kit.upstream.client import Request, RequestRecord
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.upstream.vendor_api_changes import VendorChange
from connector_gateway.kit.vendor_model import VendorModel
from harness.requirement import requirement

SENT = [RequestRecord(0.0, "GET", "/v1/pages/0f8a3c5e9a5b", 200, 0.0, 1.0)]
ENDPOINT = "GET /v1/pages/{}"


class Clock:
    def __init__(self) -> None:
        self.seconds = datetime(2028, 1, 1, tzinfo=UTC).timestamp()

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class Note(VendorModel):
    id: str


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def changes(clock: Clock) -> VendorChanges:
    return VendorChanges(clock)


def unexpected_error(*paths: str, code: str = "") -> UpstreamUnexpected:
    error = UpstreamUnexpected("Unknown.", *({"place": path} for path in paths))
    error.vendor_code = code
    return error


def counts(changes: VendorChanges) -> dict[tuple[str, ...], int]:
    return {tuple(key): counted.count for key, counted in changes.counted.items()}


def respond(observer: ResponseObserver, *, verbatim: bool = False, **headers: str) -> None:
    """Have *observer* see a response with an unknown field, which is then decoded."""
    request = Request("GET", SENT[0].path, "", {}, None, (), False, (), lambda _: False, verbatim=verbatim)
    response = UpstreamResponse(200, headers, b'{"id": "1", "colour": "red"}')
    observer.observe(request, response)
    response.decode(Note)


@pytest.mark.parametrize(
    ("error", "kind", "place"),
    [
        (unexpected_error("results[3].properties"), "shape", "results[].properties"),
        (unexpected_error("[0].a[12][7]"), "shape", "[].a[][]"),
        (unexpected_error(), "shape", ""),
        (OutcomeUnknown("Unknown.", {"place": "id"}, doubt="garbled"), "shape", "id"),
        (unexpected_error(code="page_frozen"), "error", "page_frozen"),
        (unexpected_error(code="Ada Lovelace"), "error", "other"),
    ],
)
def test_an_error_is_counted_by_its_place(changes: VendorChanges, error: GatewayError, kind: str, place: str) -> None:
    changes.count_error("notes", error, SENT)
    changes.count_error("notes", error, SENT)

    assert {("notes", kind, ENDPOINT, place): 2} == counts(changes)


def test_other_errors_are_not_counted(changes: VendorChanges) -> None:
    changes.count_error("notes", PageNotFound("There is none.", {"parameter": "page_id"}), SENT)

    assert {} == counts(changes)


def test_places_after_the_first_hundred_are_counted_together(changes: VendorChanges) -> None:
    for number in [*range(MAX_PLACES + 5), 0]:
        changes.count("notes", ENDPOINT, VendorChange("field", f"field_{number}"))

    assert (2, 5) == (
        counts(changes)["notes", "field", ENDPOINT, "field_0"],
        counts(changes)["notes", "field", "", "other"],
    )
    assert MAX_PLACES + 1 == len(changes.counted)


@requirement("common-235")
def test_a_sign_in_every_response_is_counted_each_time_and_logged_once_a_day(
    changes: VendorChanges, clock: Clock
) -> None:
    observer = ResponseObserver(changes, replace(NOTES, unread_fields={"colour"}))
    with capture_logs() as logged:
        for _ in range(3):
            respond(observer, Deprecation="@1688169599")
        clock.seconds += LOG_SECONDS
        respond(observer, Deprecation="@1688169599")

    assert {("notes", "deprecation", ENDPOINT, "2023-06-30"): 4} == counts(changes)
    assert [("vendor changed", ENDPOINT)] * 2 == [(line["event"], line["endpoint"]) for line in logged]


def test_fields_are_compared_once_an_hour(changes: VendorChanges, clock: Clock) -> None:
    observer = ResponseObserver(changes, NOTES)
    respond(observer)
    respond(observer)
    clock.seconds += SAMPLE_SECONDS
    respond(observer)

    assert {("notes", "field", ENDPOINT, "colour"): 2} == counts(changes)


def test_requests_of_callers_are_reported_without_their_paths(changes: VendorChanges) -> None:
    respond(ResponseObserver(changes, NOTES), verbatim=True)

    assert {("notes", "field", "passthrough", "colour"): 1} == counts(changes)


@pytest.mark.parametrize(("ends_on", "kinds"), [(date(2028, 6, 29), {"version"}), (date(2028, 6, 30), set())])
def test_a_version_is_reported_in_the_last_180_days(changes: VendorChanges, ends_on: date, kinds: set[str]) -> None:
    connector = replace(NOTES, unread_fields={"colour"}, api_version=ApiVersion("2026-09", ends_on))

    respond(ResponseObserver(changes, connector))

    assert kinds == {key.kind for key in changes.counted}


def test_the_latest_sign_of_a_connector_comes_first(changes: VendorChanges, clock: Clock) -> None:
    for connector, place in [("notes", "first"), ("chat", "other"), ("notes", "second")]:
        changes.count(connector, ENDPOINT, VendorChange("warning", place))
        clock.seconds += 1

    assert ["second", "first"] == [key.place for key, _ in changes.list("notes")]
