"""Notion over HTTP: its routes and test controls."""

from collections.abc import Mapping
from typing import Any, ClassVar

from aiohttp import web

from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.kit.input_validation import Field, non_negative_number, one_of, or_null
from workspace_sandbox.kit.oauth.server import read_bearer_token
from workspace_sandbox.notes import error_responses
from workspace_sandbox.notes.access import TOKEN, NotionOAuth
from workspace_sandbox.notes.data import default_data, seeding
from workspace_sandbox.notes.data.state import Change, User, WorkspaceInstallation
from workspace_sandbox.notes.data.webhook_subscription import VERIFICATION_TOKEN, Subscription
from workspace_sandbox.notes.deliberate_deviations import FALSE_FACTS
from workspace_sandbox.notes.deliveries import WebhookSender
from workspace_sandbox.notes.error_responses import ApiError
from workspace_sandbox.notes.object_json import ResponseBuilder
from workspace_sandbox.notes.pagination import Cursors
from workspace_sandbox.notes.rate_limits import RateLimiter
from workspace_sandbox.notes.request import ApiRequest, read_body, read_version
from workspace_sandbox.notes.routes import ROUTES, ApiRoute
from workspace_sandbox.notes.user_actions import ACTS


class NotesEmulator(Emulator):
    """A Notion workspace with its API, on one base URL."""

    oauth: NotionOAuth

    knobs: ClassVar[Mapping[str, Any]] = {
        "search_lag_seconds": 2.0,
        "row_cap": 10_000,
        "short_pages": False,
        "next_create": "",
        "auto_approve": False,
        "redirect_uris": [],
        "token_seconds": None,
        "events_url": "",
        "webhook_gather_seconds": 0.2,
        "webhook_ack_seconds": 5.0,
        "webhook_retry_seconds": [4**power for power in range(2, 9)],
        "deliver_twice": False,
        "deliver_disordered": False,
        "user_information": "with_email",
    }

    false_facts = FALSE_FACTS
    user_actions = ACTS
    routes = ROUTES
    errors = error_responses

    knob_readers: ClassVar[Mapping[str, Field]] = {
        "next_create": one_of("", "503_committed", "503_uncommitted", "529"),
        "token_seconds": or_null(non_negative_number),
        "user_information": one_of("with_email", "without_email", "none"),
    }

    def create_default_data(self) -> None:
        """Build the default workspace, with webhooks if a URL is configured at startup."""
        self._subscription: Subscription | None = None
        self.seeded = default_data.build_default_workspace(self.context.now, self.context.random)
        self.workspace = self.seeded.workspace
        self.workspace.emit = self._emit
        self._deliverer = WebhookSender(self.context, self.hooks)
        self._cursors = Cursors(self.context.request_id)
        if self.context.default_knobs["events_url"]:
            self._subscription = Subscription(self.workspace, self.seeded.internal, VERIFICATION_TOKEN)
        self.oauth = NotionOAuth(self.context, self.workspace, self.seeded.internal, self.seeded.homes)
        self.limits = RateLimiter(self.context)

    def credentials(self) -> dict[str, str]:
        """Return the token of the internal connection, and the verification token of webhooks configured at startup."""
        return {"token": TOKEN, "verification_token": VERIFICATION_TOKEN}

    def examples(self) -> dict[str, Any]:
        """Return a database with one of its pages, and databases with special features."""
        return dict(self.seeded.examples)

    apply_seed = seeding.apply_seed

    @property
    def person(self) -> User:
        """The author of user actions."""
        return self.seeded.person

    def subscribe(self, url: str = "", connection: str = "internal") -> dict[str, Any]:
        """Replace the webhook subscription. The default URL is the knob ``events_url``."""
        bots = {"internal": self.seeded.internal, "public": self.seeded.public}
        if connection not in bots:
            raise ValueError(f"unknown connection {connection!r}; allowed: {', '.join(bots)}")
        url = url or self.context.knobs["events_url"]
        if not str(url).startswith(("http://", "https://")):
            raise ValueError("a url is required, in the action or in the knob events_url")
        self.context.knobs["events_url"] = url
        self._subscription = Subscription(self.workspace, bots[connection])
        self.hooks.cancel_all()
        self._deliverer.send_verification(self._subscription)
        return self._subscription.to_json()

    def verify(self, token: Any) -> dict[str, Any]:
        """Verify the subscription with the token that was sent to its URL."""
        if self._subscription is None:
            raise ValueError("no subscription exists; subscribe first")
        self._subscription.verify(token)
        return self._subscription.to_json()

    def _emit(self, change: Change) -> None:
        subscription = self._subscription
        if subscription and self.oauth.has(subscription.bot) and subscription.matches(change):
            self._deliverer.deliver(subscription, change)

    async def serve(self, route: ApiRoute, request: web.Request) -> web.Response:
        """Serve a request of a connection."""
        home = self._authenticate(read_bearer_token(request))
        await self.context.wait_if_delayed()
        api_request = ApiRequest(
            workspace=home.workspace,
            context=self.context,
            cursors=self._cursors,
            bot=home.bot,
            responses=ResponseBuilder(home.workspace, read_version(request)),
            path=request.match_info,
            query=request.query,
            filter_properties=[
                value for key, value in request.query.items() if key in {"filter_properties", "filter_properties[]"}
            ],
            body=await read_body(request),
        )
        return error_responses.json_response(200, route.handler(api_request), self.context.request_id())

    def _authenticate(self, value: str) -> WorkspaceInstallation:
        token = require(self.oauth.find_valid(value, "access"), ApiError(401, "unauthorized", "API token is invalid."))
        self.limits.charge(value)
        home: WorkspaceInstallation = token.grant.account
        return home
