"""Heads of answers: status line and headers, written in one piece where they are ours, and together with a short body.

uvicorn looks through each header by two patterns and four comparisons. With the nine that every answer has, that was a
fifteenth of a call (decision 73). It also writes head and body separately, and each write is a system call that wakes
the client. It is asked as before wherever anything is out of the ordinary.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

from starlette.types import Message, Receive, Scope, Send
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from connector_gateway.http.server.connection_limits import LARGE_BYTES

OURS = frozenset(
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
"""Headers that say nothing of the connection but the length of the body."""

END: Message = {"type": "http.response.body"}
"""Nothing more of a body, and no more to come."""

CONTROLS = bytes([*range(9), *range(10, 32), 127])
"""What may not stand in a header."""


def with_response_heads(cycle: RequestResponseCycle, app: ASGI3Application) -> ASGI3Application:
    """*app*, whose answer to the request of *cycle* has its head written here."""
    return cast("ASGI3Application", partial(_answered, cycle, app))


def _answered(
    cycle: RequestResponseCycle, app: Callable[..., Awaitable[None]], scope: Scope, receive: Receive, send: Send
) -> Awaitable[None]:
    return app(scope, receive, _Sender(cycle, send))


class _Sender:
    """Sends one answer; a body in one piece goes out together with its head, since each write is a system call."""

    __slots__ = ("_cycle", "_head", "_send")

    def __init__(self, cycle: RequestResponseCycle, send: Send) -> None:
        self._cycle = cycle
        self._send = send
        self._head = b""
        """What is to be written before the body."""

    def __call__(self, message: Message) -> Awaitable[None]:
        if message["type"] == "http.response.start" and _is_usual(self._cycle):
            head = encode_head(message["status"], [*self._cycle.default_headers, *message.get("headers", ())])
            if head is not None:
                return self._begin(*head)
        return self._send(self._after_head(message) if self._head else message)

    async def _begin(self, head: bytes, length: int) -> None:
        """Keep *head* until the body comes, and have uvicorn expect that."""
        self._cycle.response_started, self._cycle.waiting_for_100_continue = True, False
        self._cycle.chunked_encoding, self._cycle.expected_content_length = False, length
        self._head = head

    def _after_head(self, message: Message) -> Message:
        """Write the head, together with the body where that is whole; returns what is left to uvicorn."""
        cycle, body, head = self._cycle, message.get("body", b""), self._head
        self._head = b""
        whole = cycle.expected_content_length == len(body) <= LARGE_BYTES and not message.get("more_body", False)
        if cycle.disconnected:
            return message
        if not whole or cycle.scope["method"] == "HEAD":
            cycle.transport.write(head)
            return message
        cycle.transport.write(head + body)
        cycle.expected_content_length = 0
        return END


def _is_usual(cycle: RequestResponseCycle) -> bool:
    """Whether the connection is open and stays so, and takes an answer now."""
    begun = cycle.response_started or cycle.disconnected
    return cycle.keep_alive and not begun and not cycle.flow.write_paused and not cycle.access_log


def encode_head(status: int, headers: list[tuple[bytes, bytes]]) -> tuple[bytes, int] | None:
    """The head as it goes out, and the length of the body; None where there is more to it."""
    by_name = dict(headers)
    length = by_name.get(b"content-length")
    if length is None or not by_name.keys() <= OURS:
        return None
    fields = b"\r\n".join(map(b": ".join, headers))
    # One line end between each two, and no other control character anywhere.
    if len(fields) - len(fields.translate(None, CONTROLS)) != 2 * (len(headers) - 1):
        return None
    return b"%b%b\r\n\r\n" % (STATUS_LINE[status], fields), int(length)
