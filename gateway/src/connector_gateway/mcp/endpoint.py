"""The MCP endpoint: authorizes requests and passes them to the protocol implementation."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic_core import from_json, to_json
from starlette.types import Receive, Scope, Send

from connector_gateway.core.access.rate_limit import raise_if_exceeded
from connector_gateway.core.connections import UsableConnections
from connector_gateway.core.error_serialization import truncate
from connector_gateway.core.history.runs import RunStore
from connector_gateway.http.api.cached_documents import LazyDocument
from connector_gateway.http.api.request_bodies import read_body
from connector_gateway.http.api.request_context import RequestContext
from connector_gateway.http.api.responses import HttpResponse, error_response, send_response
from connector_gateway.http.api.routes import ApiContext, result_or_error
from connector_gateway.kit.errors import GatewayError, OriginNotAllowed
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.mcp.jsonrpc_messages import validate_message
from connector_gateway.mcp.text_escaping import error_text, reveal

if TYPE_CHECKING:
    from connector_gateway.mcp.server import McpRequest, McpServices

PARSE_ERROR, INVALID_REQUEST, INTERNAL_ERROR = -32700, -32600, -32603
"""JSON-RPC codes for unreadable, rejected and failed requests."""


class McpEndpoint:
    """The endpoint for requests of agents."""

    def __init__(
        self,
        edge: ApiContext,
        choosing: UsableConnections,
        runs: RunStore,
        connectors: Mapping[str, AnyConnector],
        base_url: str,
        *,
        challenge: bytes = b"Bearer",
    ) -> None:
        self._edge = edge
        self._challenge = challenge
        self._base = urlsplit(base_url)
        self._surface = LazyDocument(lambda: _load(edge, choosing, runs, connectors))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request. Rejected requests never reach the protocol implementation."""
        context = RequestContext(scope, receive, "mcp")
        authorized = await result_or_error(self._authorize(context))
        if isinstance(authorized, GatewayError):
            await send_response(context, _error_response(context, authorized, self._challenge), send)
        else:
            surface, request = authorized
            await surface.respond(context, request, send)

    async def _authorize(self, context: RequestContext) -> tuple["McpServices", "McpRequest"]:
        """Return the protocol implementation and the request. Raises if it is rejected."""
        self._check_origin(context)
        caller = await self._edge.authenticate(context)
        context.run.allowance = await self._edge.limits.consume(caller)
        body = await read_body(context, self._edge.max_body_bytes)
        # The gateway itself rejects tool calls beyond the key's limit, and records a run.
        if not (isinstance(body.value, dict) and body.value.get("method") == "tools/call"):
            raise_if_exceeded(context.run.allowance)
        if body.error is not None:
            raise body.error
        validate_message(body.value)
        services = await self._surface.get()
        return services, services.request(context, caller, body)

    def _check_origin(self, context: RequestContext) -> None:
        """Reject requests of foreign web pages, including DNS rebinding to this machine."""
        on_loopback = _is_loopback((context.scope.get("server") or ("",))[0])
        origin, host = context.header(b"origin"), _parse_host(f"//{context.header(b'host') or ''}")
        if origin is not None and not self._is_own(origin) and not (on_loopback and _is_loopback(_parse_host(origin))):
            raise OriginNotAllowed(f"Pages of {truncate(origin)} are not allowed to send requests.")
        # Host names are checked on loopback only, where DNS rebinding is possible. Elsewhere the network decides.
        if on_loopback and not _is_loopback(host) and host != self._base.hostname:
            raise OriginNotAllowed(f"The host {truncate(host)} does not belong to this service.")

    def _is_own(self, origin: str) -> bool:
        return origin.lower() == f"{self._base.scheme}://{self._base.netloc}".lower()


def _parse_host(url: str) -> str:
    """Return the host of *url*, or an empty string if it has no valid one."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _load(
    edge: ApiContext, choosing: UsableConnections, runs: RunStore, connectors: Mapping[str, AnyConnector]
) -> "McpServices":
    """Return the protocol implementation, which is imported on first use."""
    from connector_gateway.mcp.server import McpServices  # noqa: PLC0415  # would double the startup time

    return McpServices(edge, choosing, runs, connectors)


def _error_response(context: RequestContext, error: GatewayError, challenge: bytes) -> HttpResponse:
    """Return the response to a rejected request, as a JSON-RPC error. A 401 has the *challenge*."""
    response = error_response(context.run, None, error)
    code = PARSE_ERROR if error.code == "invalid_json" else INVALID_REQUEST if error.status < 500 else INTERNAL_ERROR
    body = reveal(from_json(response.body))
    # The request was not parsed as JSON-RPC yet, so its ID is unknown.
    payload = {"code": code, "message": error_text(body), "data": body}
    headers = [(name, challenge if name == b"www-authenticate" else value) for name, value in response.headers]
    return HttpResponse(response.status, to_json({"jsonrpc": "2.0", "id": None, "error": payload}), headers)
