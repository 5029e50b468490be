"""Heads of answers that are written here are those that uvicorn writes; whatever else there is, is left to uvicorn."""

import asyncio
import logging
from typing import Any, cast

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from connector_gateway.http.server.fast_response_writer import with_response_heads

LENGTH = (b"content-length", b"2")
USUAL = [(b"content-type", b"application/json"), (b"x-run-id", b"run_1"), (b"warning", b'199 - "\tLate\xe9"'), LENGTH]

Headers = list[tuple[bytes, bytes]]


class Written:
    """A connection that keeps what is written to it."""

    def __init__(self) -> None:
        self.text = b""
        self.writes = 0

    def write(self, data: bytes) -> None:
        self.text += data
        self.writes += bool(data)

    def close(self) -> None:
        self.text += b" closed"


def answered(headers: Headers, *, method: str = "POST", keep_alive: bool = True, ours: bool = True) -> bytes:
    """What is written for an answer with *headers* and the body ``{}``."""
    return written(headers, method=method, keep_alive=keep_alive, ours=ours).text


def written(
    headers: Headers,
    *,
    method: str = "POST",
    keep_alive: bool = True,
    ours: bool = True,
    pieces: tuple[bytes, ...] = (b"{}",),
) -> Written:
    """The connection, with an answer with *headers* and a body of *pieces*."""
    connection, log = Written(), logging.getLogger("uvicorn.error")
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
def test_an_answer_is_written_as_uvicorn_writes_it(headers: Headers, method: str, *, keep_alive: bool) -> None:
    expected = answered(headers, method=method, keep_alive=keep_alive, ours=False)

    assert expected == answered(headers, method=method, keep_alive=keep_alive)


def test_head_and_body_are_written_at_once() -> None:
    assert 1 == written(USUAL).writes


def test_a_body_in_pieces_is_written_as_uvicorn_writes_it() -> None:
    pieces = (b"", b"{", b"}")
    expected = written(USUAL, pieces=pieces, ours=False).text

    assert expected == written(USUAL, pieces=pieces).text


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"a\rb", b"a\x00b", b"a\x7fb"])
def test_a_value_that_would_end_its_line_is_not_sent(value: bytes) -> None:
    assert b" closed" == answered([(b"x-request-id", value), LENGTH])


def test_a_body_of_another_length_than_declared_breaks_the_connection() -> None:
    written = answered([(b"x-run-id", b"run_1"), (b"content-length", b"3")])

    assert written.endswith(b" closed")
