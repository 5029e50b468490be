"""Recognition of the results of writes."""

from collections.abc import Awaitable, Sequence

from connector_gateway.connectors.boards import mapping, vendor_models
from connector_gateway.connectors.boards.operations.cached_lookups import REMEMBER_SECONDS, BoardsCall
from connector_gateway.kit.context import CachedLookup


async def our_actions(
    ctx: BoardsCall, listing: Awaitable[Sequence[vendor_models.Action]]
) -> Sequence[vendor_models.Action]:
    """Return the actions in *listing* that this account performed through this app, oldest first."""
    actions = await listing
    me = await ctx.cached(CachedLookup("me", REMEMBER_SECONDS, ctx.upstream.get_me))
    # The response to our first comment is the only source of our app's identifier.
    app = ctx.cache.get("app")
    return [action for action in reversed(actions) if mapping.created_by(action, me.id, app)]
