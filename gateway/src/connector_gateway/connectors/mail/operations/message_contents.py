"""Look-ups of several operations: messages of limited size, and the content of parts."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from io import BytesIO

from connector_gateway.connectors.mail import mime, vendor_models
from connector_gateway.connectors.mail.client import OUTLINE, MailClient
from connector_gateway.kit.context import OperationContext
from connector_gateway.kit.errors import ResponseTooLarge
from connector_gateway.kit.upstream.http_origin import EXCLUSIVE_BYTES, MAX_RESPONSE_BYTES

MailCall = OperationContext[MailClient]


async def get_message_within_limit(client: MailClient, message_id: str) -> tuple[vendor_models.Message, bool]:
    """Return a message, and whether its bodies are included. Bodies are omitted if the message is too large."""
    try:
        return await client.get_message(message_id), True
    except ResponseTooLarge:
        return await client.get_message(message_id, fields=OUTLINE), False


async def load_content(ctx: MailCall, message_id: str, part: vendor_models.Part, *, exclusive: bool) -> bytes:
    """Return all bytes of a part. Raises ``ResponseTooLarge`` if they are too many to return as text.

    A large part waits for the call's reservation of large responses, unless the caller already has it (*exclusive*).
    """
    # The inline content is already in memory, bounded by the response size, and is not copied.
    if (content := mime.inline_content(part)) is not None:
        return content
    buffer = BytesIO()
    async with (
        aclosing(stream_content(ctx.upstream, message_id, part, buffered=True)) as pieces,
        AsyncExitStack() as stack,
    ):
        async for piece in pieces:
            buffer.write(piece)
            if buffer.tell() > MAX_RESPONSE_BYTES:
                raise ResponseTooLarge("The text of a message is too large.")
            if buffer.tell() > EXCLUSIVE_BYTES and not exclusive:
                # Large responses are buffered one at a time, to limit memory.
                await stack.enter_async_context(ctx.memory_reservation.large_response)
                exclusive = True
    return buffer.getvalue()


async def stream_content(
    client: MailClient, message_id: str, part: vendor_models.Part, *, buffered: bool
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of a part. See ``UpstreamClient.stream`` for *buffered*."""
    content = mime.inline_content(part)
    if content is not None:
        yield content
        return
    async with aclosing(
        client.stream_attachment(message_id, part.body.attachment_id or "", buffered=buffered)
    ) as pieces:
        async for piece in pieces:
            yield piece
