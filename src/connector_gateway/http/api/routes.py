"""Routes of all operations, made from their declarations, and the answer where there is no route."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar
from urllib.parse import parse_qsl, unquote

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from connector_gateway.core.access.keys import ApiKeys, Caller
from connector_gateway.core.access.rate_limit import KeyRateLimiter
from connector_gateway.core.access.token_throttle import TokenThrottle
from connector_gateway.core.calls.arguments import MAX_QUERY, Arguments, Body
from connector_gateway.core.calls.gateway import Gateway
from connector_gateway.core.calls.shutdown import Shutdown
from connector_gateway.core.writes.key_text import KeyText
from connector_gateway.http.api.bodies import read_body
from connector_gateway.http.api.responses import HttpResponse, RequestContext, allow, error_response, success_response
from connector_gateway.http.server.connection_limits import network
from connector_gateway.http.server.metrics import Metrics
from connector_gateway.kit.errors import GatewayError, InternalError, InvalidApiKey, MethodNotAllowed, RouteNotFound
from connector_gateway.kit.operation import AnyConnector, AnyOperation

PREFIX = "/v1/connectors"
ROOT = PREFIX + "/"
"""What the addresses of all operations begin with."""

T = TypeVar("T")

log = structlog.get_logger()


@dataclass(eq=False, repr=False)
class ApiContext:
    """What every endpoint needs: the gateway, keys, limits, the throttle of wrong tokens, and the largest body."""

    gateway: Gateway
    keys: ApiKeys
    limits: KeyRateLimiter
    metrics: Metrics
    stopping: Shutdown
    throttle: TokenThrottle = field(kw_only=True)
    max_body_bytes: int = field(kw_only=True)

    async def authenticate(self, exchange: RequestContext) -> Caller:
        """The caller whose API key *exchange* carries; the answer to a wrong key is delayed where there are many."""
        try:
            return await self.keys.authenticate(exchange.header(b"authorization"))
        except InvalidApiKey:
            await self.delay_wrong_token(exchange)
            raise

    async def delay_wrong_token(self, exchange: RequestContext) -> None:
        """Delay the answer to a token that was found to be wrong, or raise ``RateLimited``."""
        await self.throttle.delay(network(exchange.address))

    async def peek(self, exchange: RequestContext) -> None:
        """Read how many calls a valid key has left, for answers to requests that are not calls."""
        try:
            caller = await self.authenticate(exchange)
        except GatewayError:
            return
        exchange.run.allowance = await self.limits.peek(caller)


class OperationEndpoint:
    """One operation at its address."""

    def __init__(self, edge: ApiContext, connector: AnyConnector, operation: AnyOperation) -> None:
        self._edge = edge
        self._connector = connector
        self._operation = operation
        self._metrics = edge.metrics.for_operation(connector.name, operation.name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one call."""
        exchange, edge, operation = RequestContext(scope, receive), self._edge, self._operation
        if operation.scope == "write":
            exchange.run.dry_run = exchange.prefers(b"dry-run")
            exchange.run.mentions = exchange.preference(b"mentions")
        try:
            caller = await edge.authenticate(exchange)
            arguments = Arguments(path=scope["path_params"], query=query_of(scope))
            body = None if operation.method == "GET" else partial(self._body, exchange, arguments)
            answer = success_response(
                await edge.gateway.call(
                    exchange.run, caller, self._connector.name, operation, arguments, read_body=body
                )
            )
        except GatewayError as error:
            answer = error_response(exchange.run, self._connector, error)
        except asyncio.CancelledError:
            # A client that hung up has nobody left to be told anything.
            if not edge.stopping.begun:
                raise
            answer = error_response(exchange.run, self._connector, edge.stopping.interrupted_error())
        except Exception as fault:  # noqa: BLE001  # the edge of a surface: nothing leaves without our shape
            answer = error_response(exchange.run, self._connector, internal_error(fault))
        self._metrics.observe(answer.status, exchange.run)
        await exchange.send(answer, send)

    async def _body(self, exchange: RequestContext, arguments: Arguments) -> Body:
        """The body; the key's header is read along with it, so that a run tells of it where it stands twice."""
        value = exchange.raw_header(b"idempotency-key")
        arguments.key = None if value is None else KeyText.of_header(value)
        return await read_body(exchange, self._edge.max_body_bytes)


class MethodDispatcher:
    """One path: an endpoint per method, HEAD with GET, and an error for all others."""

    def __init__(
        self, edge: ApiContext, endpoints: Mapping[str, ASGIApp], connector: AnyConnector | None = None
    ) -> None:
        self._edge = edge
        self._connector = connector
        self._endpoints = {"HEAD": endpoints["GET"], **endpoints} if "GET" in endpoints else dict(endpoints)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass the request on, or refuse its method."""
        endpoint = self._endpoints.get(scope["method"], self._refuse)
        return endpoint(scope, receive, send)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = RequestContext(scope, receive)
        await self._edge.peek(exchange)
        methods = sorted(self._endpoints)
        error = MethodNotAllowed(f"This address takes {', '.join(methods)}.", {"allowed": methods})
        answer = error_response(exchange.run, self._connector, error)
        await exchange.send(HttpResponse(answer.status, answer.body, [allow(methods)]), send)


class NotFound:
    """The answer where there is no route."""

    def __init__(
        self, edge: ApiContext, missing: Callable[[str], RouteNotFound], connectors: Mapping[str, AnyConnector]
    ) -> None:
        self._edge = edge
        self._missing = missing
        self._connectors = connectors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Say so, in the one shape, and what is there instead."""
        if scope["type"] != "http":
            return
        exchange = RequestContext(scope, receive)
        await self._edge.peek(exchange)
        await exchange.send(
            error_response(exchange.run, self._below(scope["path"]), self._missing(scope["path"])), send
        )

    def _below(self, path: str) -> AnyConnector | None:
        """The connector below which *path* is, if it is one."""
        return self._connectors.get(path.removeprefix(ROOT).partition("/")[0]) if path.startswith(ROOT) else None


@dataclass(frozen=True)
class RoutePattern:
    """The address of operations below their connector, as segments; those in braces are parameters."""

    segments: tuple[str, ...]
    methods: MethodDispatcher

    def match(self, segments: Sequence[str]) -> dict[str, str] | None:
        """The parameters in *segments*, which must be as many as here; None if they do not match."""
        found = {}
        for declared, given in zip(self.segments, segments, strict=True):
            if declared[0] == "{" and given:
                found[declared[1:-1]] = given
            elif declared != given:
                return None
        return found


class OperationRouter:
    """Finds the operation at an address: in one table, or by connector and length if it has parameters."""

    def __init__(self, edge: ApiContext, connectors: Iterable[AnyConnector], not_found: NotFound) -> None:
        self._not_found = not_found
        self.paths: list[str] = []
        """Those of all operations, with parameters in braces."""

        self._literal: dict[bytes, MethodDispatcher] = {}
        self._addresses: dict[tuple[str, int], list[RoutePattern]] = {}
        for connector in connectors:
            for address in _addresses(edge, connector):
                self._addresses.setdefault((connector.name, len(address.segments)), []).append(address)
                path = "/".join([PREFIX, connector.name, *address.segments])
                self.paths.append(path)
                if "{" not in path:
                    self._literal[path.encode()] = address.methods

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass the request on to the operation at its address."""
        # Trying pattern after pattern costs more with every operation that is added (decisions 10 and 15).
        methods = self._literal.get(scope["raw_path"])
        if methods is not None:
            scope["path_params"] = {}
            return methods(scope, receive, send)
        connector, *segments = _segments(scope)
        for address in self._addresses.get((connector, len(segments)), ()):
            parameters = address.match(segments)
            if parameters is not None:
                scope["path_params"] = parameters
                return address.methods(scope, receive, send)
        return self._not_found(scope, receive, send)


def _segments(scope: Scope) -> list[str]:
    """The segments below the prefix, each decoded by itself, so that an encoded slash stays inside its segment."""
    raw = scope["raw_path"].decode("latin-1")
    segments: list[str] = raw[len(ROOT) :].split("/")
    return [unquote(segment) for segment in segments] if "%" in raw else segments


def _addresses(edge: ApiContext, connector: AnyConnector) -> list[RoutePattern]:
    paths: dict[str, dict[str, ASGIApp]] = {}
    for operation in connector.operations:
        endpoints = paths.setdefault(operation.path, {})
        endpoints[operation.method] = OperationEndpoint(edge, connector, operation)
    # Literal addresses first: ``/pages/search`` is not the page of that name.
    literal_first = sorted(paths, key=lambda path: path.count("{"))
    methods = {path: MethodDispatcher(edge, paths[path], connector) for path in literal_first}
    return [RoutePattern(tuple(path.strip("/").split("/")), one) for path, one in methods.items()]


def last_segment(scope: Scope) -> str:
    """Return the last segment of the path as it was sent: a token has one spelling, which needs no decoding."""
    segment: bytes = scope["raw_path"].rpartition(b"/")[2]
    return segment.decode("latin-1")


def query_of(scope: Scope) -> list[tuple[str, str]]:
    """The query's names and values, in order, of too many the first; what is no UTF-8 is nothing that is accepted."""
    query = scope["query_string"]
    if not query:
        return []
    if query.count(b"&") > MAX_QUERY:
        query = b"&".join(query.split(b"&", MAX_QUERY + 1)[:-1])
    return parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="surrogateescape")


async def respond(
    exchange: RequestContext, connector: AnyConnector | None, answer: Awaitable[HttpResponse]
) -> HttpResponse:
    """What *answer* gives, or the refusal that it ends with."""
    ended = await result_or_error(answer)
    return error_response(exchange.run, connector, ended) if isinstance(ended, GatewayError) else ended


async def result_or_error(work: Awaitable[T]) -> T | GatewayError:
    """What *work* gives, or the error that it ends with; a fault of ours has the shape of an error, too."""
    try:
        return await work
    except GatewayError as error:
        return error
    except Exception as fault:  # noqa: BLE001  # the edge of a surface: nothing leaves without our shape
        return internal_error(fault)


def internal_error(fault: Exception) -> InternalError:
    """The error that stands for a fault of ours."""
    error = InternalError("Something went wrong here.", private=repr(fault))
    error.__cause__ = fault
    return error
