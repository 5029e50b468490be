"""The meaning of vendors' errors, the responses to a write that prove that nothing was done, and the client."""

from collections.abc import Mapping
from json import dumps
from typing import Any

import pytest

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.pacing.pacer import ConnectionPacer
from connector_gateway.kit.errors import CardNotFound, OutcomeUnknown, UpstreamError, UpstreamUnavailable
from connector_gateway.kit.errors.vendor_error_table import (
    MAX_MESSAGE,
    ErrorTable,
    Reason,
    VendorRejection,
    reason_details,
)
from connector_gateway.kit.upstream.budget import Budget, Charge
from connector_gateway.kit.upstream.client import Timeouts, UpstreamClient, UpstreamLog, UpstreamService, parse_throttle
from connector_gateway.kit.upstream.pool import Transport, UpstreamResponse
from connector_gateway.storage.shared.local_counters import LocalCounters
from gateway.tests.kit.vendor_server import OK, StaticCredentials, VendorServer
from harness.clocks import NOON, ManualClock
from harness.requirement import requirement

TABLE = ErrorTable(
    lambda encode_response: Reason(encode_response.text), rejections=(VendorRejection({400, 429}, "this test", "no"),)
)
REJECTIONS: Mapping[str, list[tuple[int, Any]]] = {
    "notes": [
        (400, {"object": "error", "status": 400, "code": "validation_error", "message": "Not like this."}),
        (401, {"object": "error", "status": 401, "code": "unauthorized", "message": "API token is invalid."}),
        (403, {"object": "error", "status": 403, "code": "restricted_resource", "message": "No."}),
        (404, {"object": "error", "status": 404, "code": "object_not_found", "message": "Could not find it."}),
        (409, {"object": "error", "status": 409, "code": "conflict_error", "message": "Conflict."}),
        (429, {"object": "error", "status": 429, "code": "rate_limited", "message": "Slow down."}),
        (529, {"object": "error", "status": 529, "code": "service_overload", "message": "Overloaded."}),
    ],
    "boards": [
        (400, "invalid value for idList"),
        (401, "unauthorized card permission requested"),
        (401, {"message": "missing scopes"}),
        (404, "The requested resource was not found."),
        (429, {"error": "API_TOKEN_LIMIT_EXCEEDED", "message": "Rate limit exceeded"}),
    ],
    "mail": [
        (400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "errors": [{"reason": "invalidArgument"}]}}),
        (403, {"error": {"code": 403, "errors": [{"reason": "userRateLimitExceeded"}]}}),
        (404, {"error": {"code": 404, "status": "NOT_FOUND"}}),
        (429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED"}}),
    ],
    "chat": [
        (200, {"ok": False, "error": "channel_not_found"}),
        (200, {"ok": False, "error": "already_reacted"}),
        (200, {"ok": False, "error": "rate_limited"}),
        (429, {"ok": False, "error": "ratelimited"}),
    ],
    "crm": [
        (400, {"status": "error", "message": "Not like this", "category": "VALIDATION_ERROR"}),
        (409, {"status": "error", "message": "Contact already exists. Existing ID: 7", "category": "CONFLICT"}),
        (207, {"results": [], "numErrors": 1, "errors": [{"status": "error", "category": "VALIDATION_ERROR"}]}),
        (429, {"status": "error", "message": "Slow down", "category": "RATE_LIMITS"}),
    ],
    "tables": [
        (403, {"error": {"type": "INVALID_PERMISSIONS", "message": "You are not permitted to do this."}}),
        (404, {"error": "NOT_FOUND"}),
        (422, {"error": {"type": "INVALID_VALUE_FOR_COLUMN", "message": "Not like this"}}),
        (429, {"errors": [{"error": "RATE_LIMIT_REACHED", "message": "Slow down."}]}),
        (503, {"error": {"type": "RETRIABLE_ERROR", "message": "It was not processed."}}),
    ],
}
"""Responses with which each vendor rejects a request."""

VENDOR_FAILURES: Mapping[str, tuple[int, Any]] = {
    "notes": (500, {"object": "error", "status": 500, "code": "internal_server_error", "message": "Unexpected."}),
    "mail": (500, {"error": {"code": 500, "status": "INTERNAL", "errors": [{"reason": "backendError"}]}}),
    "chat": (200, {"ok": False, "error": "fatal_error"}),
    "crm": (500, {"status": "error", "message": "internal error", "category": "INTERNAL_ERROR"}),
    "tables": (500, {"error": {"type": "SERVER_ERROR", "message": "Something went wrong"}}),
}
"""Failures in each vendor's own shape. Boards has none."""

FOREIGN_BODIES = (
    "",
    "<html>Not now</html>",
    '{"error": {"type": "INV',
    "[]",
    "null",
    '{"fault": {"code": "Rejected"}}',
    "\xff",
)
"""Bodies of no vendor."""


def create_response(status: int, body: Any, **headers: str) -> UpstreamResponse:
    """Return a response with *body*."""
    return UpstreamResponse(status, headers, (body if isinstance(body, str) else dumps(body)).encode("latin-1"))


# The tables


@pytest.mark.parametrize("name", CONNECTORS)
def test_every_error_of_a_table_has_a_message(name: str) -> None:
    table = CONNECTORS[name].error_table

    assert all(map(table.message, [*table.by_status.values(), *table.by_code.values()]))


@pytest.mark.parametrize(
    ("code", "message", "details"),
    [
        ("invalid", "Bad value.", [{"vendor_code": "invalid", "vendor_message": "Bad value."}]),
        ("invalid", None, [{"vendor_code": "invalid"}]),
        (None, {"text": "odd"}, []),
        (400, "  \n ", []),
        ("", "two\nlines\u202e", [{"vendor_message": "two lines"}]),
        ("", "token=abc123 was refused", [{"vendor_message": "token=… was refused"}]),
        ("", "Authorization: Bearer abc.def is bad", [{"vendor_message": "Authorization: Bearer … is bad"}]),
        ("", "x" * 600, [{"vendor_message": "x" * (MAX_MESSAGE - 1) + "…"}]),
    ],
)
def test_a_reason_is_one_line_of_text_without_credentials(
    code: Any, message: Any, details: list[dict[str, str]]
) -> None:
    assert reason_details(code, message) == details


@requirement("outcomes-1")
@pytest.mark.parametrize("name", CONNECTORS)
def test_a_documented_rejection_releases_the_key(name: str) -> None:
    reasons = {
        dumps(body): CONNECTORS[name].error_table.in_doubt_reason(create_response(status, body))
        for status, body in REJECTIONS[name]
    }

    assert dict.fromkeys(reasons) == reasons


@requirement("outcomes-1")
@pytest.mark.parametrize("name", CONNECTORS)
def test_every_rejection_names_its_documentation_page(name: str) -> None:
    sources = [row.source for row in CONNECTORS[name].error_table.rejections]

    assert sources
    assert [] == [source for source in sources if "read 2026-" not in source or "." not in source]


@requirement("outcomes-3")
@pytest.mark.parametrize("name", CONNECTORS)
@pytest.mark.parametrize("body", FOREIGN_BODIES)
def test_a_foreign_body_proves_nothing_with_any_status(name: str, body: str) -> None:
    # Plain text of one vendor cannot be distinguished from plain text of others.
    statuses = [] if (name, body) == ("boards", "\xff") else range(100, 600)
    released = [
        status
        for status in statuses
        if CONNECTORS[name].error_table.in_doubt_reason(create_response(status, body)) is None
    ]

    assert [] == released


@requirement("outcomes-2")
@pytest.mark.parametrize("name", CONNECTORS)
@pytest.mark.parametrize("status", [302, 303, 307, 308, 405, 408, 418, 421, 425, 451, 499, 502, 504, 520, 524])
def test_an_edge_status_proves_nothing_with_any_body(name: str, status: int) -> None:
    reasons = {
        CONNECTORS[name].error_table.in_doubt_reason(create_response(status, body)) for _, body in REJECTIONS[name]
    }

    assert {"edge"} == reasons


@requirement("outcomes-6")
@pytest.mark.parametrize("name", VENDOR_FAILURES)
def test_a_failure_of_the_vendor_ends_the_work_and_one_of_an_edge_does_not(name: str) -> None:
    status, body = VENDOR_FAILURES[name]
    table = CONNECTORS[name].error_table

    assert ("failed", "edge") == (
        table.in_doubt_reason(create_response(status, body)),
        table.in_doubt_reason(create_response(500, "Server Error")),
    )


def test_a_partly_successful_batch_proves_nothing() -> None:
    body = {"results": [{"id": "7"}], "errors": [{"status": "error", "category": "VALIDATION_ERROR"}]}

    assert "garbled" == CONNECTORS["crm"].error_table.in_doubt_reason(create_response(207, body))


def test_a_throttled_post_needs_no_body_with_retry_after() -> None:
    table = CONNECTORS["chat"].error_table

    assert (None, "edge") == (
        table.in_doubt_reason(create_response(429, "", **{"Retry-After": "3"})),
        table.in_doubt_reason(create_response(429, "")),
    )


# The client


class WriteClient:
    """A client of a server that sends plain bytes."""

    def __init__(self, vendor: VendorServer, transport: Transport) -> None:
        self.clock = ManualClock()
        pacer = ConnectionPacer("shelf", {"all": Budget(100, 1)}, "account", LocalCounters(self.clock), self.clock)
        service = UpstreamService(
            {"base": vendor.url},
            lambda _: {},
            parse_throttle,
            transport,
            self.clock,
            self.clock.now,
            error_table=TABLE,
        )
        self.upstream = UpstreamClient(service, StaticCredentials(), pacer, Timeouts(), UpstreamLog())

    async def write(self) -> UpstreamResponse:
        """Send a write and return its response."""
        return await self.upstream.send("POST", "/things", Charge("all"), writes=True, json={})


def encode_response(status: str, body: str = "", *headers: str) -> bytes:
    """Return the bytes of a response."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", body]
    return "\r\n".join(lines).encode()


@requirement("outcomes-5")
async def test_a_throttled_write_is_resent_if_it_was_not_carried_out(vendor: VendorServer) -> None:
    vendor.responses = [encode_response("429 Slow down", "no"), OK.replace(b"ok", b"{}")]
    async with Transport(5.0) as transport:
        response = await WriteClient(vendor, transport).write()

    assert (200, 2) == (response.status, len(vendor.requests))


@requirement("outcomes-5")
async def test_an_unlisted_throttle_makes_a_write_outcome_unknown_and_delays_others(vendor: VendorServer) -> None:
    vendor.responses = [encode_response("429 Slow down", "<html>", "Retry-After: 7"), OK]
    async with Transport(5.0) as transport:
        client = WriteClient(vendor, transport)
        with pytest.raises(OutcomeUnknown) as error:
            await client.write()
        sent = len(vendor.requests)
        await client.upstream.send("GET", "/things", Charge("all"), writes=False)

    assert ("edge", 1) == (error.value.doubt, sent)
    assert NOON + 7 == client.clock.at


@requirement("outcomes-4")
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_a_redirect_of_a_write_is_not_followed(vendor: VendorServer, status: str) -> None:
    vendor.responses = [encode_response(status, "", f"Location: {vendor.url}/elsewhere"), OK]
    async with Transport(5.0) as transport:
        client = WriteClient(vendor, transport)
        with pytest.raises(OutcomeUnknown):
            await client.write()

    assert ("edge", 1) == (client.upstream.doubt, len(vendor.requests))


@pytest.mark.parametrize("code", [100, 102, 103, 150, 199])
async def test_an_informational_response_is_skipped(vendor: VendorServer, code: int) -> None:
    vendor.responses = [f"HTTP/1.1 {code} Wait\r\n\r\n".encode() + encode_response("400 Bad", "no")]
    async with Transport(5.0) as transport:
        client = WriteClient(vendor, transport)
        response = await client.write()

    assert (400, None) == (response.status, client.upstream.doubt)


async def test_a_change_of_protocol_makes_a_write_outcome_unknown(vendor: VendorServer) -> None:
    vendor.responses = [encode_response("101 Switching Protocols")]
    async with Transport(0.5) as transport:
        client = WriteClient(vendor, transport)
        with pytest.raises(OutcomeUnknown):
            await client.write()

    assert client.upstream.doubt is not None


async def test_a_write_that_was_never_sent_has_a_known_outcome(vendor: VendorServer) -> None:
    async with Transport(5.0) as transport:
        client = WriteClient(vendor, transport)
        client.upstream.service.base_urls["base"] = "http://127.0.0.1:9"  # type: ignore[index]
        with pytest.raises(UpstreamUnavailable):
            await client.write()

    assert (None, None) == (client.upstream.doubt, client.upstream.written_at)


async def test_a_failure_of_an_edge_makes_a_write_outcome_unknown(vendor: VendorServer) -> None:
    vendor.responses = [encode_response("503 Service Unavailable", "<html>")]
    async with Transport(5.0) as transport:
        with pytest.raises(UpstreamError) as error:
            await WriteClient(vendor, transport).write()

    assert "edge" == error.value.doubt


def test_an_error_without_a_message_has_that_of_its_docstring() -> None:
    error = TABLE.create_error(UpstreamResponse(404, {}, b""), CardNotFound)

    assert "The card does not exist, or the account cannot see it." == error.message
