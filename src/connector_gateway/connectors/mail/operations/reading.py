"""What several operations read: a mailbox by few at once, and the content of parts."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, aclosing
from random import randrange

from connector_gateway.connectors.mail import mime, wire
from connector_gateway.connectors.mail.client import READERS, MailClient
from connector_gateway.kit.call import Call

MailCall = Call[MailClient]


def any_place() -> int:
    """A place to begin reading from, by chance, so that calls at the same time begin at different ones."""
    return randrange(READERS)  # noqa: S311  # nothing depends on which it is


def reader(call: MailCall, number: int) -> AbstractAsyncContextManager[None]:
    """One of the places to read from; a mailbox bears only so many readers at once, whichever calls they serve."""
    return call.exclusive(f"reader {number % READERS}")


async def content_of(call: MailCall, message_id: str, part: wire.Part) -> bytes:
    """The bytes of a part, whole."""
    async with aclosing(pieces_of(call.upstream, message_id, part)) as pieces:
        return b"".join([piece async for piece in pieces])


async def pieces_of(client: MailClient, message_id: str, part: wire.Part) -> AsyncGenerator[bytes, None]:
    """The bytes of a part, one after the other."""
    content = mime.inline_content(part)
    if content is not None:
        yield content
        return
    async with aclosing(client.stream_attachment(message_id, part.body.attachment_id or "")) as pieces:
        async for piece in pieces:
            yield piece
