"""Search and reading of messages."""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

import asyncio
from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import accumulate

from connector_gateway.connectors.mail import mapping, mime, vendor_models
from connector_gateway.connectors.mail.client import MAX_CONCURRENT_READS, OUTLINE, requests
from connector_gateway.connectors.mail.models import Message, MessageBody, SearchMessages
from connector_gateway.connectors.mail.operations.labels import labels_lookup
from connector_gateway.connectors.mail.operations.message_contents import (
    MailCall,
    get_message_within_limit,
    load_content,
)
from connector_gateway.kit.concurrent_reads import gather_pair
from connector_gateway.kit.errors import AttachmentNotFound, MessageNotFound, ResponseTooLarge
from connector_gateway.kit.models import Page
from connector_gateway.kit.operation import reads
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.upstream.http_origin import EXCLUSIVE_BYTES
from connector_gateway.kit.upstream.memory_budget import MemoryReservation

MAX_PAGE_CHARACTERS = 4 * 1024 * 1024
"""The maximum number of characters of all bodies of a page. Further messages start the next page."""

TEXTS = ("text/plain", "text/html")
TOO_LARGE = MessageBody(text=None, html=None, too_large=True)


@dataclass(slots=True)
class LoadedMessage:
    """A loaded message, with its body if requested. Both are None if the message no longer exists."""

    message: vendor_models.Message | None = None
    body: MessageBody | None = None

    @property
    def size(self) -> int:
        """The number of characters of the body."""
        return 0 if self.body is None else len(self.body.text or "") + len(self.body.html or "")


@reads(
    "GET /messages",
    requests=TypicalRequests(requests(5, 1, 20), requests(5, 20), "list and labels, concurrently; each message"),
    examples=[lambda one: {"q": one["q"], "limit": 1}],
)
async def search_messages(ctx: MailCall, params: SearchMessages) -> Page[Message]:
    """Find and read emails in the mailbox, newest first.

    ``q`` has the mail provider's search syntax, such as ``from:ann is:unread newer_than:7d``.

    Attachments are files attached to a message. Inline pictures and signatures are not included.
    A page with bodies ends early if these are large, and ``next_cursor`` leads to the other messages.
    """
    # The labels are needed in any case. Usually they are cached.
    (message_ids, token), _ = await gather_pair(_list_page(ctx, params), ctx.cached(labels_lookup(ctx)))
    requested = message_ids[: params.limit]
    messages = await _load_messages(ctx, requested, with_body=params.include_body)
    loaded = [(one.message, one.body) for one in messages if one.message is not None]
    label_ids = {label_id for message, _ in loaded for label_id in message.label_ids}
    names = await ctx.cached(labels_lookup(ctx), suffices=lambda names: names.keys() >= label_ids)
    return Page[Message](
        items=[mapping.messages.message(message, names, body) for message, body in loaded],
        position=mapping.messages.position(message_ids[len(messages) :], token),
    )


async def _list_page(ctx: MailCall, params: SearchMessages) -> tuple[Sequence[str], str | None]:
    """Return the identifiers that a page starts with, and the vendor's next page token."""
    position = ctx.position or {}
    if remaining := position.get("message_ids"):
        return remaining, position["token"]
    listing = await ctx.upstream.list_messages({"q": params.q, "maxResults": params.limit}, position.get("token"))
    return [message.id for message in listing.messages], listing.next_page_token


async def _load_messages(ctx: MailCall, message_ids: Sequence[str], *, with_body: bool) -> Sequence[LoadedMessage]:
    """Load the first messages in order, several concurrently, until their bodies exceed the page's limit."""
    page = _PageBuilder(ctx.memory_reservation, len(message_ids))
    # No more tasks reserve a request than can run, so messages beyond the limit use no budget.
    readers = asyncio.Semaphore(MAX_CONCURRENT_READS)
    tasks: list[asyncio.Task[None]] = []

    async def read(index: int, message_id: str) -> None:
        def expect(size: int) -> bool:
            page.expect(index, size)
            # Messages beyond the limit are not loaded or decoded, because decoding blocks the event loop.
            for task in tasks[max(page.ends_at, index + 1) :]:
                task.cancel()
            return index < page.ends_at

        async with readers:
            message = await _read(ctx, message_id, expect if with_body else None)
        expect(message.size)
        page.put(index, message)

    try:
        async with asyncio.TaskGroup() as group:
            tasks += [group.create_task(read(index, message_id)) for index, message_id in enumerate(message_ids)]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return page.messages


class _PageBuilder:
    """A page whose messages arrive in any order. Its end depends on their sizes, not on their order of arrival."""

    def __init__(self, reservation: MemoryReservation, count: int) -> None:
        self.ends_at = count
        """The index of the first message beyond the limit, as far as known."""

        self._loaded: list[LoadedMessage | None] = [None] * count
        self._sizes = [0] * count
        self._reservation = reservation
        self._reserved_size = 0

    @property
    def messages(self) -> Sequence[LoadedMessage]:
        """Return the loaded messages within the limit."""
        return [one for one in self._loaded if one is not None]

    def expect(self, index: int, size: int) -> None:
        """Reserve *size* characters at *index*, and drop messages that are then beyond the limit."""
        if index >= self.ends_at:
            return
        self._sizes[index] = max(size, self._sizes[index])
        # The first message is always included, so that every page makes progress.
        ends = (
            position for position, sum_ in enumerate(accumulate(self._sizes)) if position and sum_ > MAX_PAGE_CHARACTERS
        )
        self.ends_at = next(ends, self.ends_at)
        del self._sizes[self.ends_at :], self._loaded[self.ends_at :]

    def put(self, index: int, message: LoadedMessage) -> None:
        """Add the message at *index* if it is within the limit."""
        if index >= self.ends_at:
            return
        self._loaded[index] = message
        total = sum(one.size for one in self.messages)
        if total > self._reserved_size:
            self._reservation.reserve(total - self._reserved_size)
            self._reserved_size = total


async def _read(ctx: MailCall, message_id: str, expect: Callable[[int], bool] | None) -> LoadedMessage:
    """Load a message, with its body unless *expect* is None. *expect* returns whether its size is within the limit."""
    with suppress(MessageNotFound, AttachmentNotFound):
        if expect is None:
            return LoadedMessage(await ctx.upstream.get_message(message_id, fields=OUTLINE))
        message, complete = await get_message_within_limit(ctx.upstream, message_id)
        if not complete:
            return LoadedMessage(mime.drop_texts(message), TOO_LARGE)
        parts = [part for kind in TEXTS for part in mime.body_parts(message.payload, kind)]
        size = sum(map(mime.size, parts))
        if expect(size):
            # Separate texts of large messages are fetched for one message at a time. Inline texts are decoded
            # immediately.
            exclusive = size > EXCLUSIVE_BYTES and any(part.body.attachment_id for part in parts)
            async with ctx.memory_reservation.large_response if exclusive else nullcontext():
                return LoadedMessage(mime.drop_texts(message), await _load_body(ctx, message, exclusive=exclusive))
    return LoadedMessage()


async def _load_body(ctx: MailCall, message: vendor_models.Message, *, exclusive: bool) -> MessageBody:
    """Return the body of a message. Large texts wait for a reservation, unless the caller has it (*exclusive*)."""

    async def read_text(mime_type: str) -> str | None:
        parts = mime.body_parts(message.payload, mime_type)
        return mime.join_texts(
            [mime.text(part, await load_content(ctx, message.id, part, exclusive=exclusive)) for part in parts]
        )

    try:
        plain, html = [await read_text(kind) for kind in TEXTS]
        return MessageBody(text=plain, html=html)
    except ResponseTooLarge:
        return TOO_LARGE
