"""Recognition of the results of writes."""

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TypeVar

from connector_gateway.connectors.mail import mapping, mime, vendor_models
from connector_gateway.connectors.mail.client import MARKER
from connector_gateway.connectors.mail.operations.message_contents import MailCall
from connector_gateway.kit.errors import MessageNotFound, ThreadNotFound
from connector_gateway.kit.write_steps import SentStep, StepInput

T = TypeVar("T")

MAX_CONSECUTIVE_OLDER = 10
"""Consecutive old messages after which a search ends. The order, newest first, is not documented."""


async def marked_in_thread(ctx: MailCall, intent: StepInput) -> vendor_models.Message | None:
    """Return the sent message with the draft's marker, from the thread of the draft."""
    with suppress(ThreadNotFound):
        thread = await ctx.upstream.get_thread(intent["thread_id"])
        for message in thread.messages:
            if "SENT" in message.label_ids and is_marked(message, intent["mark"]):
                return message
    return None


async def marked_among_sent(ctx: MailCall, intent: StepInput, sent: SentStep) -> vendor_models.Message | None:
    """Return the sent message with the draft's marker from all sent messages, because its thread may have changed."""
    messages = ctx.upstream.list_all_messages({"labelIds": "SENT"})
    async for _, message in iter_not_older(ctx, messages, lambda messages: messages.id, sent.earliest):
        if is_marked(message, intent["mark"]):
            return message
    return None


async def iter_not_older(
    ctx: MailCall, listing: AsyncIterator[T], message_id: Callable[[T], str], earliest: float
) -> AsyncIterator[tuple[T, vendor_models.Message]]:
    """Yield the listed items, newest first, with their messages without parts, until all that follow are too old."""
    older = 0
    async for item in listing:
        message = await _headers(ctx, message_id(item))
        if message is None:
            continue
        older = older + 1 if mapping.messages.arrived_at(message) < earliest else 0
        if older == MAX_CONSECUTIVE_OLDER:
            return
        yield item, message


def is_marked(message: vendor_models.Message, mark: str) -> bool:
    """Return True if a message has the marker."""
    return mime.header(message.payload, MARKER) == mark


async def _headers(ctx: MailCall, message_id: str) -> vendor_models.Message | None:
    """Return a message without its parts, or None if it does not exist."""
    with suppress(MessageNotFound):
        return await ctx.upstream.get_message_headers(message_id)
    return None
