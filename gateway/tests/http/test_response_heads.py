"""Response heads that the gateway writes equal those of uvicorn; all other responses are left to uvicorn."""

import asyncio
import logging
from typing import Any, cast

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from connector_gateway.http.server.response_writer import with_response_heads

LENGTH = (b"content-length", b"2")
USUAL = [(b"content-type", b"application/json"), (b"x-run-id", b"run_1"), (b"warning", b'199 - "\tLate\xe9"'), LENGTH]

Headers = list[tuple[bytes, bytes]]


class RecordingTransport:
    """A connection that records the data written to it."""

    def __init__(self) -> None:
        self.text = b""
        self.writes = 0

    def write(self, data: bytes) -> None:
        self.text += data
        self.writes += bool(data)

    def close(self) -> None:
        self.text += b" closed"


def get_written_bytes(headers: Headers, *, method: str = "POST", keep_alive: bool = True, ours: bool = True) -> bytes:
    """Return the bytes written for a response with *headers* and the body ``{}``."""
    return write_response(headers, method=method, keep_alive=keep_alive, ours=ours).text


def write_response(
    headers: Headers,
    *,
    method: str = "POST",
    keep_alive: bool = True,
    ours: bool = True,
    pieces: tuple[bytes, ...] = (b"{}",),
) -> RecordingTransport:
    """Return the connection after a response with *headers* and a body of *pieces*."""
    connection, log = RecordingTransport(), logging.getLogger("uvicorn.error")
    transport = cast("asyncio.Transport", connection)
    cycle = RequestResponseCycle(
        scope=cast("Any", {"type": "http", "method": method}),
        transport=transport,
        flow=FlowControl(transport),
        logger=log,
        access_logger=log,
        access_log=False,
        default_headers=[(b"date", b"Sun, 22 Nov 2026 17:38:24 GMT")],
        message_event=asyncio.Event(),
        expect_100_continue=False,
        keep_alive=keep_alive,
        on_response=lambda: None,
    )

    async def app(_: Any, __: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        *earlier, last = pieces
        for piece in earlier:
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": last})

    asyncio.run(cycle.run_asgi(with_response_heads(cycle, cast("Any", app)) if ours else cast("Any", app)))
    return connection


@pytest.mark.parametrize("method", ["POST", "HEAD"])
@pytest.mark.parametrize("keep_alive", [True, False])
@pytest.mark.parametrize(
    "headers",
    [
        USUAL,
        [*USUAL, (b"allow", b"GET, POST")],
        [*USUAL, (b"connection", b"close")],
        [(b"Content-Type", b"text/plain"), LENGTH],
        [(b"content-type", b"text/plain")],
        [(b"transfer-encoding", b"chunked")],
    ],
)
def test_a_response_is_written_like_uvicorn_writes_it(headers: Headers, method: str, *, keep_alive: bool) -> None:
    expected = get_written_bytes(headers, method=method, keep_alive=keep_alive, ours=False)

    assert expected == get_written_bytes(headers, method=method, keep_alive=keep_alive)


def test_head_and_body_are_written_in_one_call() -> None:
    assert 1 == write_response(USUAL).writes


def test_a_body_in_pieces_is_written_like_uvicorn_writes_it() -> None:
    pieces = (b"", b"{", b"}")
    expected = write_response(USUAL, pieces=pieces, ours=False).text

    assert expected == write_response(USUAL, pieces=pieces).text


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"a\rb", b"a\x00b", b"a\x7fb"])
def test_a_header_value_with_a_line_break_is_not_sent(value: bytes) -> None:
    assert b" closed" == get_written_bytes([(b"x-request-id", value), LENGTH])


def test_a_body_of_wrong_length_closes_the_connection() -> None:
    written = get_written_bytes([(b"x-run-id", b"run_1"), (b"content-length", b"3")])

    assert written.endswith(b" closed")
