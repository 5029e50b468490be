"""Cached look-up of the app's identity and workspace."""

from connector_gateway.connectors.chat import vendor_models
from connector_gateway.connectors.chat.client import ChatClient
from connector_gateway.kit.context import CachedLookup, OperationContext

ChatCall = OperationContext[ChatClient]
IDENTITY_SECONDS = 60 * 60.0


async def workspace_url(ctx: ChatCall) -> str:
    """Return the workspace's URL."""
    return (await ctx.cached(identity_lookup(ctx))).url


def identity_lookup(ctx: ChatCall) -> CachedLookup[vendor_models.Identity]:
    """Return the look-up of the app's own user and its workspace's URL."""

    async def find() -> vendor_models.Identity:
        identity, _ = await ctx.upstream.auth_test()
        return identity

    return CachedLookup("identity", IDENTITY_SECONDS, find)
