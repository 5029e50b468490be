"""Interpretation of vendor responses, without a mailbox."""

import json
import tracemalloc
from base64 import b64encode, urlsafe_b64encode
from typing import Any

import pytest

from connector_gateway.connectors.mail import vendor_models
from connector_gateway.connectors.mail.client import Base64JsonReader, parse_throttle
from connector_gateway.connectors.mail.vendor_errors import unwrap
from connector_gateway.kit.errors import (
    ConnectionRevoked,
    ConnectionScopeMissing,
    GatewayError,
    MessageNotFound,
    OutcomeUnknown,
    UpstreamConflict,
    UpstreamError,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
)
from connector_gateway.kit.upstream.client import ThrottleDelay
from connector_gateway.kit.upstream.pool import UpstreamResponse

DATE = {"Date": "Fri, 20 Nov 2026 10:00:00 GMT"}


def error_response(status: int, reason: str = "", message: str = "", **headers: str) -> UpstreamResponse:
    error = {"code": status, "message": message, "errors": [{"reason": reason, "message": message}]}
    return UpstreamResponse(status, DATE | headers, json.dumps({"error": error}).encode())


@pytest.mark.parametrize(
    ("response", "delay"),
    [
        (
            error_response(429, "rateLimitExceeded", "Too many concurrent requests for user."),
            ThrottleDelay(1.0, {"user"}),
        ),
        (
            error_response(403, "rateLimitExceeded", "Quota exceeded for quota metric 'Queries'"),
            ThrottleDelay(1.0, {"user"}),
        ),
        (error_response(403, "userRateLimitExceeded", "x", **{"Retry-After": "7"}), ThrottleDelay(7.0, {"user"})),
        (error_response(429, "x", "Limit.  Retry after 2026-11-20T10:15:00.000Z"), ThrottleDelay(900.0, {"user"})),
        (
            error_response(403, "userRateLimitExceeded", "Retry after 2026-11-20T10:00:30Z"),
            ThrottleDelay(30.0, {"user"}),
        ),
        (error_response(429, "x", "Retry after 2026-11-20T09:59:00.000Z"), ThrottleDelay(1.0, {"user"})),
        (error_response(429, "x", "Retry after 2026-11-21T08:00:00.000Z"), ThrottleDelay(79_200.0, {"sending"})),
        (error_response(429, "x", "Retry after 2026-99-99T99:99:99Z"), ThrottleDelay(1.0, {"user"})),
        (
            error_response(429, "x", "Retry after 2026-11-20T10:15:00Z", Date="Fri, 20 Nov 2026 10:00:00 -0000"),
            ThrottleDelay(900.0, {"user"}),
        ),
        (
            UpstreamResponse(403, {}, b'{"error":{"errors":[{"reason":"quotaExceeded"},{"message":"x"}]}}'),
            ThrottleDelay(1.0, {"user"}),
        ),
        (UpstreamResponse(403, {}, b'{"error":{"errors":[{"reason":{"is":"quotaExceeded"}}]}}'), None),
        (error_response(403, "dailyLimitExceeded", "Daily Limit Exceeded"), ThrottleDelay(3600.0, {"user"})),
        (UpstreamResponse(429, {}, b"<html>Too many</html>"), ThrottleDelay(1.0, {"user"})),
        (error_response(403, "insufficientPermissions"), None),
        (error_response(403, "domainPolicy"), None),
        (UpstreamResponse(403, {}, b"<html>No</html>"), None),
        (error_response(400, "rateLimitExceeded"), None),
        (UpstreamResponse(200, {}, b"{}"), None),
    ],
)
def test_throttling_error_returns_the_delay(response: UpstreamResponse, delay: ThrottleDelay | None) -> None:
    assert parse_throttle(response) == delay


@pytest.mark.parametrize(
    ("response", "named", "error"),
    [
        (error_response(400, "invalidArgument"), False, UpstreamRefused),
        (error_response(400, "invalidArgument"), True, MessageNotFound),
        (error_response(400, "failedPrecondition"), True, UpstreamForbidden),
        (error_response(401, "authError"), True, ConnectionRevoked),
        (error_response(403, "insufficientPermissions"), True, ConnectionScopeMissing),
        (error_response(403, "domainPolicy"), True, UpstreamForbidden),
        (error_response(403, "accessNotConfigured"), True, UpstreamUnexpected),
        (error_response(404, "notFound"), False, MessageNotFound),
        (error_response(409, "aborted"), False, UpstreamConflict),
        (error_response(413, "uploadTooLarge"), False, UpstreamRefused),
        (error_response(418), True, UpstreamUnexpected),
        (UpstreamResponse(403, {}, b'["odd"]'), False, UpstreamForbidden),
        (UpstreamResponse(403, {}, b'{"error":{"errors":[7],"details":null}}'), False, UpstreamForbidden),
        (
            UpstreamResponse(400, {}, b'{"error":{"errors":{"reason":"insufficientPermissions"}}}'),
            False,
            UpstreamRefused,
        ),
        (UpstreamResponse(418, {}, b'{"error":"no"}'), False, UpstreamUnexpected),
        (UpstreamResponse(200, {}, b"<html>"), False, UpstreamError),
        (UpstreamResponse(200, {}, b'{"id":7}'), False, UpstreamUnexpected),
        (UpstreamResponse(200, {}, b'{"id":7}', doubt="garbled"), False, OutcomeUnknown),
    ],
)
def test_vendor_error_is_mapped_to_a_gateway_error(
    response: UpstreamResponse, error: type[GatewayError], *, named: bool
) -> None:
    with pytest.raises(error) as raised:
        unwrap(response, vendor_models.Labelled, MessageNotFound, named=named)

    assert type(raised.value) is error
    assert "html" not in raised.value.message


BYTES = bytes(range(256)) * 5


def content_response(encoded: str, **more: Any) -> bytes:
    return json.dumps({"attachmentId": 'a"b', "size": len(BYTES), "data": encoded, **more}).encode()


URLSAFE = urlsafe_b64encode(BYTES).decode()


@pytest.mark.parametrize(
    "response",
    [
        content_response(URLSAFE),
        content_response(URLSAFE.rstrip("=")),
        content_response(b64encode(BYTES).decode()),
        content_response(URLSAFE, more="after"),
        content_response(URLSAFE).replace(b"=", rb"\u003d"),
        content_response(URLSAFE).replace(b'"data": ', b'\n  "data"  :\n "'[:-1]),
    ],
)
@pytest.mark.parametrize("step", [1, 2, 3, 5, 64, 100_000])
def test_content_is_decoded_from_pieces_of_any_size(response: bytes, step: int) -> None:
    reader = Base64JsonReader()

    decoded = b"".join(reader.decode(response[at : at + step]) for at in range(0, len(response), step))
    reader.finish()

    assert BYTES == decoded


def decode_content(response: bytes) -> bytes:
    reader = Base64JsonReader()
    decoded = reader.decode(response)
    reader.finish()
    return decoded


@pytest.mark.parametrize("response", [b"{}", b'{"size": 0}', b'{"size": 0, "data": ""}'])
def test_missing_content_is_decoded_as_empty(response: bytes) -> None:
    assert b"" == decode_content(response)


@pytest.mark.parametrize(
    "response",
    [
        content_response(URLSAFE)[:-40],
        content_response("AAA=")[:-2],
        content_response("A"),
        b'{"size": 12}',
        b"<html>",
        b"",
        b"x" * 100_000,
    ],
)
def test_truncated_content_is_an_upstream_error(response: bytes) -> None:
    with pytest.raises(UpstreamError):
        decode_content(response)


def test_content_is_decoded_without_buffering_all_of_it() -> None:
    piece = urlsafe_b64encode(b"x" * 48 * 1024)
    reader = Base64JsonReader()
    tracemalloc.start()

    reader.decode(b'{"size": 1, "data": "')
    decoded_bytes = sum(len(reader.decode(piece)) for _ in range(500))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert decoded_bytes == 500 * 48 * 1024
    assert peak < 1024 * 1024
