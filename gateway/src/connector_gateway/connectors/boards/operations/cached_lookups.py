"""Look-ups of several operations: full card identifiers, and concurrent reads."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from connector_gateway.connectors.boards import mapping
from connector_gateway.connectors.boards.client import BoardsClient
from connector_gateway.kit.context import CachedLookup, OperationContext
from connector_gateway.kit.errors import BoardNotAuthorised, CardNotFound

BoardsCall = OperationContext[BoardsClient]
A = TypeVar("A")
B = TypeVar("B")

REMEMBER_SECONDS = 24 * 60 * 60.0
"""Lifetime of the cached account and of checklists begun by this process: that of an idempotency key."""

ON_A_CARD = (BoardNotAuthorised, CardNotFound)


async def full_card_id(ctx: BoardsCall, card_id: str) -> str:
    """Return the full identifier of a card, which may be given by its short link."""

    async def find() -> str:
        return (await ctx.upstream.get_card(card_id)).id

    full_id = mapping.full_identifier(card_id)
    return await ctx.cached(CachedLookup(f"card {card_id}", REMEMBER_SECONDS, find)) if full_id is None else full_id


async def gather_pair(first: Awaitable[A], second: Awaitable[B]) -> tuple[A, B]:
    """Await both concurrently and return their results. If both fail, the first error is raised."""
    one, other = await asyncio.gather(first, second, return_exceptions=True)
    if isinstance(one, BaseException):
        raise one
    if isinstance(other, BaseException):
        raise other
    return one, other
