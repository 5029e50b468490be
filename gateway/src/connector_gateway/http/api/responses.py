"""HTTP responses: envelopes and errors as bodies, and the sending of large ones."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import structlog
from msgspec import Struct
from pydantic_core import to_json
from starlette.types import Send

from connector_gateway.core.calls.response_envelope import Envelope, error_envelope
from connector_gateway.core.history.runs import Run
from connector_gateway.http.api.request_context import RequestContext
from connector_gateway.http.api.response_headers import RawHeaders, common_headers
from connector_gateway.http.server.connection_limits import LARGE_BYTES, ClientConnection
from connector_gateway.http.server.response_writer import ResponseWriter
from connector_gateway.kit.errors import GatewayError, ServiceFailure
from connector_gateway.kit.models import Piece
from connector_gateway.kit.operation import AnyConnector

JSON = b"application/json"
DRY_RUN = "application/vnd.connector-gateway.dry-run+json"
"""The media type of dry-run responses, which distinguishes them from the response of the write."""

log = structlog.get_logger()


class HttpResponse(Struct):
    """An HTTP response before encoding."""

    status: int
    body: bytes
    headers: Iterable[tuple[bytes, bytes]] = ()
    more: Sequence[Piece] = ()
    """Further pieces of the body, if it is too large to be copied into one buffer."""

    media_type: bytes = JSON


async def send_response(context: RequestContext, response: HttpResponse, send: Send) -> None:
    """Send *response*, which ends with a newline for terminals, with the headers that every response carries."""
    headers = [(b"content-type", response.media_type), *common_headers(context), *response.headers]
    body, is_head = response.body + b"\n", context.scope["method"] == "HEAD"
    is_whole = not response.more and len(body) <= LARGE_BYTES and not is_head
    if is_whole and isinstance(send, ResponseWriter):
        await send.send_whole(response.status, headers, body)
        return
    size = len(body) + sum(map(len, response.more))
    headers.append((b"content-length", b"%d" % size))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    if is_head:
        await send({"type": "http.response.body", "body": b""})
    elif is_whole:
        await send({"type": "http.response.body", "body": body})
    else:
        await _send_large(context.client, [response.body, *response.more, b"\n"], size, send)


async def _send_large(client: ClientConnection, pieces: Iterable[Piece], size: int, send: Send) -> None:
    """Send a large body no faster than the client reads it, and count it as buffered until then."""
    client.reserve_buffer(size)
    try:
        await send_chunked(client, pieces, send)
    finally:
        client.release()


async def send_chunked(client: ClientConnection, pieces: Iterable[Piece], send: Send) -> None:
    """Send a large body no faster than the client reads it, interleaved with other responses."""
    for piece in pieces:
        view = memoryview(bytes(piece))  # slices of it are not copied
        for start in range(0, len(view), LARGE_BYTES):
            await client.drain()
            await send({"type": "http.response.body", "body": view[start : start + LARGE_BYTES], "more_body": True})
    await send({"type": "http.response.body", "body": b""})


def success_response(envelope: Envelope) -> HttpResponse:
    """Return the response to a successful call."""
    headers: RawHeaders = [(b"idempotent-replayed", b"true")] if envelope.replayed else []
    headers += [(b"warning", b'199 - "%b"' % _to_quoted_text(warning)) for warning in envelope.warnings]
    body, *more = envelope.to_json()
    return HttpResponse(200, bytes(body), headers, more, DRY_RUN.encode() if envelope.dry_run else JSON)


def _to_quoted_text(text: str) -> bytes:
    """Return *text* with single quotation marks and without other characters that are invalid in a quoted value."""
    return re.sub(r"[^ !#-\[\]-~]", "?", text.replace('"', "'")).encode()


def management_response(data: Any, *, next_cursor: str | None = None, paged: bool = False) -> HttpResponse:
    """Return the response of a management route."""
    return HttpResponse(200, to_json({"data": data} | ({"next_cursor": next_cursor} if paged else {})))


def error_response(run: Run, connector: AnyConnector | None, error: GatewayError) -> HttpResponse:
    """Return the response to a call that ended with *error*, and log its private details."""
    log_private(run, error)
    headers: RawHeaders = []
    if error.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    if error.retry_after is not None:
        headers.append((b"retry-after", str(error.retry_after).encode()))
    return HttpResponse(error.status, to_json(error_envelope(run, connector, error)), headers)


def log_private(run: Run, error: GatewayError) -> None:
    """Log the private details of *error*, which responses omit."""
    if error.private or isinstance(error, ServiceFailure):
        private = run.redaction.text(error.private)
        log.warning("request failed", run_id=run.run_id, code=error.code, private=private, **_cause(run, error))


def _cause(run: Run, error: GatewayError) -> dict[str, str]:
    """Return the traceback of an internal error, as a field for the log."""
    cause = error.__cause__ if isinstance(error, ServiceFailure) else None
    return {} if cause is None else {"exception": run.redaction.traceback(cause)}
