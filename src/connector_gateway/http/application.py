"""The application: every route, and the service behind them."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from pydantic_core import to_json
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute, Route, Router, request_response
from starlette.types import ASGIApp, Receive, Scope, Send

from connector_gateway import __version__
from connector_gateway.core.access.sessions import Sessions
from connector_gateway.core.calls.envelope import DOCS
from connector_gateway.core.calls.shutdown import Shutdown
from connector_gateway.core.connections import ConsentFlow
from connector_gateway.core.events.feed import Feed
from connector_gateway.core.events.inbound_hooks import InboundHooks
from connector_gateway.core.first_steps import FirstSteps
from connector_gateway.core.pacing.usage import UsageTracker
from connector_gateway.http.api.cached_documents import ChunkedResponse, LazyDocument
from connector_gateway.http.api.downloads import download_routes
from connector_gateway.http.api.hooks import hook_routes
from connector_gateway.http.api.route_suggestions import RouteSuggestions
from connector_gateway.http.api.routes import ROOT, ApiContext, MethodDispatcher, NotFound, OperationRouter
from connector_gateway.http.console import Console, console_routes
from connector_gateway.http.management import management_routes
from connector_gateway.http.openapi import openapi
from connector_gateway.http.openapi.examples import Values
from connector_gateway.http.openapi.viewer import reference, viewer, viewer_script
from connector_gateway.http.pages import ASSETS, Pages, asset
from connector_gateway.http.pages.connect import ConnectPages
from connector_gateway.http.pages.errors import CODES, error_page, errors_page
from connector_gateway.http.pages.guides import INDEX, guide_address, guide_page, guides, guides_page
from connector_gateway.http.server.connection_limits import ClientConnections
from connector_gateway.http.server.metrics import Metrics, MetricsEndpoint
from connector_gateway.http.server.worker_metrics import WorkerMetrics
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors.suggestions import MEANT
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.management.declaration import ManagementRoute
from connector_gateway.management.request import Management
from connector_gateway.management.routes import MANAGEMENT
from connector_gateway.storage.shared.interface import SharedState

SHOWN = ("/docs", "/docs/errors", *(DOCS + code for code in CODES), "/openapi.json", "/healthz", "/readyz")
"""What the service tells everybody of itself."""

SHOWN_TO_OPERATORS = ("/console", "/metrics")

AGENTS = "/mcp"
"""The address of the protocol that agents speak."""

Check = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Service:
    """Everything the application serves."""

    connectors: Mapping[str, AnyConnector]
    edge: ApiContext
    management: Management
    hooks: InboundHooks
    consents: ConsentFlow
    clock: Clock
    metrics: Metrics
    checks: Mapping[str, Check]
    """What must answer before calls can be taken, by name."""

    shared: SharedState

    clients: ClientConnections
    metrics_token: str
    base_url: str
    download_path: str
    feed: Feed
    usage: UsageTracker
    sessions: Sessions
    agents: ASGIApp
    """The surface for agents."""

    first_steps: Callable[[], Awaitable[FirstSteps]]

    example_values: Values
    """Values of parameters for the examples in the reference."""

    siblings: WorkerMetrics | None = None
    """The workers that serve beside this one, where there are any."""

    admin_port: int | None = None
    """The only port at which operators are served; every port is if None."""

    async def exposition(self) -> bytes:
        """The metrics: this process's own, or those of all workers."""
        return await self.siblings.exposition() if self.siblings else await self.metrics.exposition()

    @cached_property
    def document(self) -> LazyDocument[bytes]:
        """The OpenAPI document, as JSON."""
        return LazyDocument(lambda: to_json(self._described) + b"\n")

    @cached_property
    def page(self) -> LazyDocument[Response]:
        """The reference page."""
        return LazyDocument(lambda: reference(self.pages, self._described))

    @cached_property
    def pages(self) -> Pages:
        """What makes pages for people."""
        return Pages(self.base_url)

    @property
    def console(self) -> Console:
        """What the pages of the console work on."""
        return Console(
            self.edge,
            self.management,
            self.feed,
            self.usage,
            self.sessions,
            self.pages,
            self.connectors,
            self.clock,
            self.first_steps,
        )

    @cached_property
    def _described(self) -> dict[str, Any]:
        return openapi(self.connectors.values(), self.base_url, self.example_values)


class AsgiApp(Protocol):
    """An application, whatever is wrapped around it."""

    stopping: Shutdown
    clients: ClientConnections
    words: Collection[str]
    """Segments of paths that are the same for everybody, so that logs and traces may show them."""

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """What stands behind the routes, open while inside."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer."""


class Application:
    """Every route; operations have a prefix to themselves, and look their addresses up without trying one by one.

    *public* has the routes without those of operators, for every port but *admin_port*; None if every port has all.
    """

    def __init__(
        self,
        service: Service,
        operations: OperationRouter,
        others: Router,
        public: Router | None,
        pages: Collection[str],
    ) -> None:
        self.stopping = service.edge.stopping
        self.clients = service.clients
        templates = [*operations.paths, *pages, *(route.path for route in others.routes if isinstance(route, Route))]
        segments = {segment for template in templates for segment in template.split("/")}
        self.words: Collection[str] = frozenset(segment for segment in segments if "{" not in segment)
        self._operations = operations
        self._others = others
        self._public = public
        self._admin_port = service.admin_port

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """What stands behind the routes, open while inside."""
        return self._others.lifespan_context(self._others)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Pass the request on to its route."""
        if scope["type"] == "http" and scope["path"].startswith(ROOT):
            return self._operations(scope, receive, send)
        # By the port of the socket, and not by a header.
        _, port = scope.get("server") or (None, None)
        router = self._others if self._public is None or port == self._admin_port else self._public
        return router(scope, receive, send)


STARTING_POINTS = {
    "reference": "/docs",
    "openapi": "/openapi.json",
    "guides": INDEX,
    "errors": "/docs/errors",
    "health": "/healthz",
}
"""Addresses that ``GET /`` lists for everybody."""


class RootRedirect:
    """The address without a path: leads a browser to the reference, and lists for others what there is."""

    def __init__(self, *, public: bool) -> None:
        paths = STARTING_POINTS if public else {**STARTING_POINTS, "console": "/console"}
        self._list = _json(200, {"service": "connector-gateway", "version": __version__, **paths})
        self._redirect = RedirectResponse("/docs", 302)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Send the redirect or the list."""
        return (self._redirect if _reads_pages(scope) else self._list)(scope, receive, send)


class Documentation:
    """Pages that are looked up by their whole path: there are many, and a route for each would be tried in turn."""

    def __init__(self, pages: Mapping[str, ASGIApp], missing: ASGIApp) -> None:
        self._pages = pages
        self._missing = missing

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Send the page at the path, if there is one."""
        page = self._pages.get(scope["path"]) if scope["type"] == "http" else None
        return (page or self._missing)(scope, receive, send)


class NotFoundPage:
    """Where there is no route: a page for a browser that looks for one, and a refusal for everybody else."""

    def __init__(self, pages: Pages, addresses: RouteSuggestions, not_found: NotFound) -> None:
        self._pages = pages
        self._addresses = addresses
        self._not_found = not_found

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Say so."""
        looks = scope["type"] == "http" and _reads_pages(scope) and not scope["path"].startswith("/v1/")
        answer = self._page(scope["path"]) if looks else self._not_found
        return answer(scope, receive, send)

    def _page(self, path: str) -> Response:
        missing = self._addresses.not_found_error(path)
        meant = next((str(detail[MEANT]) for detail in missing.details if MEANT in detail), "")
        # What it means is an address to open only where a browser would read it.
        meant = meant.removeprefix("GET ") if meant.startswith("GET /") and "{" not in meant else ""
        return self._pages.show("missing.html", status=404, message=missing.message, meant=meant)


def _reads_pages(scope: Scope) -> bool:
    return scope["method"] in {"GET", "HEAD"} and "text/html" in Headers(scope=scope).get("accept", "")


def application(service: Service, lifespan: Callable[[Router], AbstractAsyncContextManager[None]]) -> Application:
    """The service as an ASGI application; *lifespan* opens and closes what stands behind it."""
    pages = _descriptions(service)
    others = _router(service, lifespan, pages, public=False)
    public = None if service.admin_port is None else _router(service, lifespan, pages, public=True)
    operations = OperationRouter(
        service.edge, service.connectors.values(), _not_found(service, _addresses(service, public=True))
    )
    return Application(service, operations, others, public, pages)


def _router(
    service: Service,
    lifespan: Callable[[Router], AbstractAsyncContextManager[None]],
    pages: Mapping[str, ASGIApp],
    *,
    public: bool,
) -> Router:
    """Every route but those of operations, which are most calls and are found by a look-up of their own.

    Where *public*, those for operators alone are left out.
    """
    addresses = _addresses(service, public=public)
    missing = NotFoundPage(service.pages, addresses, _not_found(service, addresses))
    routes: list[BaseRoute] = [
        _shown(service, "/", RootRedirect(public=public)),
        *management_routes(service.edge, service.management, _managed(public=public), public=public),
        *([] if public else _for_operators(service)),
        *hook_routes(service.edge, service.hooks, service.clock, service.management.audit),
        *ConnectPages(service.consents, service.connectors, service.pages, service.management.audit).routes(
            service.edge
        ),
        Route(AGENTS, MethodDispatcher(service.edge, {"POST": service.agents})),
        *_states(service),
        *download_routes(service.edge, service.download_path),
    ]
    return Router(routes, default=Documentation(pages, missing), redirect_slashes=False, lifespan=lifespan)


def _not_found(service: Service, addresses: RouteSuggestions) -> NotFound:
    return NotFound(service.edge, addresses.not_found_error, service.connectors)


def _managed(*, public: bool) -> list[ManagementRoute]:
    """The management routes, without those for operators alone where *public*."""
    return [route for route in MANAGEMENT if not (public and route.is_for_operators)]


def _for_operators(service: Service) -> Iterator[Route]:
    yield from console_routes(service.edge, service.console)
    metrics = MetricsEndpoint(service.exposition, service.metrics_token, service.edge.delay_wrong_token)
    yield _shown(service, "/metrics", metrics)


def _states(service: Service) -> Iterator[Route]:
    """How the service is, for those who run it."""

    async def alive(_: Request) -> Response:
        return _json(200, {"status": "alive"})

    async def ready(_: Request) -> Response:
        states = {name: await _state(check) for name, check in service.checks.items()}
        whole = all(state == "ok" for state in states.values())
        status = "stopping" if service.edge.stopping.announced else "ready" if whole else "not ready"
        told = {"status": status, "checks": states, "shared_store": service.shared.state}
        return _json(200 if status == "ready" else 503, told)

    yield _shown(service, "/healthz", request_response(alive))
    yield _shown(service, "/readyz", request_response(ready))


def _descriptions(service: Service) -> Mapping[str, ASGIApp]:
    """What the service offers, for programs and people, and the pages about errors."""

    async def document(_: Request) -> Response:
        return ChunkedResponse(await service.document.get(), media_type="application/json")

    async def page(_: Request) -> Response:
        return await service.page.get()

    async def started(_: Request) -> Response:
        return viewer_script()

    async def errors(_: Request) -> Response:
        return errors_page(service.pages, service.connectors.values())

    async def error(request: Request) -> Response:
        return error_page(service.pages, request.url.path.rpartition("/")[2], service.connectors.values())

    async def listed(_: Request) -> Response:
        return guides_page(service.pages)

    async def guide(request: Request) -> Response:
        return guide_page(service.pages, addresses[request.scope["path"]])

    async def loaded(request: Request) -> Response:
        return asset(request.url.path.rpartition("/")[2])

    addresses = {guide_address(path): path for path in guides()}
    shown: dict[str, Callable[[Request], Awaitable[Response]]] = {
        "/openapi.json": document,
        "/docs": page,
        "/docs/start.js": started,
        "/docs/viewer.js": viewer,
        **dict.fromkeys(ASSETS, loaded),
        "/docs/errors": errors,
        INDEX: listed,
        **dict.fromkeys(addresses, guide),
        **{DOCS + code: error for code in CODES},
    }
    endpoints = {show: MethodDispatcher(service.edge, {"GET": request_response(show)}) for show in set(shown.values())}
    return {path: endpoints[show] for path, show in shown.items()}


def _shown(service: Service, path: str, endpoint: ASGIApp) -> Route:
    return Route(path, MethodDispatcher(service.edge, {"GET": endpoint}))


def _addresses(service: Service, *, public: bool) -> RouteSuggestions:
    """Every address that somebody may have meant."""
    managed = [(route.method, route.path) for route in _managed(public=public)]
    shown = SHOWN if public else (*SHOWN, *SHOWN_TO_OPERATORS)
    return RouteSuggestions(
        service.connectors.values(), [*managed, ("POST", AGENTS), *(("GET", path) for path in shown)]
    )


async def _state(check: Check) -> str:
    try:
        await check()
    except Exception as fault:  # noqa: BLE001  # whatever it is, it is the answer
        return f"failed: {type(fault).__name__}"
    return "ok"


def _json(status: int, body: object) -> Response:
    return Response(to_json(body) + b"\n", status, media_type="application/json")
