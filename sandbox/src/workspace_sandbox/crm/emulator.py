"""The emulator of HubSpot."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from aiohttp import web

from workspace_sandbox.crm import error_responses
from workspace_sandbox.crm.access import SCOPES, SERVICE_KEY, HubSpotOAuth
from workspace_sandbox.crm.data import default_data, seeding
from workspace_sandbox.crm.data.account import MAIN
from workspace_sandbox.crm.data.records import Record
from workspace_sandbox.crm.data.state import Portal
from workspace_sandbox.crm.deliberate_deviations import FALSE_FACTS
from workspace_sandbox.crm.deliveries import WebhookSender
from workspace_sandbox.crm.error_responses import ApiError, error_page
from workspace_sandbox.crm.rate_limits import RateLimiter
from workspace_sandbox.crm.routes import ROUTES, ApiRoute
from workspace_sandbox.crm.user_actions import USER_ACTIONS
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.error_responses import VendorErrorResponse
from workspace_sandbox.kit.input_validation import Field, json_object, one_of, or_null

MAX_URL_LENGTH = 7_500

OUTAGES: Mapping[str, Callable[[], VendorErrorResponse]] = {
    "locked": lambda: ApiError(423, "LOCKED", "The record is locked by other writes. Try again in 2 seconds."),
    "migrating": lambda: ApiError(
        477, "MIGRATION_IN_PROGRESS", "The account is being moved.", headers={"Retry-After": "120"}
    ),
    "bad_gateway": lambda: error_page(502, "Bad Gateway"),
    "timeout": lambda: error_page(524, "A Timeout Occurred"),
}
"""The responses that the knob ``outage`` selects. ``locked`` affects only writes."""


class CrmEmulator(Emulator):
    """HubSpot with a portal, which is accessed with a service key or with OAuth."""

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

    user_actions = USER_ACTIONS
    routes = ROUTES
    false_facts = FALSE_FACTS
    # HubSpot's own library sends a trailing slash for owners.
    takes_trailing_slash = True
    errors = error_responses
    oauth: HubSpotOAuth

    knob_readers: ClassVar[Mapping[str, Field]] = {
        "backward_lifecycle": one_of("ignore", "refuse"),
        "outage": or_null(one_of(*OUTAGES)),
        "required_properties": json_object,
    }

    def create_default_data(self) -> None:
        """Create the default data."""
        self._deliverer = WebhookSender(self.context, self.hooks)
        self.oauth = HubSpotOAuth(self.context, (MAIN, default_data.ANNEX))
        self.portal, annex = (Portal(self.context, account) for account in (MAIN, default_data.ANNEX))
        default_data.create_default_data(self.portal)
        default_data.create_second_portal(annex)
        self._portals = {portal.account.portal_id: portal for portal in (self.portal, annex)}
        self.hooks_url = ""
        for portal in self._portals.values():
            portal.emit = self._emit
        self._throttles = {number: RateLimiter(self.context, one.account.zone) for number, one in self._portals.items()}

    def credentials(self) -> dict[str, str]:
        """Return the service key of the portal."""
        return {"token": SERVICE_KEY}

    def examples(self) -> dict[str, Any]:
        """Return identifiers of example objects."""
        return default_data.examples(self.portal)

    apply_seed = seeding.apply_seed

    def _emit(self, portal: Portal, event_type: str, record: Record, **more: Any) -> None:
        event_base = {"portalId": portal.account.portal_id, "appId": portal.account.app_id}
        self._deliverer.deliver(event_base, self.hooks_url, event_type, record, **more)

    def check_request(self, request: web.Request) -> None:
        """Reject a URL that is too long."""
        if len(request.path_qs) > MAX_URL_LENGTH:
            raise error_page(414, "Request-URI Too Long")

    async def serve(self, route: ApiRoute, request: web.Request) -> web.StreamResponse:
        """Return the response to an authenticated request."""
        outage = self.context.knobs["outage"]
        # A lock does not affect reads.
        if outage and not (outage == "locked" and _reads(request)):
            error = OUTAGES[outage]()
            raise error
        token = self.oauth.authenticate(request)
        account, client_id = token.grant.account, token.grant.client_id
        throttle = self._throttles[account.portal_id]
        headers: Mapping[str, str] = {}
        if route.limit == "search":
            throttle.count_search()
        else:
            headers = throttle.count(client_id or "service-key", daily=not client_id)
        try:
            self.oauth.require(token, route.scopes(request))
            await self.context.wait_if_delayed()
            result = await route.handler(self._portals[account.portal_id], request)
            response = web.Response(status=204) if result is None else result
        except ApiError as error:
            response = error.response(self.context)
        response.headers.update(headers)
        return response


def _reads(request: web.Request) -> bool:
    return request.method == "GET" or request.path.rstrip("/").endswith(("/search", "/batch/read"))
