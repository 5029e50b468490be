"""One server of a third party: requests go out straight on the pool's connections, and the pool's parser reads answers.

aiohttp's session makes a request, a task that writes it, a response and several dictionaries for each exchange. That
was an eighth of what a call costs, so only its pool and its parser are used here (decision 45).
"""

import re
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from io import BytesIO

import aiohttp
from aiohttp.client_reqrep import ConnectionKey
from aiohttp.connector import Connection
from yarl import URL

from connector_gateway.kit.upstream.memory_budget import LARGE_BYTES, ResponseMeter

MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""Larger answers are not read whole; attachments, the only large things, are streamed.

Reading one as its shape holds the event loop: 4 ms a mebibyte for what applications answer (decision 48).
"""

ALONE_BYTES = 64 * 1024
"""Larger answers to one call arrive one after the other; what has arrived of the others is less than a read."""

MAX_ANSWER_VALUES = 150_000
"""What holds more values, by its commas, is not read either: a value of the dearest kind takes 0.3 µs (decision 48)."""

WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""Methods whose requests say nothing of a body where they have none."""

WITH_BODY = frozenset({"PATCH", "POST", "PUT"})
"""Methods whose requests always say of what type their body is."""

_UNFIT = re.compile("[\x00-\x08\x0a-\x1f\x7f]")
"""What may not stand in a header."""


class SendWindowMissed(Exception):
    """There was a connection too late: the request did not leave."""


class BodyTooLarge(Exception):
    """The answer is larger than answers are read; what was asked for may have been done."""


def never() -> bool:
    """Whether a request that no budget counts is too late."""
    return False


class _Described(aiohttp.ClientRequest):
    """Stands for all requests to one server where the pool looks for a connection; it is never sent."""

    @cached_property
    def connection_key(self) -> ConnectionKey:
        """By what the pool knows the server; aiohttp puts it together whenever it is asked for."""
        return super().connection_key


class HttpOrigin:
    """The server at one scheme, host and port."""

    def __init__(self, session: aiohttp.ClientSession, address: str) -> None:
        if session.connector is None:
            raise RuntimeError("The pool is closed.")
        self._pool = session.connector
        self._timeout = session.timeout
        self._described = _Described("GET", URL(address), headers=session.headers, session=session)
        self._fields = lru_cache(maxsize=64)(self._common_fields)

    async def exchange(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | None,
        holding: ResponseMeter,
        *,
        stale: Callable[[], bool] = never,
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Send one request, and return status, headers and body of its answer; ``Stale`` if it is so by then."""
        request = self._written(method, target, headers, body)
        connection = await self._connected()
        # Nothing is waited for between here and the write: only a process that is frozen right now would send late.
        if stale():
            connection.release()
            raise SendWindowMissed
        try:
            answer = await _exchanged(connection, request, holding, skip_body=method == "HEAD")
        except BaseException:
            # What is still to come would be taken for the answer to the next request.
            connection.close()
            raise
        connection.release()
        return answer

    async def _connected(self) -> Connection:
        try:
            return await self._pool.connect(self._described, [], self._timeout)
        except TimeoutError as fault:
            raise aiohttp.ConnectionTimeoutError(f"Connection timeout to host {self._described.url}") from fault

    def _written(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None) -> bytes:
        first, fields = f"{method} {target} HTTP/1.1", [f"{name}: {value}" for name, value in headers.items()]
        _require_fit(first, *fields)
        if body is not None or method not in WITHOUT_BODY:
            fields.append(f"Content-Length: {len(body or b'')}")
        head = "\r\n".join([first, *self._fields(method, tuple(headers)), *fields])
        return b"%b\r\n\r\n%b" % (head.encode(), body or b"")

    def _common_fields(self, method: str, names: tuple[str, ...]) -> list[str]:
        """The headers of all requests, but for those that a request of *method* sets itself by *names*."""
        given = {name.lower() for name in names}
        fields = [f"{name}: {value}" for name, value in self._described.headers.items() if name.lower() not in given]
        if method in WITH_BODY and "content-type" not in given:
            fields.append("Content-Type: application/octet-stream")
        _require_fit(*fields)
        return fields


def _require_fit(*lines: str) -> None:
    """Refuse what would end a line before its end, or be read differently by others."""
    text = "".join(lines)
    # Nearly all is printable, and then nothing else need be looked for (decision 45).
    if not text.isprintable() and _UNFIT.search(text):
        raise ValueError("A header of a request holds control characters.")


async def _exchanged(
    connection: Connection, request: bytes, holding: ResponseMeter, *, skip_body: bool
) -> tuple[int, Mapping[str, str], bytes]:
    protocol, transport = connection.protocol, connection.transport
    if protocol is None or transport is None:
        raise aiohttp.ServerDisconnectedError
    protocol.set_response_params(skip_payload=skip_body, read_until_eof=True)
    transport.write(request)
    message, content = await protocol.read()
    # Those from 100 on only announce the answer.
    while 100 <= message.code < 200 and message.code != 101:
        message, content = await protocol.read()
    body = await read_body(content, message.headers, holding)
    if transport.get_write_buffer_size():
        # The server has answered before it was sent everything; the rest must not come before the next request.
        protocol.force_close()
    return message.code, message.headers, body


async def read_body(content: aiohttp.StreamReader, headers: Mapping[str, str], holding: ResponseMeter) -> bytes:
    """The body of an answer with *headers*; ``Oversized`` where it is too large."""
    # What has arrived whole is taken without waiting for its pieces (decision 15).
    if content.is_eof():
        return _readable(content.read_nowait())
    declared = headers.get("Content-Length", "")
    if declared.isdecimal() and int(declared) > MAX_ANSWER_BYTES:
        raise BodyTooLarge
    # Also where a length is declared: it is that of a compressed body, and says nothing of what comes out.
    # What it has grown to is handed over as it is; of a ``bytearray``, a copy would be made (decision 71).
    body = BytesIO()
    async for piece in content.iter_any():
        if body.write(piece) and body.tell() > ALONE_BYTES:
            # Who does not read is sent no more, so the others of the same call wait at their senders.
            async with holding.large_response:
                return _readable(await _large(content, body, holding))
    return _readable(body.getvalue())


async def _large(content: aiohttp.StreamReader, body: BytesIO, holding: ResponseMeter) -> bytes:
    """The rest of a large answer, counted as it arrives."""
    async for piece in content.iter_any():
        body.write(piece)
        if body.tell() > MAX_ANSWER_BYTES:
            raise BodyTooLarge
        if body.tell() > LARGE_BYTES:
            holding.count_response(body.tell())
    return body.getvalue()


def _readable(body: bytes) -> bytes:
    """*body*; ``Oversized`` where reading it would hold up everybody else."""
    # Fewer bytes than values are let be cannot hold more of them.
    crowded = len(body) > MAX_ANSWER_VALUES and body.count(b",") > MAX_ANSWER_VALUES
    if crowded or len(body) > MAX_ANSWER_BYTES:
        raise BodyTooLarge
    return body
