"""Cached look-ups of several operations: full card identifiers."""

from connector_gateway.connectors.boards import mapping
from connector_gateway.connectors.boards.client import BoardsClient
from connector_gateway.kit.context import CachedLookup, OperationContext
from connector_gateway.kit.errors import BoardNotAuthorised, CardNotFound

BoardsCall = OperationContext[BoardsClient]

REMEMBER_SECONDS = 24 * 60 * 60.0
"""Lifetime of the cached account and of checklists begun by this process: that of an idempotency key."""

ON_A_CARD = (BoardNotAuthorised, CardNotFound)


async def full_card_id(ctx: BoardsCall, card_id: str) -> str:
    """Return the full identifier of a card, which may be given by its short link."""

    async def find() -> str:
        return (await ctx.upstream.get_card(card_id)).id

    full_id = mapping.full_identifier(card_id)
    return await ctx.cached(CachedLookup(f"card {card_id}", REMEMBER_SECONDS, find)) if full_id is None else full_id
