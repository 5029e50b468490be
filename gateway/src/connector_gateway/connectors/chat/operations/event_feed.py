"""Observed messages."""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

from connector_gateway.connectors.chat.client import requests
from connector_gateway.connectors.chat.models import ChatEvent, ReadChatEvents
from connector_gateway.connectors.chat.operations.cached_lookups import ChatCall
from connector_gateway.connectors.chat.operations.channels import NAME_ERRORS, check_channel, with_channel
from connector_gateway.kit.models import Page
from connector_gateway.kit.operation import reads
from connector_gateway.kit.upstream.budget import TypicalRequests


@reads(
    "GET /events",
    errors=NAME_ERRORS,
    requests=TypicalRequests(requests("identity"), requests("identity"), "authorisation"),
    examples=[lambda _: {"limit": 1}],
)
async def read_events(ctx: ChatCall, params: ReadChatEvents) -> Page[ChatEvent]:
    """Read the messages that people wrote in the watched channels, oldest first.

    Only messages since the connection watches a channel are included.

    Messages are stored for 30 days, on the free plan for 7.
    A ``Warning`` header reports periods whose messages may be missing.
    """

    async def read(channel_id: str | None) -> Page[ChatEvent]:
        return await ctx.events.page(
            ctx.connection_id,
            ChatEvent,
            ctx.position,
            limit=params.limit,
            since=params.since,
            event_type=params.type,
            channel=channel_id,
            confirm=ctx.upstream.auth_test,
        )

    async def read_known(channel_id: str) -> Page[ChatEvent]:
        if channel_id == params.channel:
            await check_channel(ctx, channel_id)
        return await read(channel_id)

    return await (read(None) if params.channel is None else with_channel(ctx, params.channel, read_known))
