"""Whole responses written in one piece: status line, headers and body.

uvicorn writes head and body separately, and each write is a system call that wakes the client. One write instead of two
saves more than 3 % of a call. Responses with other headers, and connections in an unusual state, are left to uvicorn.
"""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import cast

from starlette.types import Message, Receive, Scope, Send
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

SIMPLE_HEADERS = frozenset(
    {
        b"cache-control",
        b"content-length",
        b"content-type",
        b"date",
        b"idempotent-replayed",
        b"preference-applied",
        b"ratelimit",
        b"ratelimit-policy",
        b"retry-after",
        b"server-timing",
        b"warning",
        b"www-authenticate",
        b"x-request-id",
        b"x-run-id",
        b"x-service-counting",
        b"x-service-ratelimit-remaining",
    }
)
"""Headers that do not affect the connection, except for the length of the body."""

END: Message = {"type": "http.response.body"}
"""The empty end of a body."""

CONTROLS = bytes([*range(9), *range(10, 32), 127])
"""Control characters, which are invalid in a header."""

Headers = Sequence[tuple[bytes, bytes]]


def with_response_writer(cycle: RequestResponseCycle, app: ASGI3Application) -> ASGI3Application:
    """Return *app*, wrapped so that its ``send`` for the request of *cycle* is a ``ResponseWriter``."""
    return cast("ASGI3Application", partial(_run, cycle, app))


def _run(
    cycle: RequestResponseCycle, app: Callable[..., Awaitable[None]], scope: Scope, receive: Receive, send: Send
) -> Awaitable[None]:
    return app(scope, receive, ResponseWriter(cycle, send))


class ResponseWriter:
    """The ``send`` of an ASGI application, which can also send a whole response."""

    __slots__ = ("_cycle", "_send")

    def __init__(self, cycle: RequestResponseCycle, send: Send) -> None:
        self._cycle = cycle
        self._send = send

    def __call__(self, message: Message) -> Awaitable[None]:
        """Send one message."""
        return self._send(message)

    async def send_whole(self, status: int, headers: Headers, body: bytes) -> None:
        """Send a response to a request other than HEAD. *headers* do not include the length of *body*."""
        cycle, headers = self._cycle, [*headers, (b"content-length", b"%d" % len(body))]
        head = encode_head(status, [*cycle.default_headers, *headers]) if _is_usual(cycle) else None
        if head is None:
            await self._send({"type": "http.response.start", "status": status, "headers": headers})
            await self._send({"type": "http.response.body", "body": body})
            return
        cycle.response_started, cycle.waiting_for_100_continue = True, False
        cycle.chunked_encoding, cycle.expected_content_length = False, 0
        cycle.transport.write(head + body)
        await self._send(END)


def _is_usual(cycle: RequestResponseCycle) -> bool:
    """Return True if the connection is open, is kept alive, and accepts a response now."""
    started = cycle.response_started or cycle.disconnected
    return cycle.keep_alive and not started and not cycle.flow.write_paused and not cycle.access_log


def encode_head(status: int, headers: Headers) -> bytes | None:
    """Return the encoded head, or None if uvicorn has to encode it."""
    if not SIMPLE_HEADERS.issuperset(dict(headers)):
        return None
    fields = b"\r\n".join(map(b": ".join, headers))
    # Only the line ends between headers may contain control characters.
    if len(fields) - len(fields.translate(None, CONTROLS)) != 2 * (len(headers) - 1):
        return None
    return b"%b%b\r\n\r\n" % (STATUS_LINE[status], fields)
