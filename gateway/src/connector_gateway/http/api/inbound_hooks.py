"""The endpoints to which vendors deliver webhooks."""

from pydantic_core import to_json
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from connector_gateway.core.access.audit_trail import Audit
from connector_gateway.core.audited_actions import Actor, act_as
from connector_gateway.core.events.inbound_hook_secrets import PREFIX
from connector_gateway.core.events.inbound_hooks import InboundHooks
from connector_gateway.http.api.request_bodies import read_raw
from connector_gateway.http.api.request_context import RequestContext
from connector_gateway.http.api.responses import HttpResponse, send_response
from connector_gateway.http.api.routes import ApiContext, MethodDispatcher, last_segment, respond
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.events import HookRequest


class HookEndpoint:
    """The endpoint for the deliveries of one vendor."""

    def __init__(self, edge: ApiContext, hooks: InboundHooks, clock: Clock, audit: Audit) -> None:
        self._audit = audit
        self._edge = edge
        self._hooks = hooks
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Acknowledge one delivery after its content is stored."""
        context = RequestContext(scope, receive)
        connector = scope["path_params"]["connector"]
        address = last_segment(scope) if "address" in scope["path_params"] else ""
        response = await respond(context, self._hooks.connector(connector), self._respond(context, connector, address))
        await send_response(context, response, send)

    async def _respond(self, context: RequestContext, connector: str, address: str) -> HttpResponse:
        received_at = self._clock.now()
        body = await read_raw(context, self._edge.max_body_bytes)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in context.headers.items()}
        delivery = HookRequest(headers, body, received_at)
        # A delivery can change the stored secret, which is audited as an action of the vendor.
        with act_as(self._audit, Actor("application", context.address, "hook")):
            return HttpResponse(200, to_json(await self._hooks.receive(connector, delivery, address)))


def hook_routes(edge: ApiContext, hooks: InboundHooks, clock: Clock, audit: Audit) -> list[Route]:
    """Return the routes of all hooks: one per connector, and those created for the exchange of a secret."""
    endpoint = MethodDispatcher(edge, {"POST": HookEndpoint(edge, hooks, clock, audit)})
    return [Route(PREFIX + "/{connector}", endpoint), Route(PREFIX + "/{connector}/{address}", endpoint)]
