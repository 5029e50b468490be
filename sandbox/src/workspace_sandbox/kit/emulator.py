"""The base class of all emulators."""

import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar

from aiohttp import web
from aiohttp.typedefs import Handler

from workspace_sandbox.kit.deliberate_deviations import FalseFact
from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.error_responses import ErrorFactory, VendorErrorResponse
from workspace_sandbox.kit.input_validation import Field
from workspace_sandbox.kit.oauth.server import OAuth
from workspace_sandbox.kit.route_coverage import Coverage, SupportedRoute
from workspace_sandbox.kit.routes import PageRoute, Route
from workspace_sandbox.kit.state.lazy_loading import LazyState
from workspace_sandbox.kit.state.seed_file_values import SeedValue
from workspace_sandbox.kit.user_actions import UserActions
from workspace_sandbox.kit.webhook_sender import HookSender

LOG = logging.getLogger(__name__)

MAX_REQUEST_BYTES = 64 * 1024 * 1024
TRAILING_SLASH = "{_:/?}"


class Emulator(LazyState, ABC):
    """An emulator of one vendor's API."""

    knobs: ClassVar[Mapping[str, Any]] = MappingProxyType({})
    """The knobs except ``limits`` and ``lie``, with their initial values. ``FIDELITY.md`` describes each of them.

    All emulators have ``auto_approve``, which confirms every consent page, and ``token_seconds``, the lifetime of
    access tokens issued from now on.
    """

    knob_readers: ClassVar[Mapping[str, Field]] = {}
    """Readers for knobs whose initial values do not show their type."""

    false_facts: ClassVar[Mapping[str, FalseFact]] = {}
    """Changes of responses by the fact that they contradict, for the knob ``lie``."""

    user_actions: UserActions = MappingProxyType({})
    routes: Sequence[Route[Any]]
    published_aliases: Sequence[SupportedRoute] = ()
    """Published routes that are served by a more general one of ``routes``."""

    takes_trailing_slash: bool = False
    errors: ErrorFactory
    oauth: OAuth
    coverage: ClassVar[Coverage]

    def __init_subclass__(cls) -> None:
        supported = (
            SupportedRoute(route.method, path, route.unsupported) for route in cls.routes for path in route.paths
        )
        cls.coverage = Coverage(inspect.getfile(cls), (*supported, *cls.published_aliases))

    def __init__(self, context: EmulatorContext) -> None:
        self.context = context
        self.hooks = HookSender(context)
        self.reset()

    def reset(self) -> None:
        """Restore the default data, with all authorisations and full budgets, and without pending work."""
        self.hooks.reset()
        self.create_default_data()

    def applications(self) -> Mapping[str, web.Application]:
        """Return a new application per host name, in the order of their ports. The first is ``base``."""
        hosts = {
            route.host: web.Application(middlewares=[self._handle_errors], client_max_size=MAX_REQUEST_BYTES)
            for route in self.routes
        }
        slash = TRAILING_SLASH if self.takes_trailing_slash else ""
        for route in self.routes:
            handler = partial(self._serve_page, route) if isinstance(route, PageRoute) else partial(self.serve, route)
            for path in route.paths:
                hosts[route.host].router.add_route(route.method, path + slash, handler)
        hosts["base"].on_startup.append(self.hooks.start)
        hosts["base"].on_cleanup.append(self.hooks.stop)
        return hosts

    @web.middleware
    async def _handle_errors(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Convert unmatched routes and exceptions of the emulator to the vendor's error responses."""
        try:
            self.check_request(request)
            response = await handler(request)
        except VendorErrorResponse as error:
            return self.error_response(error, request)
        except web.HTTPRequestEntityTooLarge:
            return self.error_response(self.errors.too_large(), request)
        except web.HTTPException as error:
            return await self.unknown_route_response(request, error.status)
        # A failure must not affect other tests that use the server.
        except Exception:
            LOG.exception("The emulator failed at %s %s", request.method, request.path)
            return self.error_response(self.errors.failed(), request)
        response.headers.update(self.headers(request))
        return response

    def error_response(self, error: VendorErrorResponse, request: web.Request) -> web.Response:
        """Return the error response for a rejected *request*."""
        response = error.response(self.context)
        response.headers.update(self.headers(request))
        return response

    async def _serve_page(self, page: PageRoute, request: web.Request) -> web.StreamResponse:
        await self.context.wait_if_delayed()
        return await page.handler(self.oauth, request)

    async def unknown_route_response(self, request: web.Request, status: int) -> web.StreamResponse:
        """Return the response to a request that no route matches."""
        return self.error_response(self.errors.unknown_route(request, status), request)

    def check_request(self, request: web.Request) -> None:
        """Reject an invalid *request* before it is routed."""

    def headers(self, request: web.Request) -> Mapping[str, str]:
        """Return the headers of every response to *request*."""
        del request
        return {}

    def client(self) -> dict[str, str]:
        """Return the OAuth app that users authorise on consent pages: ``client_id`` and ``client_secret``.

        Empty if there is none.
        """
        apps = self.oauth.registered.items()
        return next(({"client_id": client_id, "client_secret": secret or ""} for client_id, secret in apps), {})

    def revoke(self) -> None:
        """Revoke all authorisations, both ``credentials`` and OAuth grants, as users would."""
        self.oauth.revoke_all()

    def authorise(self) -> None:
        """Restore all revoked authorisations."""
        self.oauth.restore()

    def perform(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Perform a user action. Ignores unknown keys, and raises ``ValueError`` if the action is invalid."""
        user_action = self.user_actions.get(str(action.get("action")))
        if user_action is None:
            raise ValueError(f"unknown action {action.get('action')!r}; allowed: {', '.join(self.user_actions)}")
        try:
            return user_action.perform(self, action)
        except VendorErrorResponse as error:
            raise ValueError(str(error)) from error

    @abstractmethod
    async def serve(self, route: Any, request: web.Request) -> web.StreamResponse:
        """Return the response to a request that *route* matches."""

    @abstractmethod
    def create_default_data(self) -> None:
        """Create the default data."""

    @abstractmethod
    def credentials(self) -> dict[str, str]:
        """Return the credentials that a client needs, under the vendor's names (``token``, ``key`` …)."""

    @abstractmethod
    def examples(self) -> dict[str, Any]:
        """Return identifiers of example objects."""

    @abstractmethod
    def apply_seed(self, data: SeedValue) -> dict[str, Any]:
        """Create the objects of a seed and return their identifiers.

        Raises ``InvalidSeed`` if they cannot be created.
        """
