"""Request bodies, which are read completely, up to a limit, before a request is processed."""

from starlette.types import Message

from connector_gateway.core.calls.arguments import Body
from connector_gateway.core.error_serialization import truncate
from connector_gateway.http.api.request_context import RequestContext
from connector_gateway.http.server.connection_limits import LARGE_BYTES
from connector_gateway.kit.errors import InvalidJson, PayloadTooLarge, RequestIncomplete, UnsupportedMediaType

JSON_TYPE = "application/json"
IDENTITY = "identity"
"""The ``Content-Encoding`` of an unencoded body."""


async def read_raw(context: RequestContext, max_bytes: int) -> bytes:
    """Return the raw body of a request. Raises ``PayloadTooLarge`` if it exceeds the limit."""
    body = await _read(context, max_bytes)
    if body is None:
        raise _too_large(max_bytes)
    return body


async def read_body(context: RequestContext, max_bytes: int) -> Body:
    """Return the JSON body of a request, or the error for an unusable body, which is raised later.

    Raises ``RequestIncomplete`` immediately if the body does not arrive completely.
    """
    text = await _read(context, max_bytes)
    if text is None:
        return Body(error=_too_large(max_bytes))
    encoding = context.header(b"content-encoding")
    if encoding and encoding.strip().lower() != IDENTITY:
        return Body(
            error=UnsupportedMediaType(
                f"The Content-Encoding {truncate(encoding)} is not supported.",
                {"header": "content-encoding"},
                remedy="Send the body without Content-Encoding.",
            )
        )
    content_type = context.header(b"content-type") or ""
    if content_type != JSON_TYPE:
        content_type = content_type.partition(";")[0].strip().lower()
        if content_type != JSON_TYPE and (text or content_type):
            return Body(error=UnsupportedMediaType(_content_type_message(content_type)))
    if not text:
        return Body(error=InvalidJson("The request has no body."))
    return Body(text)


async def _read(context: RequestContext, max_bytes: int) -> bytes | None:
    """Return the body, or None if it is too large.

    Raises ``RequestIncomplete`` if it does not arrive completely.
    """
    declared = context.header(b"content-length")
    if declared is not None and declared.isdigit() and int(declared) > max_bytes:
        return None
    message = await context.receive()
    body: bytes = message.get("body", b"")
    if message["type"] != "http.request" or message.get("more_body", False):
        return await _read_pieces(context, message, max_bytes)
    return body if len(body) <= max_bytes else None


async def _read_pieces(context: RequestContext, message: Message, max_bytes: int) -> bytes | None:
    """Return the body whose first piece is *message*, or None if it is too large."""
    # Growing many bodies at the same time, each in one buffer, would fragment memory.
    pieces: list[bytes] = []
    size = 0
    try:
        while size <= max_bytes:
            if message["type"] == "http.disconnect":
                raise RequestIncomplete("The connection was closed before the body was complete.")
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if not message.get("more_body", False):
                return b"".join(pieces) if size <= max_bytes else None
            if context.client.body_overdue:
                raise RequestIncomplete("The body did not arrive in time.")
            if size > LARGE_BYTES:
                context.client.reserve_buffer(size)
            message = await context.receive()
    finally:
        context.client.release()
    return None


def _content_type_message(content_type: str) -> str:
    return (
        f"The Content-Type is {truncate(content_type)}, not application/json."
        if content_type
        else "The body has no Content-Type."
    )


def _too_large(max_bytes: int) -> PayloadTooLarge:
    return PayloadTooLarge(f"The body is larger than {max_bytes} bytes.", {"max_bytes": max_bytes})
