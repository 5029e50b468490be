"""Recognises what a write has made."""

from collections.abc import Awaitable, Sequence

from connector_gateway.connectors.boards import mapping, wire
from connector_gateway.connectors.boards.operations.lookups import REMEMBER_SECONDS, BoardsCall
from connector_gateway.kit.context import CachedLookup


async def our_actions(call: BoardsCall, listing: Awaitable[Sequence[wire.Action]]) -> Sequence[wire.Action]:
    """Those of *listing* that this account did through this application, oldest first."""
    actions = await listing
    me = await call.cached(CachedLookup("me", REMEMBER_SECONDS, call.upstream.get_me))
    # Which application is ours is told by the answer to our first comment, and nowhere else.
    app = call.memory.get("app")
    return [action for action in reversed(actions) if mapping.created_by(action, me.id, app)]
