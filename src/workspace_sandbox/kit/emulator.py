"""The base class of all emulators."""

import inspect
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from aiohttp import web
from aiohttp.typedefs import Handler

from workspace_sandbox.kit.acts import Acts
from workspace_sandbox.kit.asking import Field
from workspace_sandbox.kit.coverage import Coverage, SupportedRoute
from workspace_sandbox.kit.hooks import HookSender
from workspace_sandbox.kit.lazy import LazyState
from workspace_sandbox.kit.oauth import OAuth
from workspace_sandbox.kit.refusals import Refusals, Refused
from workspace_sandbox.kit.routes import Page, Route
from workspace_sandbox.kit.sowing import SeedValue
from workspace_sandbox.kit.stage import EmulatorContext

LOG = logging.getLogger(__name__)

MAX_REQUEST_BYTES = 64 * 1024 * 1024
TRAILING_SLASH = "{_:/?}"


class Emulator(LazyState, ABC):
    """An emulator of one vendor's API."""

    knobs: ClassVar[Mapping[str, Any]]
    """The knobs besides ``limits``, with their initial values. ``FIDELITY.md`` describes each of them.

    All emulators have ``auto_approve``, which confirms every consent page, and ``token_seconds``, the lifetime of
    access tokens issued from now on.
    """

    knob_readers: ClassVar[Mapping[str, Field]] = {}
    """Readers for knobs whose initial values do not show their type."""

    acts: Acts
    """The user actions of the emulator."""

    routes: Sequence[Route[Any]]
    spelled_out: Sequence[SupportedRoute] = ()
    """Published routes that are served by a more general one of ``routes``."""

    takes_trailing_slash: bool = False
    refusals: Refusals
    oauth: OAuth
    coverage: ClassVar[Coverage]

    def __init_subclass__(cls) -> None:
        played = (SupportedRoute(route.method, path, route.lacks) for route in cls.routes for path in route.paths)
        cls.coverage = Coverage(inspect.getfile(cls), (*played, *cls.spelled_out))

    def __init__(self, stage: EmulatorContext) -> None:
        self.stage = stage
        self.hooks = HookSender(stage)
        self.reset()

    def reset(self) -> None:
        """Restore the default data, with all authorisations and full budgets, and without pending work."""
        self.hooks.forget()
        self.plant()

    def applications(self) -> Mapping[str, web.Application]:
        """Return a new application per host name, in the order of their ports. The first is ``base``."""
        hosts = {
            route.host: web.Application(middlewares=[self._handle_errors], client_max_size=MAX_REQUEST_BYTES)
            for route in self.routes
        }
        slash = TRAILING_SLASH if self.takes_trailing_slash else ""
        for route in self.routes:
            handler = partial(self._serve_page, route) if isinstance(route, Page) else partial(self.serve, route)
            for path in route.paths:
                hosts[route.host].router.add_route(route.method, path + slash, handler)
        hosts["base"].on_startup.append(self.hooks.start)
        hosts["base"].on_cleanup.append(self.hooks.stop)
        return hosts

    @web.middleware
    async def _handle_errors(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Convert unmatched routes and exceptions of the emulator to the vendor's error responses."""
        try:
            self.check(request)
            response = await handler(request)
        except Refused as error:
            return self.refused(error, request)
        except web.HTTPRequestEntityTooLarge:
            return self.refused(self.refusals.too_large(), request)
        except web.HTTPException as error:
            return await self.unknown(request, error.status)
        # A failure must not stop the server, which other tests use too.
        except Exception:
            LOG.exception("The stand-in failed at %s %s", request.method, request.path)
            return self.refused(self.refusals.failed(), request)
        response.headers.update(self.headers(request))
        return response

    def refused(self, refusal: Refused, request: web.Request) -> web.Response:
        """Return the error response for a rejected *request*."""
        response = refusal.response(self.stage)
        response.headers.update(self.headers(request))
        return response

    async def _serve_page(self, page: Page, request: web.Request) -> web.StreamResponse:
        await self.stage.admitted()
        return await page.handler(self.oauth, request)

    async def unknown(self, request: web.Request, status: int) -> web.StreamResponse:
        """Return the response to a request that no route matches."""
        return self.refused(self.refusals.unknown(request, status), request)

    def check(self, request: web.Request) -> None:
        """Reject an invalid *request* before it is routed."""

    def headers(self, request: web.Request) -> Mapping[str, str]:
        """Return the headers of every response to *request*."""
        del request
        return {}

    def client(self) -> dict[str, str]:
        """Return the OAuth app that users authorise on consent pages: ``client_id`` and ``client_secret``."""
        client_id, secret = next(iter(self.oauth.registered.items()))
        return {"client_id": client_id, "client_secret": secret or ""}

    def revoke(self) -> None:
        """Revoke all authorisations, both ``credentials`` and OAuth grants, as users would."""
        self.oauth.withdraw()

    def authorise(self) -> None:
        """Restore all revoked authorisations."""
        self.oauth.restore()

    def perform(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Perform a user action. Ignores unknown keys, and raises ``ValueError`` if the action is invalid."""
        user_action = self.acts.get(str(action.get("action")))
        if user_action is None:
            raise ValueError(f"no action {action.get('action')!r}; there are {', '.join(self.acts)}")
        try:
            return user_action.perform(self, action)
        except Refused as error:
            raise ValueError(str(error)) from error

    @abstractmethod
    async def serve(self, route: Any, request: web.Request) -> web.StreamResponse:
        """Return the response to a request that *route* matches."""

    @abstractmethod
    def plant(self) -> None:
        """Create the default data."""

    @abstractmethod
    def credentials(self) -> dict[str, str]:
        """Return the credentials that a client needs, under the vendor's names (``token``, ``key`` …)."""

    @abstractmethod
    def examples(self) -> dict[str, Any]:
        """Return identifiers of example objects."""

    @abstractmethod
    def apply_seed(self, given: SeedValue) -> dict[str, Any]:
        """Create the objects of a seed and return their identifiers.

        Raises ``InvalidSeed`` if they cannot be created.
        """
