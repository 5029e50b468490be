"""Messages: found and read."""

from __future__ import annotations  # functions are made in each call (decision 45)

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from connector_gateway.connectors.mail import mapping, mime, wire
from connector_gateway.connectors.mail.client import OUTLINE
from connector_gateway.connectors.mail.models import Message, MessageBody, SearchMessages
from connector_gateway.connectors.mail.operations.labels import labels_of
from connector_gateway.connectors.mail.operations.reading import MailCall, any_place, content_of, reader
from connector_gateway.kit.errors import AttachmentNotFound, MessageNotFound, UpstreamConflict
from connector_gateway.kit.operation import reads
from connector_gateway.kit.shapes import Page


@reads("GET /messages", errors=[UpstreamConflict])
async def search_messages(call: MailCall, params: SearchMessages) -> Page[Message]:
    """Search the mailbox in the mail provider's search syntax, newest first.

    Attachments are files that came with a message; pictures within its text and signatures do not count.
    """
    token = call.position["token"] if call.position else None
    async with reader(call, any_place()):
        listed = await call.upstream.list_messages({"q": params.q, "maxResults": params.limit}, token)
    message_ids, position = mapping.messages.page_of(listed)
    found = [item for item in await _read_each(call, message_ids, with_body=params.include_body) if item is not None]
    carried = {label_id for message, _ in found for label_id in message.label_ids}
    names = await call.recall(labels_of(call), suffices=lambda names: names.keys() >= carried)
    return Page[Message](
        items=[mapping.messages.message(message, names, body) for message, body in found], position=position
    )


async def _read_each(
    call: MailCall, message_ids: Sequence[str], *, with_body: bool
) -> list[tuple[wire.Message, MessageBody | None] | None]:
    """The messages in their order, several at once; None for those that are gone since they were listed."""
    first = any_place()

    async def read(index: int, message_id: str) -> tuple[wire.Message, MessageBody | None] | None:
        async with reader(call, first + index):
            with suppress(MessageNotFound, AttachmentNotFound):
                message = await call.upstream.get_message(message_id, fields="" if with_body else OUTLINE)
                return message, await _body(call, message) if with_body else None
            return None

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(read(index, message_id)) for index, message_id in enumerate(message_ids)]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


async def _body(call: MailCall, message: wire.Message) -> MessageBody:
    """What a message says."""

    async def said(mime_type: str) -> str | None:
        parts = mime.body_parts(message.payload, mime_type)
        return mime.joined([mime.text(part, await content_of(call, message.id, part)) for part in parts])

    return MessageBody(text=await said("text/plain"), html=await said("text/html"))
