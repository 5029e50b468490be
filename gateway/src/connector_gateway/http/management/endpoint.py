"""The HTTP endpoints of the management routes."""

from collections.abc import Sequence
from typing import Any

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from connector_gateway.core.access.keys import Caller, parse_bearer
from connector_gateway.core.access.operators import BUILT_IN, Operator
from connector_gateway.core.access.rate_limit import raise_if_exceeded
from connector_gateway.core.audited_actions import Actor
from connector_gateway.core.calls.arguments import Arguments
from connector_gateway.core.calls.prepared_call import UNBOUND
from connector_gateway.http.api.request_bodies import read_body
from connector_gateway.http.api.request_context import RequestContext
from connector_gateway.http.api.responses import HttpResponse, management_response, send_response
from connector_gateway.http.api.routes import ApiContext, MethodDispatcher, parse_query, respond
from connector_gateway.kit.errors import AdminRoleRequired, GatewayError, InvalidApiKey, OperatorTokenRequired
from connector_gateway.kit.models import Listing, Page, Params, Position
from connector_gateway.management.request import Management, ManagementRequest
from connector_gateway.management.route_declaration import ManagementRoute

FOR_ALL = "This is neither the operator token nor a current API key."
FOR_KEYS = "This is not a current API key; the operator token is accepted at GATEWAY_ADMIN_PORT only."


class ManagementEndpoint:
    """The endpoint of one management route. It rejects operator tokens if it is *public*."""

    def __init__(self, edge: ApiContext, management: Management, route: ManagementRoute, *, public: bool) -> None:
        self._edge = edge
        self._management = management
        self._route = route
        self._public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request."""
        context = RequestContext(scope, receive)
        await send_response(context, await respond(context, None, self._respond(context)), send)

    async def _respond(self, context: RequestContext) -> HttpResponse:
        route, identity = self._route, await self._authorize(context)
        operator, caller = (identity, None) if isinstance(identity, Operator) else (BUILT_IN, identity)
        params = (await self._arguments(context)).read(route.params, connection=False)
        position = self._position(caller, params)
        request = ManagementRequest(self._management, caller, operator, position, context.address)
        result = await route.carry_out(request, params)
        if isinstance(result, Page):
            return management_response(
                result.items, next_cursor=self._cursor(caller, params, result.position), paged=True
            )
        return management_response(result.items if isinstance(result, Listing) else result)

    async def _arguments(self, context: RequestContext) -> Arguments:
        max_bytes = self._edge.max_body_bytes
        return Arguments(
            path=context.scope["path_params"],
            query=parse_query(context.scope),
            body=await read_body(context, max_bytes) if self._route.has_body else None,
        )

    async def _authorize(self, context: RequestContext) -> Caller | Operator:
        """Return the operator, or the holder of a key if keys are allowed."""
        try:
            identity = await self._authenticate(context)
        except InvalidApiKey:
            await self._edge.delay_wrong_token(context)
            raise
        if isinstance(identity, Operator):
            # Before the body is read, because a viewer is always rejected.
            await self._check_role(context, identity)
            return identity
        await self._check_key(context, identity)
        return identity

    async def _check_role(self, context: RequestContext, operator: Operator) -> None:
        """Reject changes by an operator with read-only access, and record the attempt."""
        if not self._route.changes or operator.may_change:
            return
        await self._record_denial(context, Actor(operator.name, context.address), AdminRoleRequired)
        operator.require_admin()

    async def _record_denial(self, context: RequestContext, actor: Actor, error: type[GatewayError]) -> None:
        """Record that *actor* lacks permission for the request."""
        subject = "".join(context.scope["path_params"].values())
        await self._management.audit.record_rejection(actor, self._route.name, error.code, subject)

    async def _check_key(self, context: RequestContext, caller: Caller) -> None:
        """Count a call of the key, and reject routes that are not open to keys."""
        context.run.allowance = await self._edge.limits.consume(caller)
        # Set the allowance first, so that the error response reports the remaining calls.
        raise_if_exceeded(context.run.allowance)
        if not (self._route.open_to_keys or (self._route.open_to_managers and caller.manages_connections)):
            if self._route.changes:
                await self._record_denial(context, Actor(caller.key_id, context.address), OperatorTokenRequired)
            raise OperatorTokenRequired(
                "This API key cannot manage connections."
                if self._route.open_to_managers
                else "An API key cannot do this."
            )

    async def _authenticate(self, context: RequestContext) -> Caller | Operator:
        """Return the operator or key holder of the token. Operators are not recognised on a public port."""
        authorization = context.header(b"authorization")
        operator = None if self._public else await self._management.operators.find(parse_bearer(authorization))
        if operator is not None:
            return operator
        try:
            return await self._management.keys.authenticate(authorization)
        except InvalidApiKey as error:
            await self._management.audit.record_rejection(Actor("anonymous", context.address), "sign_in", error.code)
            raise InvalidApiKey(FOR_KEYS if self._public else FOR_ALL) from error

    def _position(self, caller: Caller | None, params: Params) -> Position | None:
        """Return the end of the previous page, or None for the first page."""
        cursor = vars(params).get("cursor")
        return None if cursor is None else self._management.cursors.read(cursor, *self._binding(caller, params))

    def _cursor(self, caller: Caller | None, params: Params, position: Position | None) -> str | None:
        return None if position is None else self._management.cursors.issue(position, *self._binding(caller, params))

    def _binding(self, caller: Caller | None, params: Params) -> Sequence[Any]:
        """Return the values that a cursor is bound to: the list, its parameters, and the workspace or operator."""
        workspace_id = caller.workspace_id if caller else None
        return self._route.name, workspace_id, params.model_dump(mode="json", exclude=UNBOUND)


def management_routes(
    edge: ApiContext, management: Management, routes: Sequence[ManagementRoute], *, public: bool
) -> list[Route]:
    """Return the HTTP routes of *routes*. They reject operator tokens if they are *public*."""
    paths: dict[str, dict[str, ASGIApp]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method] = ManagementEndpoint(edge, management, route, public=public)
    return [Route(path, MethodDispatcher(edge, endpoints)) for path, endpoints in paths.items()]
