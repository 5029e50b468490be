"""The ASGI application: all routes, and the services behind them."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
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
from connector_gateway.core.calls.passthrough import REQUEST
from connector_gateway.core.calls.response_envelope import DOCS
from connector_gateway.core.connections import ConsentFlow
from connector_gateway.core.events.feed import Feed
from connector_gateway.core.events.inbound_hooks import InboundHooks
from connector_gateway.core.onboarding_checklist import OnboardingChecklist
from connector_gateway.core.pacing.budget_usage import UsageTracker
from connector_gateway.core.shutdown import Shutdown
from connector_gateway.http.api.cached_documents import ChunkedResponse, LazyDocument
from connector_gateway.http.api.downloads import download_routes
from connector_gateway.http.api.inbound_hooks import hook_routes
from connector_gateway.http.api.route_suggestions import RouteSuggestions
from connector_gateway.http.api.routes import (
    ROOT,
    ApiContext,
    MethodDispatcher,
    NotFound,
    OperationRouter,
    RequestEndpoint,
)
from connector_gateway.http.console import CONSOLE, NOT_FOUND, Console, ConsoleEndpoint, console_routes
from connector_gateway.http.management import management_routes
from connector_gateway.http.openapi import openapi
from connector_gateway.http.openapi.examples import Values
from connector_gateway.http.openapi.viewer import reference, viewer, viewer_script
from connector_gateway.http.pages import ASSETS, Pages, asset
from connector_gateway.http.pages.connect import ConnectPages
from connector_gateway.http.pages.error_pages import CODES, error_page, errors_page
from connector_gateway.http.pages.guides import INDEX, MOVED, guide_page, guide_path, guides, guides_page
from connector_gateway.http.server.connection_limits import ClientConnections
from connector_gateway.http.server.metrics import Metrics, MetricsEndpoint
from connector_gateway.http.server.worker_metrics import WorkerMetrics
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors.suggestions import SUGGESTION_KEY
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.management.request import Management
from connector_gateway.management.route_declaration import ManagementRoute
from connector_gateway.management.routes import MANAGEMENT
from connector_gateway.storage.shared.interface import SharedState

PUBLIC_PATHS = ("/docs", "/docs/errors", *(DOCS + code for code in CODES), "/openapi.json", "/healthz", "/readyz")
"""Public paths about the service itself."""

OPERATOR_PATHS = ("/console", "/metrics")

AGENTS_PATH = "/mcp"
"""The path of the MCP endpoint for agents."""

Check = Callable[[], Awaitable[None]]


@dataclass(frozen=True)
class Service:
    """The components that the application serves."""

    connectors: Mapping[str, AnyConnector]
    edge: ApiContext
    management: Management
    hooks: InboundHooks
    consents: ConsentFlow
    clock: Clock
    metrics: Metrics
    checks: Mapping[str, Check]
    """The readiness checks, by name."""

    shared: SharedState

    clients: ClientConnections
    metrics_token: str
    base_url: str
    download_path: str
    feed: Feed
    usage: UsageTracker
    sessions: Sessions
    agents: ASGIApp
    """The MCP endpoint for agents."""

    onboarding_checklist: Callable[[], Awaitable[OnboardingChecklist]]

    example_values: Values
    """Values of parameters for the examples in the reference."""

    worker_metrics: WorkerMetrics | None = None
    """The metrics of all workers, if there are several."""

    admin_port: int | None = None
    """The only port that serves operators. None if every port does."""

    authorization_routes: Callable[[Pages], Sequence[Route]] = lambda _: ()
    """Returns the routes on which clients of agents are authorised. There are none if that is off."""

    async def exposition(self) -> bytes:
        """Return the metrics of this process, or of all workers."""
        return await self.worker_metrics.exposition() if self.worker_metrics else await self.metrics.exposition()

    @cached_property
    def document(self) -> LazyDocument[bytes]:
        """The OpenAPI document, as JSON."""
        return LazyDocument(lambda: to_json(self._openapi_document) + b"\n")

    @cached_property
    def page(self) -> LazyDocument[Response]:
        """The reference page."""
        return LazyDocument(lambda: reference(self.pages, self._openapi_document))

    @cached_property
    def pages(self) -> Pages:
        """The renderer of HTML pages."""
        return Pages(self.base_url)

    @property
    def console(self) -> Console:
        """The components that the console uses."""
        return Console(
            self.edge,
            self.management,
            self.feed,
            self.usage,
            self.sessions,
            self.pages,
            self.connectors,
            self.clock,
            self.onboarding_checklist,
        )

    @cached_property
    def _openapi_document(self) -> dict[str, Any]:
        return openapi(self.connectors.values(), self.base_url, self.example_values)


class AsgiApp(Protocol):
    """The ASGI application, with or without middleware."""

    shutdown: Shutdown
    clients: ClientConnections
    fixed_segments: Collection[str]
    """The fixed segments of paths, which logs and traces may include."""

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """Open the services behind the routes while the context is open."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Handle a request."""


class Application:
    """All routes. Operations share a prefix and are found without trying patterns one by one.

    *public* has the routes without those for operators, for every port except ``admin_port``. It is None if every port
    serves all routes.
    """

    def __init__(
        self,
        service: Service,
        operations: OperationRouter,
        others: Router,
        public: Router | None,
        pages: Collection[str],
    ) -> None:
        self.shutdown = service.edge.shutdown
        self.clients = service.clients
        templates = [*operations.paths, *pages, *(route.path for route in others.routes if isinstance(route, Route))]
        segments = {segment for template in templates for segment in template.split("/")}
        self.fixed_segments: Collection[str] = frozenset(segment for segment in segments if "{" not in segment)
        self._operations = operations
        self._default_router = others
        self._public = public
        self._admin_port = service.admin_port

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """Open the services behind the routes while the context is open."""
        return self._default_router.lifespan_context(self._default_router)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Forward the request to its route."""
        if scope["type"] == "http" and scope["path"].startswith(ROOT):
            return self._operations(scope, receive, send)
        # Use the port of the socket, since clients can forge headers.
        _, port = scope.get("server") or (None, None)
        router = self._default_router if self._public is None or port == self._admin_port else self._public
        return router(scope, receive, send)


STARTING_POINTS = {
    "reference": "/docs",
    "openapi": "/openapi.json",
    "guides": INDEX,
    "errors": "/docs/errors",
    "health": "/healthz",
}
"""The public paths that ``GET /`` lists."""


class RootRedirect:
    """The root path: redirects browsers to the reference, and lists the starting points for other clients."""

    def __init__(self, *, public: bool) -> None:
        paths = STARTING_POINTS if public else {**STARTING_POINTS, "console": "/console"}
        self._list = _json(200, {"service": "connector-gateway", "version": __version__, **paths})
        self._redirect = RedirectResponse("/docs", 302)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Send the redirect or the list."""
        return (self._redirect if _reads_pages(scope) else self._list)(scope, receive, send)


class Documentation:
    """Pages found by their full path, since there are many and a router would try their routes one by one."""

    def __init__(self, pages: Mapping[str, ASGIApp], missing: ASGIApp) -> None:
        self._pages = pages
        self._missing = missing

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Send the page at the path, or the response for missing routes."""
        page = self._pages.get(scope["path"]) if scope["type"] == "http" else None
        return (page or self._missing)(scope, receive, send)


class NotFoundPage:
    """The response for unknown paths: an HTML page for browsers, an error envelope otherwise."""

    def __init__(self, pages: Pages, addresses: RouteSuggestions, not_found: NotFound, console: ASGIApp | None) -> None:
        self._pages = pages
        self._suggestions = addresses
        self._not_found = not_found
        self._console = console
        """The console's own response. None if the console is served on another port."""

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Respond with 404."""
        wants_page = scope["type"] == "http" and _reads_pages(scope) and not scope["path"].startswith("/v1/")
        if not wants_page:
            return self._not_found(scope, receive, send)
        is_console = scope["path"].startswith(f"{CONSOLE}/")
        response = self._console if self._console and is_console else self._page(scope["path"])
        return response(scope, receive, send)

    def _page(self, path: str) -> Response:
        missing = self._suggestions.not_found_error(path)
        suggestion = next((str(detail[SUGGESTION_KEY]) for detail in missing.details if SUGGESTION_KEY in detail), "")
        # Suggest only paths that a browser can open.
        suggestion = suggestion.removeprefix("GET ") if suggestion.startswith("GET /") and "{" not in suggestion else ""
        return self._pages.show("missing.html", status=404, message=missing.message, meant=suggestion)


def _reads_pages(scope: Scope) -> bool:
    return scope["method"] in {"GET", "HEAD"} and "text/html" in Headers(scope=scope).get("accept", "")


def application(service: Service, lifespan: Callable[[Router], AbstractAsyncContextManager[None]]) -> Application:
    """Return *service* as an ASGI application. *lifespan* opens and closes the services behind it."""
    pages = _documentation(service)
    others = _router(service, lifespan, pages, public=False)
    public = None if service.admin_port is None else _router(service, lifespan, pages, public=True)
    operations = OperationRouter(
        service.edge, service.connectors.values(), _not_found(service, _suggestions(service, public=True))
    )
    return Application(service, operations, others, public, pages)


def _router(
    service: Service,
    lifespan: Callable[[Router], AbstractAsyncContextManager[None]],
    pages: Mapping[str, ASGIApp],
    *,
    public: bool,
) -> Router:
    """Return a router with all routes except operations, which ``OperationRouter`` finds.

    If *public*, the routes for operators are omitted.
    """
    addresses = _suggestions(service, public=public)
    console = None if public else ConsoleEndpoint(service.console, NOT_FOUND)
    missing = NotFoundPage(service.pages, addresses, _not_found(service, addresses), console)
    routes: list[BaseRoute] = [
        _get_route(service, "/", RootRedirect(public=public)),
        *management_routes(service.edge, service.management, _management_routes(public=public), public=public),
        *([] if public else _for_operators(service)),
        Route(
            REQUEST.path, MethodDispatcher(service.edge, {"POST": RequestEndpoint(service.edge, service.connectors)})
        ),
        *hook_routes(service.edge, service.hooks, service.clock, service.management.audit),
        *ConnectPages(service.consents, service.connectors, service.pages, service.management.audit).routes(
            service.edge
        ),
        Route(AGENTS_PATH, MethodDispatcher(service.edge, {"POST": service.agents})),
        *service.authorization_routes(service.pages),
        *_health_routes(service),
        *download_routes(service.edge, service.download_path),
    ]
    return Router(routes, default=Documentation(pages, missing), redirect_slashes=False, lifespan=lifespan)


def _not_found(service: Service, addresses: RouteSuggestions) -> NotFound:
    return NotFound(service.edge, addresses.not_found_error, service.connectors)


def _management_routes(*, public: bool) -> list[ManagementRoute]:
    """Return the management routes, without those for operators if *public*."""
    return [route for route in MANAGEMENT if not (public and route.is_for_operators)]


def _for_operators(service: Service) -> Iterator[Route]:
    yield from console_routes(service.edge, service.console)
    metrics = MetricsEndpoint(service.exposition, service.metrics_token, service.edge.delay_wrong_token)
    yield _get_route(service, "/metrics", metrics)


def _health_routes(service: Service) -> Iterator[Route]:
    """Yield the health and readiness routes."""

    async def health(_: Request) -> Response:
        return _json(200, {"status": "alive"})

    async def readiness(_: Request) -> Response:
        states = {name: await _run_check(check) for name, check in service.checks.items()}
        healthy = all(state == "ok" for state in states.values())
        status = "stopping" if service.edge.shutdown.draining else "ready" if healthy else "not ready"
        body = {"status": status, "checks": states, "shared_store": service.shared.state}
        return _json(200 if status == "ready" else 503, body)

    yield _get_route(service, "/healthz", request_response(health))
    yield _get_route(service, "/readyz", request_response(readiness))


def _documentation(service: Service) -> Mapping[str, ASGIApp]:
    """Return the documentation endpoints by path: the OpenAPI document, the reference, guides and error pages."""

    async def document(_: Request) -> Response:
        return ChunkedResponse(await service.document.get(), media_type="application/json")

    async def page(_: Request) -> Response:
        return await service.page.get()

    async def start_script(_: Request) -> Response:
        return viewer_script()

    async def errors(_: Request) -> Response:
        return errors_page(service.pages, service.connectors.values())

    async def error(request: Request) -> Response:
        return error_page(service.pages, request.url.path.rpartition("/")[2], service.connectors.values())

    async def guide_index(_: Request) -> Response:
        return guides_page(service.pages)

    async def guide(request: Request) -> Response:
        return guide_page(service.pages, addresses[request.scope["path"]])

    async def moved(request: Request) -> Response:
        return RedirectResponse(service.pages.root + MOVED[request.scope["path"]], 301)

    async def load_asset(request: Request) -> Response:
        return asset(request.url.path.rpartition("/")[2])

    addresses = {guide_path(path): path for path in guides()}
    pages: dict[str, Callable[[Request], Awaitable[Response]]] = {
        "/openapi.json": document,
        "/docs": page,
        "/docs/reference.js": start_script,
        "/docs/viewer.js": viewer,
        **dict.fromkeys(ASSETS, load_asset),
        "/docs/errors": errors,
        INDEX: guide_index,
        **dict.fromkeys(addresses, guide),
        **dict.fromkeys(MOVED, moved),
        **{DOCS + code: error for code in CODES},
    }
    endpoints = {show: MethodDispatcher(service.edge, {"GET": request_response(show)}) for show in set(pages.values())}
    return {path: endpoints[show] for path, show in pages.items()}


def _get_route(service: Service, path: str, endpoint: ASGIApp) -> Route:
    return Route(path, MethodDispatcher(service.edge, {"GET": endpoint}))


def _suggestions(service: Service, *, public: bool) -> RouteSuggestions:
    """Return the suggestions for unknown paths."""
    management = [(route.method, route.path) for route in _management_routes(public=public)]
    paths = PUBLIC_PATHS if public else (*PUBLIC_PATHS, *OPERATOR_PATHS)
    return RouteSuggestions(
        service.connectors.values(),
        [*management, (REQUEST.method, REQUEST.path), ("POST", AGENTS_PATH), *(("GET", path) for path in paths)],
    )


async def _run_check(check: Check) -> str:
    try:
        await check()
    except Exception as error:  # noqa: BLE001  # any error means that the check failed
        return f"failed: {type(error).__name__}"
    return "ok"


def _json(status: int, body: object) -> Response:
    return Response(to_json(body) + b"\n", status, media_type="application/json")
