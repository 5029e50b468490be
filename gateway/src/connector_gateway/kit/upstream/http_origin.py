"""Requests to one upstream server, on the connections and with the parser of aiohttp.

aiohttp's session creates a request, a task that writes it, a response and several dictionaries for each exchange. That
was an eighth of the cost of a call, so only its pool and its parser are used here.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from io import BytesIO

import aiohttp
from aiohttp.connector import Connection
from yarl import URL

from connector_gateway.kit.upstream.memory_budget import LARGE_BYTES, ResponseMeter

MAX_RESPONSE_BYTES = 4 * 1024 * 1024
"""The maximum size of a response that is read completely. Attachments, the only larger ones, are streamed.

Decoding a response blocks the event loop, for about 4 ms per mebibyte of a typical one.
"""

EXCLUSIVE_BYTES = 64 * 1024
"""The size from which the responses of one call are read one after the other. Less than a read of each of the others is
buffered.
"""

MAX_RESPONSE_VALUES = 150_000
"""The maximum number of values in a response, counted by its commas. The most expensive kind of value takes 0.3 µs."""

WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods whose requests have no body headers if they have no body."""

WITH_BODY = frozenset({"PATCH", "POST", "PUT"})
"""Methods whose requests always have a ``Content-Type``."""

_CONTROL_CHARACTERS = re.compile("[\x00-\x08\x0a-\x1f\x7f]")
"""Characters that are not allowed in a header."""


class SendWindowMissed(Exception):
    """A connection became available too late, so the request was not sent."""


class BodyTooLarge(Exception):
    """The response is too large to be read. The request may have been carried out."""


def begin_at_any_time() -> bool:
    """Return True: a request without a reservation can be sent at any time."""
    return True


class HttpOrigin:
    """The server at one scheme, host and port."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        if session.connector is None:
            raise RuntimeError("The pool is closed.")
        self._pool = session.connector
        self._timeout = session.timeout
        self._pool_request = aiohttp.ClientRequest("GET", URL(address), headers=session.headers, session=session)
        """The request with which the pool looks up connections to the server. It is never sent."""

        self._fields = lru_cache(maxsize=64)(self._common_fields)

    async def send(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None,
        meter: ResponseMeter,
        *,
        begin: Callable[[], bool] = begin_at_any_time,
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Send one request, and return the status, headers and body of its response.

        Raises ``SendWindowMissed`` if *begin* returns False once there is a connection.
        """
        request = self._serialize(method, target, headers, body)
        try:
            connection = await self._pool.connect(self._pool_request, [], self._timeout)
        except TimeoutError as error:
            raise aiohttp.ConnectionTimeoutError(f"Connection timeout to host {self._pool_request.url}") from error
        # Nothing is awaited between here and the write, so only a process that is frozen at this moment would send
        # late.
        if not begin():
            connection.release()
            raise SendWindowMissed
        try:
            response = await _send_on(connection, request, meter, skip_body=method == "HEAD")
        except BaseException:
            # The rest of this response would be taken for the response to the next request.
            connection.close()
            raise
        connection.release()
        return response

    def _serialize(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
        request_line, fields = f"{method} {target} HTTP/1.1", [f"{name}: {value}" for name, value in headers.items()]
        _check_header_text(request_line, *fields)
        if body is not None or method not in WITHOUT_BODY:
            fields.append(f"Content-Length: {len(body or b'')}")
        head = "\r\n".join([request_line, *self._fields(method, tuple(headers)), *fields])
        return b"%b\r\n\r\n%b" % (head.encode(), body or b"")

    def _common_fields(self, method: str, names: tuple[str, ...]) -> list[str]:
        """Return the headers of all requests of *method*, without those in *names*, which the request sets itself."""
        own_names = {name.lower() for name in names}
        fields = [
            f"{name}: {value}" for name, value in self._pool_request.headers.items() if name.lower() not in own_names
        ]
        if method in WITH_BODY and "content-type" not in own_names:
            fields.append("Content-Type: application/octet-stream")
        _check_header_text(*fields)
        return fields


def _check_header_text(*lines: str) -> None:
    """Reject characters that would end a line early, or that servers interpret differently."""
    text = "".join(lines)
    # Nearly all headers are printable, and ``isprintable`` is faster than the search.
    if not text.isprintable() and _CONTROL_CHARACTERS.search(text):
        raise ValueError("A request header contains control characters.")


async def _send_on(
    connection: Connection, request: bytes, meter: ResponseMeter, *, skip_body: bool
) -> tuple[int, Mapping[str, str], bytes]:
    protocol, transport = connection.protocol, connection.transport
    if protocol is None or transport is None:
        raise aiohttp.ServerDisconnectedError
    protocol.set_response_params(skip_payload=skip_body, read_until_eof=True)
    transport.write(request)
    message, content = await protocol.read()
    # Responses with status 1xx only announce the final one.
    while 100 <= message.code < 200 and message.code != 101:
        message, content = await protocol.read()
    body = await read_body(content, message.headers, meter)
    if transport.get_write_buffer_size():
        # The server responded before it had received the whole request. The rest must not precede the next request.
        protocol.force_close()
    return message.code, message.headers, body


async def read_body(content: aiohttp.StreamReader, headers: Mapping[str, str], meter: ResponseMeter) -> bytes:
    """Read the body of a response with *headers*. Raises ``BodyTooLarge`` if it is too large."""
    # A body that has arrived completely is taken without waiting for its pieces.
    if content.is_eof():
        return _check_decodable(content.read_nowait())
    declared = headers.get("Content-Length", "")
    if declared.isdecimal() and int(declared) > MAX_RESPONSE_BYTES:
        raise BodyTooLarge
    # This is needed even with a declared length, which is that of the compressed body. ``BytesIO`` returns its buffer
    # without a copy, unlike ``bytearray``.
    body = BytesIO()
    async for piece in content.iter_any():
        if body.write(piece) and body.tell() > EXCLUSIVE_BYTES:
            # The vendor stops sending while a response is not read, so the other responses of this call wait there.
            async with meter.large_response:
                return _check_decodable(await _read_large(content, body, meter))
    return _check_decodable(body.getvalue())


async def _read_large(content: aiohttp.StreamReader, body: BytesIO, meter: ResponseMeter) -> bytes:
    """Read the rest of a large response, counting it as it arrives."""
    async for piece in content.iter_any():
        body.write(piece)
        if body.tell() > MAX_RESPONSE_BYTES:
            raise BodyTooLarge
        if body.tell() > LARGE_BYTES:
            meter.count_response(body.tell())
    return body.getvalue()


def _check_decodable(body: bytes) -> bytes:
    """Return *body*. Raises ``BodyTooLarge`` if decoding it would block the event loop for too long."""
    # A body with fewer bytes than the limit of values cannot contain more values.
    too_many_values = len(body) > MAX_RESPONSE_VALUES and body.count(b",") > MAX_RESPONSE_VALUES
    if too_many_values or len(body) > MAX_RESPONSE_BYTES:
        raise BodyTooLarge
    return body
