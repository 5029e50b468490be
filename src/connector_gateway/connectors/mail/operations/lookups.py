"""What several operations read: messages that may be too large, and the content of parts."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from io import BytesIO

from connector_gateway.connectors.mail import mime, wire
from connector_gateway.connectors.mail.client import OUTLINE, MailClient
from connector_gateway.kit.context import OperationContext
from connector_gateway.kit.errors import ResponseTooLarge
from connector_gateway.kit.upstream.http_origin import ALONE_BYTES, MAX_ANSWER_BYTES

MailCall = OperationContext[MailClient]


async def get_message_within_limit(client: MailClient, message_id: str) -> tuple[wire.Message, bool]:
    """A message, and whether it came with its texts: one that is too large is read without them."""
    try:
        return await client.get_message(message_id), True
    except ResponseTooLarge:
        return await client.get_message(message_id, fields=OUTLINE), False


async def content_of(call: MailCall, message_id: str, part: wire.Part, *, alone: bool) -> bytes:
    """The bytes of a part, whole; ``AnswerTooLarge`` where they are too many to be told as text.

    Those of a large one arrive in the call's turn for that, unless the caller has it *alone* already.
    """
    # What came with the message is there already, and is not copied; an answer bounds its size.
    if (content := mime.inline_content(part)) is not None:
        return content
    taken = BytesIO()
    async with aclosing(pieces_of(call.upstream, message_id, part, at_once=True)) as pieces, AsyncExitStack() as stack:
        async for piece in pieces:
            taken.write(piece)
            if taken.tell() > MAX_ANSWER_BYTES:
                raise ResponseTooLarge("The text of a message is too large.")
            if taken.tell() > ALONE_BYTES and not alone:
                # As large answers that arrive whole: the others wait at their senders (decision 71).
                await stack.enter_async_context(call.memory_reservation.large_response)
                alone = True
    return taken.getvalue()


async def pieces_of(
    client: MailClient, message_id: str, part: wire.Part, *, at_once: bool
) -> AsyncGenerator[bytes, None]:
    """The bytes of a part, one after the other; *at_once* unless somebody else takes them as he can."""
    content = mime.inline_content(part)
    if content is not None:
        yield content
        return
    async with aclosing(client.stream_attachment(message_id, part.body.attachment_id or "", at_once=at_once)) as pieces:
        async for piece in pieces:
            yield piece
