"""What several operations read and remember: the identifiers of cards, and two things at the same time."""

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
"""How long the account and the checklists begun by this process are remembered: as long as an idempotency key holds."""

ON_A_CARD = (BoardNotAuthorised, CardNotFound)


async def full_card_id(call: BoardsCall, card_id: str) -> str:
    """The full identifier of a card, which may also be named by its short link."""

    async def find() -> str:
        return (await call.upstream.get_card(card_id)).id

    known = mapping.full_identifier(card_id)
    return await call.cached(CachedLookup(f"card {card_id}", REMEMBER_SECONDS, find)) if known is None else known


async def gather_pair(first: Awaitable[A], second: Awaitable[B]) -> tuple[A, B]:
    """Both results, asked for at the same time; if both are refused, the refusal of the first."""
    one, other = await asyncio.gather(first, second, return_exceptions=True)
    if isinstance(one, BaseException):
        raise one
    if isinstance(other, BaseException):
        raise other
    return one, other
