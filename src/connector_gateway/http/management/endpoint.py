"""Management routes at their addresses."""

from collections.abc import Sequence
from typing import Any

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from connector_gateway.core.access.audited_actions import Actor
from connector_gateway.core.access.keys import Caller, parse_bearer
from connector_gateway.core.access.operators import BUILT_IN, Operator
from connector_gateway.core.access.rate_limit import raise_if_exceeded
from connector_gateway.core.calls.arguments import Arguments
from connector_gateway.core.calls.prepared_operation import UNBOUND
from connector_gateway.http.api.bodies import read_body
from connector_gateway.http.api.responses import HttpResponse, RequestContext, management_response
from connector_gateway.http.api.routes import ApiContext, MethodDispatcher, query_of, respond
from connector_gateway.kit.errors import AdminRoleRequired, GatewayError, InvalidApiKey, OperatorTokenRequired
from connector_gateway.kit.shapes import Listing, Page, Params, Position
from connector_gateway.management.declaration import ManagementRoute
from connector_gateway.management.request import Management, ManagementRequest

FOR_ALL = "This is neither the operator token nor a current API key."
FOR_KEYS = "This is not a current API key; the operator token is accepted at GATEWAY_ADMIN_PORT only."


class ManagementEndpoint:
    """The endpoint of one management route; operators' tokens are rejected if it is *public*."""

    def __init__(self, edge: ApiContext, management: Management, route: ManagementRoute, *, public: bool) -> None:
        self._edge = edge
        self._management = management
        self._route = route
        self._public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        exchange = RequestContext(scope, receive)
        await exchange.send(await respond(exchange, None, self._answer(exchange)), send)

    async def _answer(self, exchange: RequestContext) -> HttpResponse:
        route, who = self._route, await self._let_in(exchange)
        operator, caller = (who, None) if isinstance(who, Operator) else (BUILT_IN, who)
        params = (await self._arguments(exchange)).read(route.params, connection=False)
        position = self._position(caller, params)
        request = ManagementRequest(self._management, caller, operator, position, exchange.address)
        result = await route.carry_out(request, params)
        if isinstance(result, Page):
            return management_response(
                result.items, next_cursor=self._cursor(caller, params, result.position), paged=True
            )
        return management_response(result.items if isinstance(result, Listing) else result)

    async def _arguments(self, exchange: RequestContext) -> Arguments:
        max_bytes = self._edge.max_body_bytes
        return Arguments(
            path=exchange.scope["path_params"],
            query=query_of(exchange.scope),
            body=await read_body(exchange, max_bytes) if self._route.has_body else None,
        )

    async def _let_in(self, exchange: RequestContext) -> Caller | Operator:
        """The operator who asks, or the holder of a key where keys are let in."""
        try:
            who = await self._who(exchange)
        except InvalidApiKey:
            await self._edge.delay_wrong_token(exchange)
            raise
        if isinstance(who, Operator):
            # Before the body is read: a viewer is refused whatever it says.
            await self._require_role(exchange, who)
            return who
        await self._allow(exchange, who)
        return who

    async def _require_role(self, exchange: RequestContext, operator: Operator) -> None:
        """Refuse an act to an operator who may only look, and record that it was tried."""
        if not self._route.changes or operator.may_change:
            return
        await self._refuse(exchange, Actor(operator.name, exchange.address), AdminRoleRequired)
        operator.require_admin()

    async def _refuse(self, exchange: RequestContext, actor: Actor, error: type[GatewayError]) -> None:
        """Record that *actor* may not do what was asked for."""
        named = "".join(exchange.scope["path_params"].values())
        await self._management.audit.refuse(actor, self._route.name, error.code, named)

    async def _allow(self, exchange: RequestContext, caller: Caller) -> None:
        """Count a call of the key, and refuse one that is not for keys."""
        exchange.run.allowance = await self._edge.limits.consume(caller)
        # The allowance is set before it is required, so that the refusal shows what is left.
        raise_if_exceeded(exchange.run.allowance)
        if not (self._route.open_to_keys or (self._route.open_to_managers and caller.manages_connections)):
            if self._route.changes:
                await self._refuse(exchange, Actor(caller.key_id, exchange.address), OperatorTokenRequired)
            raise OperatorTokenRequired(
                "This API key cannot manage connections."
                if self._route.open_to_managers
                else "An API key cannot do this."
            )

    async def _who(self, exchange: RequestContext) -> Caller | Operator:
        """The operator or the holder of a key whose token was sent; no operator where it is *public*."""
        authorization = exchange.header(b"authorization")
        operator = None if self._public else await self._management.operators.find(parse_bearer(authorization))
        if operator is not None:
            return operator
        try:
            return await self._management.keys.authenticate(authorization)
        except InvalidApiKey as error:
            await self._management.audit.refuse(Actor("anonymous", exchange.address), "sign_in", error.code)
            raise InvalidApiKey(FOR_KEYS if self._public else FOR_ALL) from error

    def _position(self, caller: Caller | None, params: Params) -> Position | None:
        """Where the page before ended, if this is not the first."""
        cursor = vars(params).get("cursor")
        return None if cursor is None else self._management.cursors.read(cursor, *self._binding(caller, params))

    def _cursor(self, caller: Caller | None, params: Params, position: Position | None) -> str | None:
        return None if position is None else self._management.cursors.issue(position, *self._binding(caller, params))

    def _binding(self, caller: Caller | None, params: Params) -> Sequence[Any]:
        """What a cursor holds for: another page of the same list, seen by the same workspace or the operator."""
        seen = caller.workspace_id if caller else None
        return self._route.name, seen, params.model_dump(mode="json", exclude=UNBOUND)


def management_routes(
    edge: ApiContext, management: Management, routes: Sequence[ManagementRoute], *, public: bool
) -> list[Route]:
    """Return the HTTP routes of *routes*, which reject operators' tokens if they are *public*."""
    paths: dict[str, dict[str, ASGIApp]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method] = ManagementEndpoint(edge, management, route, public=public)
    return [Route(path, MethodDispatcher(edge, endpoints)) for path, endpoints in paths.items()]
