"""The emulator of Slack: methods, the consent page and files."""

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from aiohttp import web

from workspace_sandbox.chat import error_responses
from workspace_sandbox.chat.access import TOKEN, VISITOR_TOKEN, Installation, SlackOAuth
from workspace_sandbox.chat.api.scheduled_messages import post_due
from workspace_sandbox.chat.arguments import ParsedRequest, parse_request
from workspace_sandbox.chat.data import default_data, seeding
from workspace_sandbox.chat.deliberate_deviations import FALSE_FACTS
from workspace_sandbox.chat.deliveries import SIGNING_SECRET, WebhookSender
from workspace_sandbox.chat.error_responses import ApiError
from workspace_sandbox.chat.rate_limits import POSTS_PER_MINUTE, RateLimiter
from workspace_sandbox.chat.request import ApiRequest
from workspace_sandbox.chat.routes import ROUTES, ApiRoute
from workspace_sandbox.chat.user_actions import USER_ACTIONS
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.input_validation import Field, one_of
from workspace_sandbox.kit.webhook_sender import ignore_event

SCOPES = (
    "chat:write,chat:write.public,channels:read,groups:read,im:read,channels:history,groups:history,im:history,"
    "channels:join,channels:manage,groups:write,im:write,reactions:read,reactions:write,users:read,emoji:read,"
    "app_mentions:read,files:read,files:write,pins:read,pins:write,team:read,users:read.email,users.profile:read"
)


class ChatEmulator(Emulator):
    """An emulator of Slack with the app installed in one workspace."""

    knobs: ClassVar[Mapping[str, Any]] = {
        "scopes": SCOPES,
        "history_tier": "marketplace",
        "posts_per_minute": POSTS_PER_MINUTE,
        "long_text": "whole",
        "reply_to_reply": "root",
        "edit_window_seconds": 0,
        "dedupe_client_msg_id": False,
        "fatal_after_commit": 0,
        "auto_approve": False,
        "redirect_uris": [],
        "rotation": False,
        "token_seconds": 43_200,
        "events_url": "",
        "ack_seconds": 3.0,
        "retry_seconds": [0.2, 1, 5],
        "deliver_twice": False,
        "deliver_disordered": False,
        "events_per_hour": 30_000,
    }

    user_actions = USER_ACTIONS
    routes = ROUTES
    errors = error_responses
    false_facts = FALSE_FACTS
    oauth: SlackOAuth

    knob_readers: ClassVar[Mapping[str, Field]] = {
        "history_tier": one_of("marketplace", "restricted"),
        "long_text": one_of("whole", "split"),
        "reply_to_reply": one_of("root", "stray"),
    }

    def create_default_data(self) -> None:
        """Create the default data."""
        self.limits = RateLimiter(self.context)
        self.workspace = default_data.default_workspace(self.context.now)
        self._installations = [
            Installation(self.workspace),
            Installation(default_data.second_workspace(self.context.now)),
        ]
        self.oauth = SlackOAuth(
            self.context, {installation.workspace.team.id: installation for installation in self._installations}
        )
        self.oauth.install(self._installations[0], TOKEN)
        self.oauth.install(Installation(default_data.other_app_workspace(self.context.now)), VISITOR_TOKEN)
        self.deliverer = WebhookSender(self.context, self.hooks)
        for installation in self._installations:
            installation.workspace.emit = partial(self._emit, installation)
            installation.workspace.addresses = self.context.addresses

    def break_cycles(self) -> None:
        """Break the references between workspaces, installations and grants."""
        for installation in self._installations:
            installation.workspace.emit = ignore_event
        for token in self.oauth.tokens.values():
            token.grant.account = None

    def credentials(self) -> dict[str, str]:
        """Return the bot token and the signing secret of events."""
        return {"token": TOKEN, "signing_secret": SIGNING_SECRET}

    def examples(self) -> dict[str, Any]:
        """Return example channels of every type, and messages of the bot and of users."""
        return dict(default_data.EXAMPLES)

    def revoke(self) -> None:
        """Uninstall the app from all workspaces."""
        for installation in self._installations:
            self._uninstall(installation)

    def perform(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Perform a user action, after posting messages that are due."""
        post_due(self.workspace)
        return super().perform(action)

    apply_seed = seeding.apply_seed

    def _uninstall(self, installation: Installation) -> None:
        """Uninstall the app from a workspace. Slack reports this with two final events."""
        bot = installation.workspace.team.bot_user_id
        installation.workspace.emit_event(None, {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [bot]}})
        installation.workspace.emit_event(None, {"type": "app_uninstalled"})
        self.oauth.uninstall(installation)

    def _emit(self, installation: Installation, event: dict[str, Any]) -> None:
        if event["type"] == "app_mention" and "app_mentions:read" not in self.oauth.scopes(installation):
            return
        # An uninstalled app receives no further events.
        if installation.is_installed:
            self.deliverer.deliver(installation.workspace.team, event)

    async def _post_at(self, installation: Installation, at: int) -> None:
        """Post scheduled messages that are due *at* a time, without waiting for a request."""
        clock = self.context.clock
        # Repeated, because setting the clock back does not lengthen a wait.
        while (remaining := at - clock.now()) > 0:
            await clock.sleep(remaining)
        post_due(installation.workspace)

    async def serve(self, method: ApiRoute, request: web.Request) -> web.StreamResponse:
        """Return the response to a request to *method*, with status 200 unless it is throttled."""
        if request.method not in {"GET", "POST"}:
            raise error_responses.unknown_route(request, 200)
        warnings: list[str] = []
        headers: dict[str, str] = {}
        try:
            received = await parse_request(request)
            warnings = received.warnings
            values = (received.arguments.raw(name) for name in ("token", "code", "refresh_token"))
            installation = self.oauth.find_installation([received.token, *values])
            if not method.is_open:
                self.oauth.authenticate(received.token)
                headers = _scope_headers(method, self.oauth.scopes(installation))
            # Counted before the scopes are checked, on the cautious assumption that rejected requests use the budget
            # too.
            self.limits.count_call(method.name, method.per_minute)
            await self.context.wait_if_delayed()
            body = {"ok": True} | self._run(method, received, installation)
        except ApiError as error:
            if error.status != 200:
                raise
            body = error.body()
        return web.json_response(error_responses.with_warnings(body, warnings), headers=headers)

    def _run(self, method: ApiRoute, received: ParsedRequest, installation: Installation) -> dict[str, Any]:
        """Check the scopes of a request and perform it."""
        post_due(installation.workspace)
        api_request = ApiRequest(
            installation=installation,
            oauth=self.oauth,
            limits=self.limits,
            knobs=self.context.knobs,
            arguments=received.arguments,
            token=received.token,
            random=self.context.random,
            uninstall=partial(self._uninstall, installation),
            schedule_posting=partial(self.hooks.start_task, self._post_at, installation),
            warnings=received.warnings,
        )
        api_request.require(*method.scopes)
        body = method.handler(api_request)
        if method.writes and self.context.knobs["fatal_after_commit"] > 0:
            self.context.knobs["fatal_after_commit"] -= 1
            # According to the documentation, part of the work may be done when this error occurs.
            raise ApiError("fatal_error")
        return body


def _scope_headers(method: ApiRoute, scopes: list[str]) -> dict[str, str]:
    accepted = {"X-Accepted-OAuth-Scopes": ",".join(method.scopes)} if method.scopes else {}
    return {"X-OAuth-Scopes": ",".join(scopes), **accepted}
