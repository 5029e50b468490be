"""HTTP/1.1 as it is spoken with a client: uvicorn's, with every request, wait and answer bounded.

uvicorn bounds the time between requests alone. What else one connection may take is told here: bytes of headers and
trailers, requests sent ahead, and time for a request and for an answer. One timer serves all connections (``Clients``).

The parser calls back for every header. Nothing of ours is done there: what has come is counted piece by piece, and the
headers themselves only where the pieces could hold too many (decision 45).
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

from connector_gateway.core.calls.envelope import error_envelope
from connector_gateway.core.history.runs import Run
from connector_gateway.http.server.connection_limits import ClientConnections, network, unmapped
from connector_gateway.http.server.response_head import with_response_heads
from connector_gateway.kit import errors

HEAD_SECONDS = 10.0
"""How long request line and headers may take from their first byte, and a new connection until its first request."""

BODY_SECONDS = 30.0
UNREAD_SECONDS = 60.0
"""How long an answer waits for a client that takes nothing of it."""

LINGER_SECONDS = 5.0
"""How long is listened to a client that was refused, so that it can read why."""

MAX_HEAD_BYTES = 64 * 1024
"""Request line, headers and trailers together, and whatever else frames a body."""

CHUNK_BYTES = 16
"""Around each chunk of a body: its length and the ends of lines."""

MAX_AHEAD = 100
"""Requests that a client may send before it was answered."""

TAKEN_BYTES = 16 * 1024
"""What a client must take of an answer in ``UNREAD_SECONDS``, unless that is all of it."""

RETRY_AFTER_SECONDS = 5


class ConnectionState(Enum):
    """What is expected of the client."""

    NEW = auto()
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    LATE = auto()
    """A body that takes too long; the service is told, and answers."""

    LEAVING = auto()
    """Nothing; what still comes is thrown away."""


class ClientProtocol(HttpToolsProtocol):
    """One connection."""

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
        self.moved_at = self._since = self.loop.time()
        self._clients = clients
        self._phase = ConnectionState.NEW
        self._piece_bytes = 0
        """The size of the piece that is being parsed."""

        self._framing_bytes = 0
        """What came of the request, without its body; the pieces that came after the one in which it began."""

        self._shared_bytes = 0
        """The size of the piece in which the request may have begun, behind the end of the one before."""

        self._has_large_head = False
        self._unread_bytes = 0
        self._unread_since = 0.0
        self._resumed = False
        self._answering: RequestResponseCycle | None = None

    # What the application may use (``Client``)

    @property
    def body_overdue(self) -> bool:
        """Whether the body of the request takes longer than it may."""
        return self._phase is ConnectionState.LATE

    def reserve_buffer(self, size_bytes: int) -> None:
        """Count what is held in memory for this connection."""
        self._clients.hold(self, size_bytes)

    def release(self) -> None:
        """Nothing large is held any more."""
        self._clients.release(self)

    async def drain(self) -> None:
        """Wait until the client has taken what it was sent, and until it is its turn to be sent a part of more."""
        await self.flow.drain()
        await self._clients.wait_for_send_slice()

    def close_after_response(self) -> None:
        """Have the answer under way be the last one, unless it has begun and could not tell so any more.

        An idle connection stays, for a request may be on its way.
        """
        cycle = cast(RequestResponseCycle | None, self.cycle)
        if cycle is not None and not cycle.response_started:
            cycle.keep_alive = False

    # What the event loop calls

    def connection_made(self, transport: BaseTransport) -> None:
        """Take the connection, unless there are too many."""
        super().connection_made(cast(Transport, transport))
        if self.client:
            # A socket for both families reports IPv4 addresses as IPv6.
            self.client = unmapped(self.client[0]), self.client[1]
            self.address = network(self.client[0])
        if not self._clients.join(self):
            self._refuse(errors.Overloaded("There are too many connections.", retry_after=RETRY_AFTER_SECONDS))

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of everything."""
        super().connection_lost(exc)
        if self._answering is not None:
            # uvicorn tells only the newest request, which is another one where requests were sent ahead.
            self._answering.disconnected = True
            self._answering.message_event.set()
        self._clients.leave(self)

    def data_received(self, data: bytes) -> None:
        """Read on in the request."""
        if self._phase is ConnectionState.LEAVING:
            return
        self._unset_keepalive_if_required()
        self.moved_at = self.loop.time()
        if self._phase is ConnectionState.IDLE:
            self._enter(ConnectionState.HEAD)
        self._piece_bytes = len(data)
        self._framing_bytes += self._piece_bytes
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            return  # what it asks for is not there; it is answered as it stands
        except httptools.HttpParserError:
            self._refuse(self._fault())
            return
        if self._framing_bytes > MAX_HEAD_BYTES:
            self._refuse(_too_large())

    def resume_writing(self) -> None:
        """Note that the client takes what it is sent."""
        self._resumed = True
        self.moved_at = self.loop.time()
        super().resume_writing()

    # What the parser calls

    def on_message_begin(self) -> None:
        """Begin a request."""
        super().on_message_begin()
        self._phase, self._since = ConnectionState.HEAD, self.moved_at

    def on_headers_complete(self) -> None:
        """Have the request answered, once those before it are."""
        if self._framing_bytes + self._shared_bytes > MAX_HEAD_BYTES:
            self._require_small(self.headers)
        if len(self.pipeline) >= MAX_AHEAD:
            raise errors.MalformedRequest("Too many requests were sent ahead.")
        super().on_headers_complete()
        # What follows are trailers, which are nobody's.
        self.headers = []
        self._phase, self._since = ConnectionState.BODY, self.moved_at

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, with_response_heads(cycle, app))

    def on_chunk_header(self) -> None:
        """Forgive what every chunk needs."""
        self._framing_bytes -= CHUNK_BYTES

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._framing_bytes -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the request."""
        if self._framing_bytes + self._shared_bytes > MAX_HEAD_BYTES:
            self._require_small(self.scope["headers"], self.headers)
        super().on_message_complete()
        self._framing_bytes, self._shared_bytes = 0, self._piece_bytes
        self._phase, self._since = ConnectionState.IDLE, self.moved_at

    # What is too late or too much

    def check_timeouts(self, now: float) -> None:
        """End what has lasted too long by *now*."""
        if self._stands_still(now):
            self.abort("answer_not_read")
        elif self._phase is ConnectionState.BODY and self.flow.read_paused:
            self._since = now  # it is this service that is not ready for more
        elif now - self._since >= _SECONDS.get(self._phase, float("inf")):
            self._end_waiting(now)

    def abort(self, reason: str) -> None:
        """Break the connection at once."""
        self._clients.refuse(self, reason)
        self.transport.abort()

    def _stands_still(self, now: float) -> bool:
        """Whether the client has taken nothing of its answer for too long, while the connection is closed as well."""
        unread = self.transport.get_write_buffer_size()
        taken = self._unread_bytes == 0 or unread <= self._unread_bytes - TAKEN_BYTES or self._resumed
        if unread == 0 or taken:
            self._unread_bytes, self._unread_since, self._resumed = unread, now, False
        return now - self._unread_since >= UNREAD_SECONDS

    def _end_waiting(self, now: float) -> None:
        if self._phase is ConnectionState.BODY:
            self._phase, self._since = ConnectionState.LATE, now
            self.cycle.message_event.set()
        elif self._phase is ConnectionState.HEAD:
            self._refuse(errors.RequestIncomplete("The headers did not arrive in time."))
        else:
            # One that said nothing is nothing to tell of: proxies and monitors open connections to have them ready.
            self.transport.abort()

    def _enter(self, phase: ConnectionState) -> None:
        self._phase, self._since = phase, self.moved_at

    def _require_small(self, *blocks: Iterable[tuple[bytes, bytes]]) -> None:
        """Refuse an address, headers and trailers that are too large together."""
        size = len(self.url) + sum(len(name) + len(value) + 4 for block in blocks for name, value in block)
        self._has_large_head = size > MAX_HEAD_BYTES
        if self._has_large_head:
            raise _too_large()

    def _fault(self) -> errors.GatewayError:
        if self._has_large_head:
            return _too_large()
        return errors.MalformedRequest("This is no HTTP request that can be understood.")

    def _refuse(self, error: errors.GatewayError) -> None:
        """Say why nothing more is taken; where another answer is under way, end that instead."""
        self._enter(ConnectionState.LEAVING)
        cycle = cast(RequestResponseCycle | None, self.cycle)
        if cycle is not None and not cycle.response_complete:
            self.abort(error.code)
            return
        run = Run("http")
        self._clients.refuse(self, error.code, run.run_id)
        body = to_json(error_envelope(run, None, error)) + b"\n"
        self.transport.write(
            STATUS_LINE[error.status]
            + b"content-type: application/json\r\ncache-control: no-store\r\nconnection: close\r\n"
            + b"x-run-id: %b\r\ncontent-length: %d\r\n\r\n" % (run.run_id.encode(), len(body))
            + body
        )
        # Closing now, with bytes of the client unread, would make its system throw the answer away.
        self.transport.write_eof()


_SECONDS = {
    ConnectionState.NEW: HEAD_SECONDS,
    ConnectionState.HEAD: HEAD_SECONDS,
    ConnectionState.BODY: BODY_SECONDS,
    ConnectionState.LATE: LINGER_SECONDS,
    ConnectionState.LEAVING: LINGER_SECONDS,
}


def _too_large() -> errors.HeadersTooLarge:
    return errors.HeadersTooLarge(f"The headers are larger than {MAX_HEAD_BYTES} bytes.", {"max_bytes": MAX_HEAD_BYTES})
