"""Heads of answers: status line and headers, written in one piece where they are ours.

uvicorn looks through each header by two patterns and four comparisons. With the nine that every answer has, that was a
fifteenth of a call (decision 73). It is asked as before wherever anything is out of the ordinary.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

from starlette.types import Message, Receive, Scope, Send
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

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

CONTROLS = bytes([*range(9), *range(10, 32), 127])
"""What may not stand in a header."""


def with_heads(cycle: RequestResponseCycle, app: ASGI3Application) -> ASGI3Application:
    """*app*, whose answer to the request of *cycle* has its head written here."""
    return cast("ASGI3Application", partial(_answered, cycle, app))


def _answered(
    cycle: RequestResponseCycle, app: Callable[..., Awaitable[None]], scope: Scope, receive: Receive, send: Send
) -> Awaitable[None]:
    return app(scope, receive, partial(_send, cycle, send))


def _send(cycle: RequestResponseCycle, send: Send, message: Message) -> Awaitable[None]:
    if message["type"] == "http.response.start" and _is_usual(cycle):
        head = head_of(message["status"], [*cycle.default_headers, *message.get("headers", ())])
        if head is not None:
            return _begin(cycle, *head)
    return send(message)


def _is_usual(cycle: RequestResponseCycle) -> bool:
    """Whether the connection is open and stays so, and takes an answer now."""
    begun = cycle.response_started or cycle.disconnected
    return cycle.keep_alive and not begun and not cycle.flow.write_paused and not cycle.access_log


def head_of(status: int, headers: list[tuple[bytes, bytes]]) -> tuple[bytes, int] | None:
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


async def _begin(cycle: RequestResponseCycle, head: bytes, length: int) -> None:
    """Write *head*, and have uvicorn expect the body."""
    cycle.response_started, cycle.waiting_for_100_continue = True, False
    cycle.chunked_encoding, cycle.expected_content_length = False, length
    cycle.transport.write(head)
