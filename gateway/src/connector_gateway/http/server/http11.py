"""The HTTP/1.1 protocol of a client connection: uvicorn's, with limits on requests, waits and responses.

uvicorn limits only the time between requests, with a timer for each. This module also limits the bytes of headers and
trailers, the number of pipelined requests, and the time for a request and for a response. One timer serves all
connections (``ClientConnections``).

The parser calls back for every header. To keep that path fast, received bytes are counted per read, and the headers
themselves are measured only if the reads could contain too many bytes.
"""

from asyncio import AbstractEventLoop, BaseTransport, Transport
from collections.abc import Iterable
from enum import Enum, auto
from typing import Any, cast

import httptools
from pydantic_core import to_json
from uvicorn import Config
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from connector_gateway.core.calls.response_envelope import error_envelope
from connector_gateway.core.history.runs import Run
from connector_gateway.http.server.connection_limits import ClientConnections, client_network, unmap_ipv4
from connector_gateway.http.server.response_writer import with_response_writer
from connector_gateway.kit import errors

HEAD_SECONDS = 10.0
"""Seconds that request line and headers may take, and that a new connection may take until its first request."""

BODY_SECONDS = 30.0
IDLE_SECONDS = 5.0
"""Seconds that a connection waits for its next request."""

UNREAD_SECONDS = 60.0
"""Seconds that a response waits for a client that does not read it."""

LINGER_SECONDS = 5.0
"""Seconds that the connection of a rejected client stays open, so that it can read the error."""

MAX_HEAD_BYTES = 64 * 1024
"""The maximum size of request line, headers, trailers and the framing of the body together."""

CHUNK_OVERHEAD_BYTES = 16
"""The framing of one chunk of a body: its length and the line ends."""

MAX_PIPELINED = 100
"""The maximum number of pipelined requests."""

MIN_READ_BYTES = 16 * 1024
"""The part of a response that a client must read within ``UNREAD_SECONDS``, unless it is shorter."""

RETRY_AFTER_SECONDS = 5


class ConnectionState(Enum):
    """The states of a connection, by the data that it expects from the client."""

    NEW = auto()
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    BODY_OVERDUE = auto()
    """The body is overdue. The application is notified and responds."""

    RESPONDING = auto()
    LINGERING = auto()
    """Nothing more: further data is discarded."""


class ClientProtocol(HttpToolsProtocol):
    """A client connection."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: AbstractEventLoop | None = None,
        *,
        clients: ClientConnections,
    ) -> None:
        super().__init__(config, server_state, {**app_state, "client": self}, _loop)
        self.address = ""
        self.last_active_at = self._since = self.loop.time()
        self._clients = clients
        self._phase = ConnectionState.NEW
        self._piece_bytes = 0
        """The size of the read that is being parsed."""

        self._framing_bytes = 0
        """Bytes of the request without its body, from the reads after the one in which it began."""

        self._shared_bytes = 0
        """The size of the read in which the request may have begun, after the end of the previous request."""

        self._head_too_large = False
        self._unread_bytes = 0
        self._unread_since = 0.0
        self._resumed = False
        self._active_cycle: RequestResponseCycle | None = None

    # Used by the application (``ClientConnection``)

    @property
    def body_overdue(self) -> bool:
        """Whether the request body has exceeded its time limit."""
        return self._phase is ConnectionState.BODY_OVERDUE

    def reserve_buffer(self, size_bytes: int) -> None:
        """Set the number of bytes buffered for this connection."""
        self._clients.reserve_buffer(self, size_bytes)

    def release(self) -> None:
        """Release the buffer of this connection."""
        self._clients.release(self)

    async def drain(self) -> None:
        """Wait until the client has read the data sent so far and this connection may send its next part."""
        await self.flow.drain()
        await self._clients.wait_for_send_slice()

    def close_after_response(self) -> None:
        """Send ``Connection: close`` with the response in progress, unless its headers are already sent.

        An idle connection stays open, since a request may already be in transit.
        """
        cycle = cast(RequestResponseCycle | None, self.cycle)
        if cycle is not None and not cycle.response_started:
            cycle.keep_alive = False

    # Called by the event loop

    def connection_made(self, transport: BaseTransport) -> None:
        """Accept the connection, or reject it if there are too many."""
        super().connection_made(cast(Transport, transport))
        if self.client:
            # A socket for both families reports IPv4 addresses as IPv6.
            self.client = unmap_ipv4(self.client[0]), self.client[1]
            self.address = client_network(self.client[0])
        if not self._clients.try_add(self):
            self._reject(errors.Overloaded("There are too many connections.", retry_after=RETRY_AFTER_SECONDS))

    def connection_lost(self, exc: Exception | None) -> None:
        """Release everything that belongs to the connection."""
        super().connection_lost(exc)
        if self._active_cycle is not None:
            # uvicorn notifies only the newest request, which is another one if requests are pipelined.
            self._active_cycle.disconnected = True
            self._active_cycle.message_event.set()
        self._clients.remove(self)

    def data_received(self, data: bytes) -> None:
        """Parse *data* and check the size of the request."""
        if self._phase is ConnectionState.LINGERING:
            return
        self.last_active_at = self.loop.time()
        # Compared by identity, because hashing a member of an enumeration calls Python code.
        if self._phase is ConnectionState.IDLE or self._phase is ConnectionState.RESPONDING:
            self._enter(ConnectionState.HEAD)
        self._piece_bytes = len(data)
        self._framing_bytes += self._piece_bytes
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return  # no upgrade is supported, so the request gets a normal response
        except httptools.HttpParserError:
            self._reject(self._parse_error())
            return
        if self._framing_bytes > MAX_HEAD_BYTES:
            self._reject(_too_large())

    def resume_writing(self) -> None:
        """Record that the client is reading again."""
        self._resumed = True
        self.last_active_at = self.loop.time()
        super().resume_writing()

    # Called by the parser

    def on_message_begin(self) -> None:
        """Start a request."""
        super().on_message_begin()
        self._phase, self._since = ConnectionState.HEAD, self.last_active_at

    def on_headers_complete(self) -> None:
        """Pass the request to the application, after the requests before it."""
        if self._framing_bytes + self._shared_bytes > MAX_HEAD_BYTES:
            self._check_head_size(self.headers)
        if len(self.pipeline) >= MAX_PIPELINED:
            raise errors.MalformedRequest("Too many requests were pipelined.")
        super().on_headers_complete()
        # Trailers follow, which no endpoint reads.
        self.headers = []
        self._phase, self._since = ConnectionState.BODY, self.last_active_at

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._active_cycle = cycle
        super()._start_asgi_task(cycle, with_response_writer(cycle, app))

    def on_chunk_header(self) -> None:
        """Exclude the framing of one chunk from the count."""
        self._framing_bytes -= CHUNK_OVERHEAD_BYTES

    def on_body(self, body: bytes) -> None:
        """Exclude the body from the count and pass it on."""
        self._framing_bytes -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Finish the request."""
        if self._framing_bytes + self._shared_bytes > MAX_HEAD_BYTES:
            self._check_head_size(self.scope["headers"], self.headers)
        super().on_message_complete()
        self._framing_bytes, self._shared_bytes = 0, self._piece_bytes
        self._enter(ConnectionState.IDLE if self.cycle.response_complete else ConnectionState.RESPONDING)

    # Called at the end of a response

    def on_response_complete(self) -> None:
        """Start the next pipelined request, or wait for one: like uvicorn's method, but without a timer of its own."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._phase is ConnectionState.RESPONDING:
            self._phase, self._since = ConnectionState.IDLE, self.loop.time()

    # Timeouts and limits

    def check_timeouts(self, now: float) -> None:
        """Handle timeouts that have expired by *now*."""
        if self._is_stalled(now):
            self.abort("answer_not_read")
        elif self._phase is ConnectionState.BODY and self.flow.read_paused:
            self._since = now  # the gateway itself is not reading
        elif now - self._since >= _TIMEOUTS.get(self._phase, float("inf")):
            self._handle_timeout(now)

    def abort(self, reason: str) -> None:
        """Abort the connection immediately."""
        self._clients.record_rejection(self, reason)
        self.transport.abort()

    def _is_stalled(self, now: float) -> bool:
        """Return True if the client has stopped reading its response, even while the connection is closing."""
        unread = self.transport.get_write_buffer_size()
        progressed = self._unread_bytes == 0 or unread <= self._unread_bytes - MIN_READ_BYTES or self._resumed
        if unread == 0 or progressed:
            self._unread_bytes, self._unread_since, self._resumed = unread, now, False
        return now - self._unread_since >= UNREAD_SECONDS

    def _handle_timeout(self, now: float) -> None:
        if self._phase is ConnectionState.BODY:
            self._phase, self._since = ConnectionState.BODY_OVERDUE, now
            self.cycle.message_event.set()
        elif self._phase is ConnectionState.HEAD:
            self._reject(errors.RequestIncomplete("The headers did not arrive in time."))
        elif self._phase is ConnectionState.IDLE:
            self.transport.close()
        else:
            # A connection without a request is not logged: proxies and monitors open connections in advance.
            self.transport.abort()

    def _enter(self, phase: ConnectionState) -> None:
        self._phase, self._since = phase, self.last_active_at

    def _check_head_size(self, *blocks: Iterable[tuple[bytes, bytes]]) -> None:
        """Raise ``HeadersTooLarge`` if the URL, headers and trailers are too large together."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for block in blocks for name, value in block)
        self._head_too_large = size > MAX_HEAD_BYTES
        if self._head_too_large:
            raise _too_large()

    def _parse_error(self) -> errors.GatewayError:
        if self._head_too_large:
            return _too_large()
        return errors.MalformedRequest("The request is not valid HTTP.")

    def _reject(self, error: errors.GatewayError) -> None:
        """Respond with *error* and close. If another response is in progress, abort the connection instead."""
        self._enter(ConnectionState.LINGERING)
        cycle = cast(RequestResponseCycle | None, self.cycle)
        if cycle is not None and not cycle.response_complete:
            self.abort(error.code)
            return
        run = Run("http")
        self._clients.record_rejection(self, error.code, run.run_id)
        body = to_json(error_envelope(run, None, error)) + b"\n"
        self.transport.write(
            STATUS_LINE[error.status]
            + b"content-type: application/json\r\ncache-control: no-store\r\nconnection: close\r\n"
            + b"x-run-id: %b\r\ncontent-length: %d\r\n\r\n" % (run.run_id.encode(), len(body))
            + body
        )
        # Closing now, with unread bytes from the client, would reset the connection and lose the response.
        self.transport.write_eof()


_TIMEOUTS = {
    ConnectionState.NEW: HEAD_SECONDS,
    ConnectionState.IDLE: IDLE_SECONDS,
    ConnectionState.HEAD: HEAD_SECONDS,
    ConnectionState.BODY: BODY_SECONDS,
    ConnectionState.BODY_OVERDUE: LINGER_SECONDS,
    ConnectionState.LINGERING: LINGER_SECONDS,
}


def _too_large() -> errors.HeadersTooLarge:
    return errors.HeadersTooLarge(f"The headers are larger than {MAX_HEAD_BYTES} bytes.", {"max_bytes": MAX_HEAD_BYTES})
