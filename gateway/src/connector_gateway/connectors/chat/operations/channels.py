"""Channels: listing, and look-up by name."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from connector_gateway.connectors.chat import mapping
from connector_gateway.connectors.chat.client import next_cursor, requests
from connector_gateway.connectors.chat.mapping.channels import Names
from connector_gateway.connectors.chat.mapping.messages import StoredData
from connector_gateway.connectors.chat.models import Channel, ListChannels
from connector_gateway.connectors.chat.operations.cached_lookups import ChatCall
from connector_gateway.kit import errors
from connector_gateway.kit.context import CachedLookup
from connector_gateway.kit.models import Page
from connector_gateway.kit.operation import reads
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import StepResult

T = TypeVar("T")

NAMES = "names"
NAMES_SECONDS = 300.0
CONVERSATION_SECONDS = 24 * 60 * 60.0

REQUESTS_PER_PAGE = 2
"""Requests per page. A short page is filled up once, because the vendor allows few requests per minute."""

NAME_ERRORS = (errors.AmbiguousChannel, errors.ChannelArchived, errors.ChannelListTooLong, errors.ChannelNotFound)
"""Errors that outdated cached names may cause."""


@reads(
    "GET /channels",
    requests=TypicalRequests(requests("channels"), requests("channels")),
    examples=[lambda _: {"limit": 1}],
)
async def list_channels(ctx: ChatCall, params: ListChannels) -> Page[Channel]:
    """List the channels that the connection can post to, public and private.

    For the messages of a channel, use ``chat_read_events``.

    A page may have fewer channels than requested, or none, even if there is a next page.
    """
    types = mapping.channels.vendor_types(params.types)
    cursor = ctx.position["cursor"] if ctx.position else None
    items: list[Channel] = []
    for _ in range(REQUESTS_PER_PAGE):
        page, scopes = await ctx.upstream.list_conversations(types, params.limit - len(items), cursor)
        items += mapping.channels.channels(page.channels, scopes)
        cursor = next_cursor(page)
        if not cursor or len(items) == params.limit:
            break
    return Page[Channel](items=items, position={"cursor": cursor} if cursor else None)


# Look-up of channels


async def with_channel(ctx: ChatCall, channel: str, use: Callable[[str], Awaitable[T]]) -> T:
    """Return the result of *use* for the channel. Calls *use* again with new names if a cached one may be outdated."""
    if mapping.channels.is_channel_id(channel):
        return await use(channel)
    if mapping.channels.is_user_id(channel):
        return await use(await _open_conversation(ctx, channel))

    async def use_one(names: Names) -> T:
        return await use(await _resolve_conversation(ctx, mapping.channels.named(names, channel)))

    return await ctx.with_cache_retry(_names_lookup(ctx), use_one, outdated=NAME_ERRORS)


async def check_channel(ctx: ChatCall, channel_id: str) -> None:
    """Raise an error unless the channel exists and the app can see it. The result is cached for a while."""
    if ctx.cache.get(f"channel {channel_id}") is None:
        try:
            await ctx.upstream.check_channel(channel_id)
        except errors.ConnectionScopeMissing:
            # An app that cannot look up channels may still receive their messages.
            return
        ctx.cache.put(f"channel {channel_id}", True, NAMES_SECONDS)


async def with_channel_for_write(
    ctx: ChatCall, channel: str, use: Callable[[str], Awaitable[StepResult]]
) -> StepResult:
    """Return the result of *use* in the channel. Calls *use* again with new names if a cached one was rejected."""
    lookup = await ctx.plan(partial(_find_channel, ctx, channel))
    try:
        return await use(lookup["channel_id"])
    except NAME_ERRORS:
        if not lookup["remembered"]:
            raise
    lookup = await ctx.plan(partial(_reload_channel, ctx, channel))
    return await use(lookup["channel_id"])


async def _find_channel(ctx: ChatCall, channel: str) -> StoredData:
    """Return the requested channel, and whether its name was cached."""
    is_identified = mapping.channels.is_channel_id(channel) or mapping.channels.is_user_id(channel)
    cached: Names | None = None if is_identified else ctx.cache.get(NAMES)

    async def find(channel_id: str) -> StoredData:
        return {"channel_id": channel_id, "remembered": cached is not None and ctx.cache.get(NAMES) is cached}

    return await with_channel(ctx, channel, find)


async def _reload_channel(ctx: ChatCall, channel: str) -> StoredData:
    identifier = mapping.channels.named(await ctx.reload(_names_lookup(ctx)), channel)
    return {"channel_id": await _resolve_conversation(ctx, identifier)}


async def _resolve_conversation(ctx: ChatCall, identifier: str) -> str:
    """Return the channel for a look-up result, which for a person is the conversation with them."""
    return await _open_conversation(ctx, identifier) if mapping.channels.is_person(identifier) else identifier


def _names_lookup(ctx: ChatCall) -> CachedLookup[Names]:
    async def find() -> Names:
        channels, complete = await ctx.upstream.channels()
        return mapping.channels.names(channels, complete=complete)

    return CachedLookup(NAMES, NAMES_SECONDS, find)


async def _open_conversation(ctx: ChatCall, user_id: str) -> str:
    """Return the conversation with a person. Opening it twice has no further effect."""

    async def find() -> str:
        return (await ctx.upstream.open_conversation(user_id)).id

    return await ctx.cached(CachedLookup(f"conversation {user_id}", CONVERSATION_SECONDS, find))
