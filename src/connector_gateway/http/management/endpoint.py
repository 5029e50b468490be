"""Management routes at their addresses."""

import hmac
from collections.abc import Sequence
from typing import Any

from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from connector_gateway.core.arguments import Arguments
from connector_gateway.core.keys import Caller, bearer
from connector_gateway.core.limits import require
from connector_gateway.core.work import UNBOUND
from connector_gateway.http.answers import HttpExchange, HttpResponse, shown
from connector_gateway.http.bodies import read_body
from connector_gateway.http.management.declared import Asked, Management, ManagementRoute
from connector_gateway.http.routes import Methods, answered, query_of
from connector_gateway.kit.errors import InvalidApiKey, OperatorTokenRequired
from connector_gateway.kit.shapes import Listing, Page, Params, Position

FOR_ALL = "This is neither the operator token nor a current API key."
FOR_KEYS = "This is not a current API key; the operator token is accepted at GATEWAY_ADMIN_PORT only."


class ManagementEndpoint:
    """One management route at its address; where *public*, operators' tokens open nothing."""

    def __init__(self, management: Management, route: ManagementRoute, *, public: bool) -> None:
        self._management = management
        self._route = route
        self._public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        exchange = HttpExchange(scope, receive)
        await exchange.send(await answered(exchange, None, self._answer(exchange)), send)

    async def _answer(self, exchange: HttpExchange) -> HttpResponse:
        route, caller = self._route, await self._let_in(exchange)
        params = (await self._arguments(exchange)).read(route.params, connection=False)
        asked = Asked(self._management, caller, self._position(caller, params))
        result = await route.perform(asked, params)
        if isinstance(result, Page):
            return shown(result.items, next_cursor=self._cursor(caller, params, result.position), paged=True)
        return shown(result.items if isinstance(result, Listing) else result)

    async def _arguments(self, exchange: HttpExchange) -> Arguments:
        max_bytes = self._management.edge.max_body_bytes
        return Arguments(
            path=exchange.scope["path_params"],
            query=query_of(exchange.scope),
            body=await read_body(exchange, max_bytes) if self._route.has_body else None,
        )

    async def _let_in(self, exchange: HttpExchange) -> Caller | None:
        """None for the operator; the holder of a key where keys are let in."""
        try:
            caller = await self._caller(exchange.header(b"authorization"))
        except InvalidApiKey:
            await self._management.edge.delay_wrong_token(exchange)
            raise
        if caller is None:
            return None
        await self._allow(exchange, caller)
        return caller

    async def _allow(self, exchange: HttpExchange, caller: Caller) -> None:
        """Count a call of the key, and refuse one that is not for keys."""
        exchange.run.allowance = await self._management.edge.limits.spend(caller)
        # The allowance is set before it is required, so that the refusal shows what is left.
        require(exchange.run.allowance)
        if not self._is_open_to(caller):
            raise OperatorTokenRequired(
                "This API key cannot manage connections."
                if self._route.open_to_managers
                else "An API key cannot do this."
            )

    def _is_open_to(self, caller: Caller) -> bool:
        return self._route.open_to_keys or (self._route.open_to_managers and caller.manages_connections)

    async def _caller(self, authorization: str | None) -> Caller | None:
        """None for the operator, else the holder of a key."""
        token = self._management.operator_token.encode()
        if not self._public and hmac.compare_digest(bearer(authorization).encode(), token):
            return None
        try:
            return await self._management.keys.authenticate(authorization)
        except InvalidApiKey as error:
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


def management_routes(management: Management, routes: Sequence[ManagementRoute], *, public: bool) -> list[Route]:
    """Every one of *routes* at its address, without operators where *public*."""
    paths: dict[str, dict[str, ASGIApp]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method] = ManagementEndpoint(management, route, public=public)
    return [Route(path, Methods(management.edge, endpoints)) for path, endpoints in paths.items()]
