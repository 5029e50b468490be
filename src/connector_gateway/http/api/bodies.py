"""Request bodies: read whole, up to a limit, before anything else is done."""

from connector_gateway.core.calls.arguments import Body
from connector_gateway.core.calls.error_details import truncate
from connector_gateway.http.api.responses import RequestContext
from connector_gateway.http.server.connection_limits import LARGE_BYTES
from connector_gateway.kit.errors import InvalidJson, PayloadTooLarge, RequestIncomplete, UnsupportedMediaType

JSON_TYPE = "application/json"
PLAIN = "identity"
"""The ``Content-Encoding`` of a body that is sent as it is."""


async def read_raw(exchange: RequestContext, max_bytes: int) -> bytes:
    """The body of a request as it came; ``PayloadTooLarge`` beyond the limit."""
    body = await _read(exchange, max_bytes)
    if body is None:
        raise _too_large(max_bytes)
    return body


async def read_body(exchange: RequestContext, max_bytes: int) -> Body:
    """The JSON body of a request, or why it cannot be read; nothing is raised yet, unless it did not arrive whole."""
    text = await _read(exchange, max_bytes)
    if text is None:
        return Body(refusal=_too_large(max_bytes))
    encoding = exchange.header(b"content-encoding") or PLAIN
    if encoding.strip().lower() != PLAIN:
        return Body(
            refusal=UnsupportedMediaType(
                f"The body is encoded as {truncate(encoding)}; bodies are taken as they are.",
                {"header": "content-encoding"},
                remedy="Send the body without Content-Encoding.",
            )
        )
    content_type = (exchange.header(b"content-type") or "").partition(";")[0].strip().lower()
    if content_type != JSON_TYPE and (text or content_type):
        return Body(refusal=UnsupportedMediaType(_declared(content_type)))
    if not text:
        return Body(refusal=InvalidJson("The request has no body."))
    return Body(text)


async def _read(exchange: RequestContext, max_bytes: int) -> bytes | None:
    """The body; None where it is too large, ``RequestIncomplete`` where it does not arrive whole."""
    declared = exchange.header(b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > max_bytes:
        return None
    # Many bodies that grow at the same time, each in one piece, would leave gaps as large as themselves.
    pieces: list[bytes] = []
    size = 0
    try:
        while size <= max_bytes:
            message = await exchange.receive()
            if message["type"] == "http.disconnect":
                raise RequestIncomplete("The connection ended before the body did.")
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if not message.get("more_body", False):
                return b"".join(pieces) if size <= max_bytes else None
            if exchange.client.body_overdue:
                raise RequestIncomplete("The body did not arrive in time.")
            if size > LARGE_BYTES:
                exchange.client.reserve_buffer(size)
    finally:
        exchange.client.release()
    return None


def _declared(content_type: str) -> str:
    return f"The body is declared as {truncate(content_type)}." if content_type else "The body has no Content-Type."


def _too_large(max_bytes: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"The body is larger than {max_bytes} bytes.", {"max_bytes": max_bytes})
