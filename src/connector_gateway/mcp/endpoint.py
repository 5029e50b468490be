"""The address of agents: lets requests in, and passes them on to what speaks the protocol."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic_core import from_json, to_json
from starlette.types import Receive, Scope, Send

from connector_gateway.core.access.keys import Caller
from connector_gateway.core.access.rate_limit import raise_if_exceeded
from connector_gateway.core.calls.arguments import Body
from connector_gateway.core.calls.error_details import truncate
from connector_gateway.core.connections import ConnectionSelector
from connector_gateway.core.history.runs import RunStore
from connector_gateway.http.api.bodies import read_body
from connector_gateway.http.api.cached_documents import LazyDocument
from connector_gateway.http.api.responses import HttpResponse, RequestContext, error_response
from connector_gateway.http.api.routes import ApiContext, result_or_error
from connector_gateway.kit.errors import GatewayError, OriginNotAllowed
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.mcp.messages import validate_message

if TYPE_CHECKING:
    from connector_gateway.mcp.server import McpServices

PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603
"""Codes of the protocol for what cannot be read, what is refused, and what fails."""


class McpEndpoint:
    """Answers the requests of agents."""

    def __init__(
        self,
        edge: ApiContext,
        choosing: ConnectionSelector,
        runs: RunStore,
        connectors: Mapping[str, AnyConnector],
        base_url: str,
    ) -> None:
        self._edge = edge
        self._base = urlsplit(base_url)
        self._surface = LazyDocument(lambda: _load(edge, choosing, runs, connectors))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; what is refused here is refused before the protocol begins."""
        exchange = RequestContext(scope, receive, "mcp")
        admitted = await result_or_error(self._admit(exchange))
        if isinstance(admitted, GatewayError):
            await exchange.send(_refused(exchange, admitted), send)
        else:
            surface, caller, body = admitted
            await surface.answer(exchange, caller, body, send)

    async def _admit(self, exchange: RequestContext) -> tuple["McpServices", Caller, Body]:
        """Who asks, what, and what speaks the protocol."""
        self._check_origin(exchange)
        caller = await self._edge.authenticate(exchange)
        exchange.run.allowance = await self._edge.limits.consume(caller)
        body = await read_body(exchange, self._edge.max_body_bytes)
        # A call of a tool beyond the minute of the key is refused by the gateway itself, with a run.
        if not (isinstance(body.value, dict) and body.value.get("method") == "tools/call"):
            raise_if_exceeded(exchange.run.allowance)
        if body.refusal is not None:
            raise body.refusal
        validate_message(body.value)
        return await self._surface.get(), caller, body

    def _check_origin(self, exchange: RequestContext) -> None:
        """Refuse web pages of others, also those whose name was made to lead to this machine."""
        within = _is_loopback((exchange.scope.get("server") or ("",))[0])
        origin, host = exchange.header(b"origin"), _host_of(f"//{exchange.header(b'host') or ''}")
        if origin is not None and not self._is_own(origin) and not (within and _is_loopback(_host_of(origin))):
            raise OriginNotAllowed(f"Pages of {truncate(origin)} may not ask here.")
        # A name that leads here over a network is for that network to judge; this machine itself is open to others.
        if within and not _is_loopback(host) and host != self._base.hostname:
            raise OriginNotAllowed(f"This service is not called {truncate(host)}.")

    def _is_own(self, origin: str) -> bool:
        return origin.lower() == f"{self._base.scheme}://{self._base.netloc}".lower()


def _host_of(address: str) -> str:
    """The host of *address*; empty where it has none that can be read."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _load(
    edge: ApiContext, choosing: ConnectionSelector, runs: RunStore, connectors: Mapping[str, AnyConnector]
) -> "McpServices":
    """What speaks the protocol, imported with the first request: it would double the time of a start (decision 62)."""
    from connector_gateway.mcp.server import McpServices  # noqa: PLC0415  # as said above

    return McpServices(edge, choosing, runs, connectors)


def _refused(exchange: RequestContext, error: GatewayError) -> HttpResponse:
    """The answer to a refused request, as an error of the protocol."""
    answer = error_response(exchange.run, None, error)
    code = PARSE_ERROR if error.code == "invalid_json" else INVALID_REQUEST if error.status < 500 else INTERNAL_ERROR
    body = from_json(answer.body)
    message = f"{error.code}: {error.message} {body['error']['remedy']}"
    # Nothing was read as a request of the protocol yet, so it has no identifier to answer to.
    told = {"code": code, "message": message, "data": body}
    return HttpResponse(answer.status, to_json({"jsonrpc": "2.0", "id": None, "error": told}), answer.headers)
