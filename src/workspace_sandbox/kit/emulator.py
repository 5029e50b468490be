"""The base of every emulator: what it declares here, the kit does."""

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
    """An application that stands in for one vendor's."""

    knobs: ClassVar[Mapping[str, Any]]
    """The knobs it has beside ``limits``, with their first values. ``FIDELITY.md`` says what each is.

    All have ``auto_approve``, which says yes on every page of consent, and ``token_seconds``, the life of the access
    tokens that are issued from now on.
    """

    knob_readers: ClassVar[Mapping[str, Field]] = {}
    """Readers of knobs whose first values do not show what they take."""

    acts: Acts
    """What people can do in it."""

    routes: Sequence[Route[Any]]
    spelled_out: Sequence[SupportedRoute] = ()
    """Routes of the vendor's document that one of ``routes`` serves among others."""

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
        """Return to the seed, with nothing revoked, spent or under way."""
        self.hooks.forget()
        self.plant()

    def applications(self) -> Mapping[str, web.Application]:
        """Return a new application per host name, in the order of their ports. The first is ``base``."""
        hosts = {
            route.host: web.Application(middlewares=[self._speak], client_max_size=MAX_REQUEST_BYTES)
            for route in self.routes
        }
        slash = TRAILING_SLASH if self.takes_trailing_slash else ""
        for route in self.routes:
            handler = partial(self._show, route) if isinstance(route, Page) else partial(self.serve, route)
            for path in route.paths:
                hosts[route.host].router.add_route(route.method, path + slash, handler)
        hosts["base"].on_startup.append(self.hooks.start)
        hosts["base"].on_cleanup.append(self.hooks.stop)
        return hosts

    @web.middleware
    async def _speak(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse as the vendor would what no route answers, and the emulator's own failures."""
        try:
            self.check(request)
            response = await handler(request)
        except Refused as refusal:
            return self.refused(refusal, request)
        except web.HTTPRequestEntityTooLarge:
            return self.refused(self.refusals.too_large(), request)
        except web.HTTPException as unknown:
            return await self.unknown(request, unknown.status)
        # Other tests use the server too.
        except Exception:
            LOG.exception("The stand-in failed at %s %s", request.method, request.path)
            return self.refused(self.refusals.failed(), request)
        response.headers.update(self.headers(request))
        return response

    def refused(self, refusal: Refused, request: web.Request) -> web.Response:
        """Return the response to a *request* that is refused."""
        response = refusal.response(self.stage)
        response.headers.update(self.headers(request))
        return response

    async def _show(self, page: Page, request: web.Request) -> web.StreamResponse:
        await self.stage.admitted()
        return await page.handler(self.oauth, request)

    async def unknown(self, request: web.Request, status: int) -> web.StreamResponse:
        """Answer a request that no route matches."""
        return self.refused(self.refusals.unknown(request, status), request)

    def check(self, request: web.Request) -> None:
        """Refuse a request by its form alone."""

    def headers(self, request: web.Request) -> Mapping[str, str]:
        """Return headers of every response to *request*."""
        del request
        return {}

    def client(self) -> dict[str, str]:
        """Return the application that people let in on the pages of consent: ``client_id`` and ``client_secret``."""
        client_id, secret = next(iter(self.oauth.registered.items()))
        return {"client_id": client_id, "client_secret": secret or ""}

    def revoke(self) -> None:
        """Withdraw every authorisation, by ``credentials`` and by OAuth, as users would in the application."""
        self.oauth.withdraw()

    def authorise(self) -> None:
        """Give all of it back."""
        self.oauth.restore()

    def perform(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a person would do in the application. Unknown keys are ignored, a bad action is a ``ValueError``."""
        act = self.acts.get(str(action.get("action")))
        if act is None:
            raise ValueError(f"no action {action.get('action')!r}; there are {', '.join(self.acts)}")
        try:
            return act.perform(self, action)
        except Refused as refusal:
            raise ValueError(str(refusal)) from refusal

    @abstractmethod
    async def serve(self, route: Any, request: web.Request) -> web.StreamResponse:
        """Answer a request that *route* matches."""

    @abstractmethod
    def plant(self) -> None:
        """Hold the seed."""

    @abstractmethod
    def credentials(self) -> dict[str, str]:
        """Return what a client needs to be let in, by the vendor's names (``token``, ``key`` …)."""

    @abstractmethod
    def examples(self) -> dict[str, Any]:
        """Return identifiers of seeded objects worth trying."""

    @abstractmethod
    def apply_seed(self, given: SeedValue) -> dict[str, Any]:
        """Create what a seed tells, and return its identifiers. Raises ``InvalidSeed`` if it cannot be created."""
