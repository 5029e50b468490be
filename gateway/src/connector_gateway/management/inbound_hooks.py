"""Accept, show and delete the tokens that vendors sign their deliveries with."""

from pydantic import Field

from connector_gateway.kit.errors import HookNotFound, HookSecretKnown
from connector_gateway.kit.models import Identifier, Params, Result, UtcDatetime
from connector_gateway.management.request import ManagementRequest
from connector_gateway.management.route_declaration import Resource

RESOURCE = Resource("hooks", columns=("connector", "received_at"))


class NameHook(Params):
    """The connector of the deliveries."""

    connector: Identifier


class HookWindow(Result):
    """A temporary URL at which a vendor sends the secret of its deliveries."""

    connector: str
    url: str
    """The URL to subscribe in the vendor's settings. Deliveries are sent to the same URL, also later."""

    closes_at: UtcDatetime


class ClosedWindow(Result):
    """The time from which URLs that were opened before accept no secret."""

    connector: str
    closed_at: UtcDatetime


class HookSecret(Result):
    """The token that a vendor sent for its deliveries."""

    connector: str
    verification_token: str | None = Field(repr=False)
    """To be confirmed in the vendor's settings; null for an operator with the role ``viewer``."""

    received_at: UtcDatetime


@RESOURCE.route("POST /v1/hooks/{connector}/window", "open CONNECTOR", errors=[HookNotFound, HookSecretKnown])
async def open_hook(request: ManagementRequest, params: NameHook) -> HookWindow:
    """Accept the token of a vendor's deliveries for fifteen minutes, at a URL made for it."""
    return HookWindow(**await request.management.hooks.open(params.connector))


@RESOURCE.route("DELETE /v1/hooks/{connector}/window", "close CONNECTOR", errors=[HookNotFound])
async def close_hook(request: ManagementRequest, params: NameHook) -> ClosedWindow:
    """Stop accepting a token at the URLs that were opened before."""
    return ClosedWindow(**await request.management.hooks.close(params.connector))


@RESOURCE.route("GET /v1/hooks/{connector}", "show CONNECTOR", errors=[HookNotFound])
async def show_hook(request: ManagementRequest, params: NameHook) -> HookSecret:
    """Show the token that a vendor sent for its deliveries, to be confirmed in the vendor's settings."""
    secret = await request.management.hooks.show(params.connector)
    return HookSecret(**secret if request.may_change else secret | {"verification_token": None})


@RESOURCE.route(
    "DELETE /v1/hooks/{connector}",
    "forget CONNECTOR",
    errors=[HookNotFound],
    confirmation="Deliveries signed with the current token are rejected from now on.",
)
async def forget_hook(request: ManagementRequest, params: NameHook) -> HookSecret:
    """Delete the token of a vendor's deliveries, so that the vendor can send another one."""
    return HookSecret(**await request.management.hooks.forget(params.connector))
