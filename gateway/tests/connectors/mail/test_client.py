"""How the vendor's answers are understood, without a mailbox."""

import json
import tracemalloc
from base64 import b64encode, urlsafe_b64encode
from typing import Any

import pytest

from connector_gateway.connectors.mail import wire
from connector_gateway.connectors.mail.client import Base64JsonReader, throttle_delay
from connector_gateway.connectors.mail.errors import unwrap
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


def refusal(status: int, reason: str = "", message: str = "", **headers: str) -> UpstreamResponse:
    error = {"code": status, "message": message, "errors": [{"reason": reason, "message": message}]}
    return UpstreamResponse(status, DATE | headers, json.dumps({"error": error}).encode())


@pytest.mark.parametrize(
    ("answer", "pause"),
    [
        (refusal(429, "rateLimitExceeded", "Too many concurrent requests for user."), ThrottleDelay(1.0, {"user"})),
        (refusal(403, "rateLimitExceeded", "Quota exceeded for quota metric 'Queries'"), ThrottleDelay(1.0, {"user"})),
        (refusal(403, "userRateLimitExceeded", "x", **{"Retry-After": "7"}), ThrottleDelay(7.0, {"user"})),
        (refusal(429, "x", "Limit.  Retry after 2026-11-20T10:15:00.000Z"), ThrottleDelay(900.0, {"user"})),
        (refusal(403, "userRateLimitExceeded", "Retry after 2026-11-20T10:00:30Z"), ThrottleDelay(30.0, {"user"})),
        (refusal(429, "x", "Retry after 2026-11-20T09:59:00.000Z"), ThrottleDelay(1.0, {"user"})),
        (refusal(429, "x", "Retry after 2026-11-21T08:00:00.000Z"), ThrottleDelay(79_200.0, {"sending"})),
        (refusal(429, "x", "Retry after 2026-99-99T99:99:99Z"), ThrottleDelay(1.0, {"user"})),
        (
            refusal(429, "x", "Retry after 2026-11-20T10:15:00Z", Date="Fri, 20 Nov 2026 10:00:00 -0000"),
            ThrottleDelay(900.0, {"user"}),
        ),
        (
            UpstreamResponse(403, {}, b'{"error":{"errors":[{"reason":"quotaExceeded"},{"message":"x"}]}}'),
            ThrottleDelay(1.0, {"user"}),
        ),
        (UpstreamResponse(403, {}, b'{"error":{"errors":[{"reason":{"is":"quotaExceeded"}}]}}'), None),
        (refusal(403, "dailyLimitExceeded", "Daily Limit Exceeded"), ThrottleDelay(3600.0, {"user"})),
        (UpstreamResponse(429, {}, b"<html>Too many</html>"), ThrottleDelay(1.0, {"user"})),
        (refusal(403, "insufficientPermissions"), None),
        (refusal(403, "domainPolicy"), None),
        (UpstreamResponse(403, {}, b"<html>No</html>"), None),
        (refusal(400, "rateLimitExceeded"), None),
        (UpstreamResponse(200, {}, b"{}"), None),
    ],
)
def test_a_refusal_that_means_later_says_how_much_later(answer: UpstreamResponse, pause: ThrottleDelay | None) -> None:
    assert throttle_delay(answer) == pause


@pytest.mark.parametrize(
    ("answer", "named", "error"),
    [
        (refusal(400, "invalidArgument"), False, UpstreamRefused),
        (refusal(400, "invalidArgument"), True, MessageNotFound),
        (refusal(400, "failedPrecondition"), True, UpstreamForbidden),
        (refusal(401, "authError"), True, ConnectionRevoked),
        (refusal(403, "insufficientPermissions"), True, ConnectionScopeMissing),
        (refusal(403, "domainPolicy"), True, UpstreamForbidden),
        (refusal(403, "accessNotConfigured"), True, UpstreamUnexpected),
        (refusal(404, "notFound"), False, MessageNotFound),
        (refusal(409, "aborted"), False, UpstreamConflict),
        (refusal(413, "uploadTooLarge"), False, UpstreamRefused),
        (refusal(418), True, UpstreamUnexpected),
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
def test_a_refusal_becomes_an_error_of_the_catalogue(
    answer: UpstreamResponse, error: type[GatewayError], *, named: bool
) -> None:
    with pytest.raises(error) as refused:
        unwrap(answer, wire.Labelled, MessageNotFound, named=named)

    assert type(refused.value) is error
    assert "html" not in refused.value.message


BYTES = bytes(range(256)) * 5


def answer_with(encoded: str, **more: Any) -> bytes:
    return json.dumps({"attachmentId": 'a"b', "size": len(BYTES), "data": encoded, **more}).encode()


URLSAFE = urlsafe_b64encode(BYTES).decode()


@pytest.mark.parametrize(
    "answer",
    [
        answer_with(URLSAFE),
        answer_with(URLSAFE.rstrip("=")),
        answer_with(b64encode(BYTES).decode()),
        answer_with(URLSAFE, more="after"),
        answer_with(URLSAFE).replace(b"=", rb"\u003d"),
        answer_with(URLSAFE).replace(b'"data": ', b'\n  "data"  :\n "'[:-1]),
    ],
)
@pytest.mark.parametrize("step", [1, 2, 3, 5, 64, 100_000])
def test_content_is_read_whatever_the_pieces_it_comes_in(answer: bytes, step: int) -> None:
    content = Base64JsonReader()

    told = b"".join(content.decode(answer[at : at + step]) for at in range(0, len(answer), step))
    content.finish()

    assert BYTES == told


def read(answer: bytes) -> bytes:
    content = Base64JsonReader()
    told = content.decode(answer)
    content.finish()
    return told


@pytest.mark.parametrize("answer", [b"{}", b'{"size": 0}', b'{"size": 0, "data": ""}'])
def test_no_content_is_content_too(answer: bytes) -> None:
    assert b"" == read(answer)


@pytest.mark.parametrize(
    "answer",
    [
        answer_with(URLSAFE)[:-40],
        answer_with("AAA=")[:-2],
        answer_with("A"),
        b'{"size": 12}',
        b"<html>",
        b"",
        b"x" * 100_000,
    ],
)
def test_content_that_broke_off_is_no_content(answer: bytes) -> None:
    with pytest.raises(UpstreamError):
        read(answer)


def test_content_is_never_held_whole() -> None:
    piece = urlsafe_b64encode(b"x" * 48 * 1024)
    content = Base64JsonReader()
    tracemalloc.start()

    content.decode(b'{"size": 1, "data": "')
    passed = sum(len(content.decode(piece)) for _ in range(500))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert passed == 500 * 48 * 1024
    assert peak < 1024 * 1024
