"""The stand-in itself: it admits requests, lets the portal answer, and speaks the vendor's dialect when refusing."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

from aiohttp import web
from aiohttp.typedefs import Handler

from workspace_sandbox.crm import acts, seed, sowing
from workspace_sandbox.crm.access import SCOPES, SERVICE_KEY, Grants
from workspace_sandbox.crm.deliveries import Deliverer
from workspace_sandbox.crm.records import Record
from workspace_sandbox.crm.routes import ROUTES, ScopedRoute
from workspace_sandbox.crm.state import MAIN, Portal
from workspace_sandbox.crm.throttle import Throttle
from workspace_sandbox.crm.wire import Rejection, envelope, page, too_many
from workspace_sandbox.kit.acts import Acts
from workspace_sandbox.kit.asking import Field, object_of, one_of
from workspace_sandbox.kit.coverage import Coverage, Played
from workspace_sandbox.kit.knobs import or_null
from workspace_sandbox.kit.lazy import LazyState
from workspace_sandbox.kit.server import application
from workspace_sandbox.kit.sowing import SeedValue
from workspace_sandbox.kit.stage import Stage

logger = logging.getLogger(__name__)

LONGEST_ADDRESS = 7_500

TRAILING_SLASH = "{slash:/?}"
"""The vendor does not mind one, and its own library sends one for owners."""

OUTAGES: Mapping[str, Callable[[], web.Response]] = {
    "locked": lambda: envelope(423, "LOCKED", "The record is locked by other writes. Try again in 2 seconds."),
    "migrating": lambda: envelope(477, "MIGRATION_IN_PROGRESS", "The account is being moved.", {"Retry-After": "120"}),
    "bad_gateway": lambda: page(502, "Bad Gateway"),
    "timeout": lambda: page(524, "A Timeout Occurred"),
}
"""What the knob ``outage`` lets every call be answered with; a lock only meets writes."""


class CrmEmulator(LazyState):
    """HubSpot: one portal, called with a service key or as an application authorised with OAuth."""

    knobs: ClassVar[Mapping[str, Any]] = {
        "search_lag_seconds": 2.0,
        "search_cap": 10_000,
        "search_limit": 5,
        "burst_limit": 110,
        "daily_limit": 650_000,
        "scopes": list(SCOPES),
        "client_id": "1c1e7d64-6f5d-4b55-8a0d-3f0c2f6f9b1e",
        "client_secret": "d0a4b5a4-8f0e-4f3e-9a3f-6d1c6b7a2e90",
        "auto_approve": False,
        "required_properties": {},
        "auto_company": False,
        "backward_lifecycle": "ignore",
        "secondary_email_lookup": False,
        "outage": None,
        "redirect_uris": [],
        "token_seconds": 1_800,
        "webhook_ack_seconds": 5.0,
        "webhook_retry_seconds": [60, 300, 900, 1800, 3600, 7200, 10_800, 14_400, 21_600, 25_200],
    }
    """``webhook_retry_seconds`` are ten pauses within a day, as the vendor tells; how it spreads them it does not.

    Without ``redirect_uris`` any address may be gone back to; ``token_seconds`` is for tokens by OAuth.
    """

    acts: ClassVar[Acts] = {**acts.ACTS, **acts.SETTINGS}

    knob_readers: ClassVar[Mapping[str, Field]] = {
        "backward_lifecycle": one_of("ignore", "refuse"),
        "outage": or_null(one_of(*OUTAGES)),
        "required_properties": object_of,
    }

    coverage: ClassVar[Coverage] = Coverage(
        __file__, (Played(route.method, path, route.lacks) for route in ROUTES for path in route.paths)
    )

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._deliverer = Deliverer(stage)
        self.reset()

    def applications(self) -> Mapping[str, web.Application]:
        """The one host."""
        routes = [
            web.route(route.method, path + TRAILING_SLASH, self._serving(route))
            for route in ROUTES
            for path in route.paths
        ]
        made = application(routes, self._answer_in_dialect)
        made.on_startup.append(self._deliverer.hooks.background.start)
        made.on_cleanup.append(self._deliverer.hooks.background.stop)
        return {"base": made}

    def reset(self) -> None:
        """Return to the seed, with nothing revoked and nothing spent."""
        self._deliverer.forget()
        grants = Grants(self.stage, (MAIN, seed.ANNEX))
        self.portal, annex = (Portal(self.stage, account, grants) for account in grants.accounts)
        seed.plant(self.portal)
        seed.plant_annex(annex)
        self._portals = {portal.account.portal_id: portal for portal in (self.portal, annex)}
        self._hooks_url = ""
        for portal in self._portals.values():
            portal.emit = self._emit
        self._throttles = {number: Throttle(self.stage, one.account.zone) for number, one in self._portals.items()}

    def credentials(self) -> dict[str, str]:
        """The service key of the portal."""
        return {"token": SERVICE_KEY}

    def client(self) -> dict[str, str]:
        """The application that is registered with the vendor."""
        return {name: self.stage.knobs[name] for name in ("client_id", "client_secret")}

    def examples(self) -> dict[str, Any]:
        """Identifiers of seeded objects worth trying."""
        return seed.examples(self.portal)

    def revoke(self) -> None:
        """Uninstall the application: no token is accepted any more, refresh tokens included."""
        self.portal.grants.withdraw(withdrawn=True)

    def authorise(self) -> None:
        """Install again, with the same tokens."""
        self.portal.grants.withdraw(withdrawn=False)

    def act(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a person would do, see to the webhooks in the settings, or read how deliveries went."""
        match action.get("action"):
            case "subscribe":
                return self._subscribe(action.get("url"))
            case "deliveries":
                return {"deliveries": self._deliverer.hooks.journal.described()}
            case _:
                return acts.perform(self.portal, action)

    def sow(self, given: SeedValue) -> dict[str, Any]:
        """Make what a seed tells, beside what there is."""
        return sowing.sow(self.portal, given)

    @staticmethod
    def absent(told: str) -> web.Response:
        """The answer to a request of the vendor's that is not played, in its words for what it cannot do."""
        return envelope(501, "NOT_IMPLEMENTED", told)

    def throttled(self, request: web.Request, seconds: float) -> web.Response:
        """The refusal of an application that has spent its ten seconds; the vendor does not say how long to wait."""
        del request, seconds
        return self._refusal(too_many("TEN_SECONDLY_ROLLING", "ten_secondly_rolling", {}))

    def _subscribe(self, url: Any) -> dict[str, Any]:
        if not isinstance(url, str) or (url and not url.startswith(("http://", "https://"))):
            raise ValueError("url must be an address, or empty")
        self._hooks_url = url
        return {"url": url}

    def _emit(self, portal: Portal, happened: str, record: Record, **more: Any) -> None:
        about = {"portalId": portal.account.portal_id, "appId": portal.account.app_id}
        self._deliverer.tell(about, self._hooks_url, happened, record, **more)

    def _serving(self, route: ScopedRoute) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        async def serve(request: web.Request) -> web.StreamResponse:
            if outage := self._outage(route, request):
                return outage
            headers: dict[str, str] = {}
            try:
                portal = self._admit(route, request, headers)
                await self.stage.admitted()
                response = await route.handler(portal, request)
            except Rejection as rejection:
                response = self._refusal(rejection)
            response.headers.update(headers)
            return response

        return serve

    def _outage(self, route: ScopedRoute, request: web.Request) -> web.Response | None:
        """The answer to everything that wants a token, while the knob says so; a lock lets reading pass."""
        outage = self.stage.knobs["outage"]
        if not outage or route.scopes is None or (outage == "locked" and _reads(request)):
            return None
        return OUTAGES[outage]()

    def _admit(self, route: ScopedRoute, request: web.Request, headers: dict[str, str]) -> Portal:
        """The portal a request is for, unless it may not be served now; *headers* gets what is told of the budget."""
        if route.scopes is None:
            return self.portal
        access = self.portal.grants.authenticate(request.headers.get("Authorization", ""))
        throttle = self._throttles[access.account.portal_id]
        if route.limit == "search":
            throttle.spend_search()
        else:
            headers.update(throttle.spend(access.app, daily=access.grant is None))
        access.require(route.scopes(request))
        return self._portals[access.account.portal_id]

    def _refusal(self, rejection: Rejection) -> web.Response:
        correlation_id = self.stage.request_id()
        headers = {"X-HubSpot-Correlation-Id": correlation_id, **rejection.headers}
        return web.json_response(rejection.body(correlation_id), status=rejection.status, headers=headers)

    @web.middleware
    async def _answer_in_dialect(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Routes that do not exist, and addresses that are too long, are answered with a page."""
        if len(request.path_qs) > LONGEST_ADDRESS:
            return page(414, "Request-URI Too Long")
        try:
            return await handler(request)
        except web.HTTPException as fault:
            return page(fault.status, fault.reason)
        # A fault of the stand-in looks like one of the vendor's, and ends no server.
        except Exception:
            logger.exception("The stand-in failed at %s %s", request.method, request.path)
            return self._refusal(Rejection(500, "INTERNAL_ERROR", "internal error"))


def _reads(request: web.Request) -> bool:
    return request.method == "GET" or request.path.rstrip("/").endswith(("/search", "/batch/read"))
