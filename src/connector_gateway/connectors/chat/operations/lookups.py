"""What several operations read and remember: who the app is, and where."""

from connector_gateway.connectors.chat import wire
from connector_gateway.connectors.chat.client import ChatClient
from connector_gateway.kit.context import CachedLookup, OperationContext

ChatCall = OperationContext[ChatClient]
IDENTITY_SECONDS = 60 * 60.0


async def workspace_of(call: ChatCall) -> str:
    """The address under which people open the workspace."""
    return (await call.cached(identity_of(call))).url


def identity_of(call: ChatCall) -> CachedLookup[wire.Identity]:
    """The app's own user in the workspace, and the workspace's address."""

    async def find() -> wire.Identity:
        identity, _ = await call.upstream.auth_test()
        return identity

    return CachedLookup("identity", IDENTITY_SECONDS, find)
