"""Routes of all operations, built from their declarations, and the response for unknown paths."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, TypeVar
from urllib.parse import parse_qsl, unquote

import structlog
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from connector_gateway.core.access.keys import Caller
from connector_gateway.core.access.rate_limit import KeyRateLimiter
from connector_gateway.core.access.wrong_token_throttle import TokenThrottle
from connector_gateway.core.call_executor import CallExecutor
from connector_gateway.core.calls.arguments import MAX_QUERY, Arguments, Body
from connector_gateway.core.calls.idempotency_key_format import NormalizedKey
from connector_gateway.core.calls.passthrough import REQUEST
from connector_gateway.core.shutdown import Shutdown
from connector_gateway.http.api.request_bodies import read_body
from connector_gateway.http.api.request_context import RequestContext
from connector_gateway.http.api.response_headers import allow
from connector_gateway.http.api.responses import HttpResponse, error_response, send_response, success_response
from connector_gateway.http.server.connection_limits import client_network
from connector_gateway.http.server.metrics import Metrics
from connector_gateway.kit.errors import GatewayError, InternalError, InvalidApiKey, MethodNotAllowed, RouteNotFound
from connector_gateway.kit.operation import AnyConnector, AnyOperation

PREFIX = "/v1/connectors"
ROOT = PREFIX + "/"
"""The path prefix of all operations."""

CONFIRMATION = b"confirmation-token"
"""The header with the token of a confirmed write."""

T = TypeVar("T")

log = structlog.get_logger()


class Authenticator(Protocol):
    """The interface of API keys, and of agents' tokens."""

    async def authenticate(self, authorization: str | None) -> Caller:
        """Return the caller of an ``Authorization`` header."""


@dataclass(eq=False, repr=False)
class ApiContext:
    """The components that every endpoint uses: gateway, keys, limits, metrics and the throttle of wrong tokens."""

    executor: CallExecutor
    keys: Authenticator
    limits: KeyRateLimiter
    metrics: Metrics
    shutdown: Shutdown
    throttle: TokenThrottle = field(kw_only=True)
    max_body_bytes: int = field(kw_only=True)

    async def authenticate(self, context: RequestContext) -> Caller:
        """Return the caller of *context* by its API key. After many wrong keys, the error is delayed."""
        try:
            return await self.keys.authenticate(context.header(b"authorization"))
        except InvalidApiKey:
            await self.delay_wrong_token(context)
            raise

    async def delay_wrong_token(self, context: RequestContext) -> None:
        """Delay the response to an invalid token, or raise ``RateLimited`` if too many are pending."""
        await self.throttle.delay(client_network(context.address))

    async def peek(self, context: RequestContext) -> None:
        """Read how many calls a valid key has left, for responses to requests that do not count as calls."""
        try:
            caller = await self.authenticate(context)
        except GatewayError:
            return
        context.run.allowance = await self.limits.peek(caller)


class OperationEndpoint:
    """The endpoint of one operation."""

    def __init__(self, edge: ApiContext, connector: AnyConnector | None, operation: AnyOperation) -> None:
        self._edge = edge
        self._connector = connector
        """The connector. None if it is unknown, because the connection does not exist."""

        self._name = connector.name if connector else ""
        self._operation = operation
        self._metrics = edge.metrics.for_operation(self._name, operation.name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one call."""
        context, edge, operation = RequestContext(scope, receive), self._edge, self._operation
        if operation.scope == "write":
            preferences = context.preferences
            context.run.dry_run = b"dry-run" in preferences
            context.run.loses_response = b"lose-response" in preferences
            context.run.mentions = preferences.get(b"mentions")
        try:
            caller = await edge.authenticate(context)
            arguments = Arguments(path=scope["path_params"], query=parse_query(scope))
            body = None if operation.method == "GET" else partial(self._body, context, arguments)
            response = success_response(
                await edge.executor.call(context.run, caller, self._name, operation, arguments, read_body=body)
            )
        except GatewayError as error:
            response = error_response(context.run, self._connector, error)
        except asyncio.CancelledError:
            # If the client disconnected, there is no response to send.
            if not edge.shutdown.started:
                raise
            response = error_response(context.run, self._connector, edge.shutdown.interrupted_error())
        except Exception as error:  # noqa: BLE001  # every response has an error envelope
            response = error_response(context.run, self._connector, internal_error(error))
        self._metrics.observe(response.status, context.run)
        await send_response(context, response, send)

    async def _body(self, context: RequestContext, arguments: Arguments) -> Body:
        """Return the body, and read the idempotency key.

        The key is read here so that the run records the error if its header is repeated.
        """
        value = context.raw_header(b"idempotency-key")
        arguments.key = None if value is None else NormalizedKey.parse_header(value)
        arguments.confirmation = context.header(CONFIRMATION)
        return await read_body(context, self._edge.max_body_bytes)


class RequestEndpoint:
    """The endpoint of requests that callers write themselves, each handled for the connector of its connection."""

    def __init__(self, edge: ApiContext, connectors: Mapping[str, AnyConnector]) -> None:
        self._edge = edge
        self._endpoints = {name: OperationEndpoint(edge, connector, REQUEST) for name, connector in connectors.items()}
        self._unknown = OperationEndpoint(edge, None, REQUEST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one call."""
        try:
            # Authenticated first, because even an error response names the connector of the connection.
            caller = await self._edge.keys.authenticate(Headers(scope=scope).get("authorization"))
            connection = await self._edge.executor.connections.find(scope["path_params"]["connection_id"])
        except GatewayError:
            endpoint = self._unknown
        else:
            visible = connection is not None and connection.workspace_id == caller.workspace_id
            name = connection.connector if connection and visible else ""
            endpoint = self._endpoints.get(name, self._unknown)
        await endpoint(scope, receive, send)


class MethodDispatcher:
    """One path: an endpoint per method, HEAD with GET, and an error for all others."""

    def __init__(
        self, edge: ApiContext, endpoints: Mapping[str, ASGIApp], connector: AnyConnector | None = None
    ) -> None:
        self._edge = edge
        self._connector = connector
        self._endpoints = {"HEAD": endpoints["GET"], **endpoints} if "GET" in endpoints else dict(endpoints)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Forward the request, or reject its method."""
        endpoint = self._endpoints.get(scope["method"], self._reject)
        return endpoint(scope, receive, send)

    async def _reject(self, scope: Scope, receive: Receive, send: Send) -> None:
        context = RequestContext(scope, receive)
        await self._edge.peek(context)
        methods = sorted(self._endpoints)
        error = MethodNotAllowed(f"This route supports {', '.join(methods)}.", {"allowed": methods})
        response = error_response(context.run, self._connector, error)
        await send_response(context, HttpResponse(response.status, response.body, [allow(methods)]), send)


class NotFound:
    """The response for unknown paths."""

    def __init__(
        self, edge: ApiContext, missing: Callable[[str], RouteNotFound], connectors: Mapping[str, AnyConnector]
    ) -> None:
        self._edge = edge
        self._missing = missing
        self._connectors = connectors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with 404 and suggestions."""
        if scope["type"] != "http":
            return
        context = RequestContext(scope, receive)
        await self._edge.peek(context)
        await send_response(
            context, error_response(context.run, self._connector_of(scope["path"]), self._missing(scope["path"])), send
        )

    def _connector_of(self, path: str) -> AnyConnector | None:
        """Return the connector whose prefix *path* has, or None."""
        return self._connectors.get(path.removeprefix(ROOT).partition("/")[0]) if path.startswith(ROOT) else None


@dataclass(frozen=True)
class RoutePattern:
    """The path of operations below their connector, as segments. Segments in braces are parameters."""

    segments: tuple[str, ...]
    methods: MethodDispatcher

    def match(self, segments: Sequence[str]) -> dict[str, str] | None:
        """Return the path parameters, or None if *segments* do not match. Their number must be equal."""
        parameters = {}
        for declared, segment in zip(self.segments, segments, strict=True):
            if declared[0] == "{" and segment:
                parameters[declared[1:-1]] = segment
            elif declared != segment:
                return None
        return parameters


class OperationRouter:
    """Finds the operation of a path: by one lookup, or by connector and length if the path has parameters."""

    def __init__(self, edge: ApiContext, connectors: Iterable[AnyConnector], not_found: NotFound) -> None:
        self._not_found = not_found
        self.paths: list[str] = []
        """The paths of all operations, with parameters in braces."""

        self._literal_paths: dict[bytes, MethodDispatcher] = {}
        self._patterns: dict[tuple[str, int], list[RoutePattern]] = {}
        for connector in connectors:
            for pattern in _patterns(edge, connector):
                self._patterns.setdefault((connector.name, len(pattern.segments)), []).append(pattern)
                path = "/".join([PREFIX, connector.name, *pattern.segments])
                self.paths.append(path)
                if "{" not in path:
                    self._literal_paths[path.encode()] = pattern.methods

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Forward the request to the operation of its path."""
        # Trying the patterns one by one would slow down every call with each operation that is added.
        methods = self._literal_paths.get(scope["raw_path"])
        if methods is not None:
            scope["path_params"] = {}
            return methods(scope, receive, send)
        connector, *segments = _segments(scope)
        for pattern in self._patterns.get((connector, len(segments)), ()):
            parameters = pattern.match(segments)
            if parameters is not None:
                scope["path_params"] = parameters
                return pattern.methods(scope, receive, send)
        return self._not_found(scope, receive, send)


def _segments(scope: Scope) -> list[str]:
    """Return the segments below the prefix, each decoded separately, so that encoded slashes do not split it."""
    raw = scope["raw_path"].decode("latin-1")
    segments: list[str] = raw[len(ROOT) :].split("/")
    return [unquote(segment) for segment in segments] if "%" in raw else segments


def _patterns(edge: ApiContext, connector: AnyConnector) -> list[RoutePattern]:
    paths: dict[str, dict[str, ASGIApp]] = {}
    for operation in connector.operations:
        endpoints = paths.setdefault(operation.path, {})
        endpoints[operation.method] = OperationEndpoint(edge, connector, operation)
    # Literal paths first: ``/pages/search`` is not the page with the ID "search".
    literal_first = sorted(paths, key=lambda path: path.count("{"))
    methods = {path: MethodDispatcher(edge, paths[path], connector) for path in literal_first}
    return [RoutePattern(tuple(path.strip("/").split("/")), one) for path, one in methods.items()]


def last_segment(scope: Scope) -> str:
    """Return the last segment of the path, without decoding it, since tokens have only one valid spelling."""
    segment: bytes = scope["raw_path"].rpartition(b"/")[2]
    return segment.decode("latin-1")


def parse_query(scope: Scope) -> list[tuple[str, str]]:
    """Return names and values of the query, in order and up to a limit. Invalid UTF-8 becomes surrogates."""
    query = scope["query_string"]
    if not query:
        return []
    if query.count(b"&") > MAX_QUERY:
        query = b"&".join(query.split(b"&", MAX_QUERY + 1)[:-1])
    return parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="surrogateescape")


async def respond(
    context: RequestContext, connector: AnyConnector | None, response: Awaitable[HttpResponse]
) -> HttpResponse:
    """Return the result of *response*, or the error response if it raises."""
    result = await result_or_error(response)
    return error_response(context.run, connector, result) if isinstance(result, GatewayError) else result


async def result_or_error(work: Awaitable[T]) -> T | GatewayError:
    """Return the result of *work*, or the error that it raises. Unexpected exceptions become ``InternalError``."""
    try:
        return await work
    except GatewayError as error:
        return error
    except Exception as error:  # noqa: BLE001  # every response has an error envelope
        return internal_error(error)


def internal_error(exception: Exception) -> InternalError:
    """Return the public error for an unexpected *exception*."""
    error = InternalError("Internal error.", private=repr(exception))
    error.__cause__ = exception
    return error
