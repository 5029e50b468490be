"""Whole responses that the gateway writes equal those of uvicorn; all others are left to uvicorn."""

import asyncio
import logging
from typing import Any, cast

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from connector_gateway.http.server.response_writer import with_response_writer

USUAL = [(b"content-type", b"application/json"), (b"x-run-id", b"run_1"), (b"warning", b'199 - "\tLate\xe9"')]

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


def write_response(headers: Headers, *, keep_alive: bool = True, ours: bool = True) -> RecordingTransport:
    """Return the connection after a response with *headers* and the body ``{}``."""
    connection, log = RecordingTransport(), logging.getLogger("uvicorn.error")
    transport = cast("asyncio.Transport", connection)
    cycle = RequestResponseCycle(
        scope=cast("Any", {"type": "http", "method": "POST"}),
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
        if ours:
            await send.send_whole(200, headers, b"{}")
            return
        sent = [*headers, (b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": sent})
        await send({"type": "http.response.body", "body": b"{}"})

    asyncio.run(cycle.run_asgi(with_response_writer(cycle, cast("Any", app))))
    return connection


@pytest.mark.parametrize("keep_alive", [True, False])
@pytest.mark.parametrize(
    "headers",
    [
        USUAL,
        [*USUAL, (b"allow", b"GET, POST")],
        [*USUAL, (b"connection", b"close")],
        [(b"Content-Type", b"text/plain")],
        [(b"content-type", b"text/plain")],
    ],
)
def test_a_response_is_written_like_uvicorn_writes_it(headers: Headers, *, keep_alive: bool) -> None:
    expected = write_response(headers, keep_alive=keep_alive, ours=False).text

    assert expected == write_response(headers, keep_alive=keep_alive).text


def test_head_and_body_are_written_in_one_call() -> None:
    assert (1, 2) == (write_response(USUAL).writes, write_response(USUAL, ours=False).writes)


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"a\rb", b"a\x00b", b"a\x7fb"])
def test_a_header_value_with_a_line_break_is_not_sent(value: bytes) -> None:
    assert b" closed" == write_response([(b"x-request-id", value)]).text
