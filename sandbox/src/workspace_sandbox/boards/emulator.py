"""The emulator of Trello."""

from collections.abc import Coroutine, Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from aiohttp import web

from workspace_sandbox.boards import error_responses
from workspace_sandbox.boards.access import APP, TOKEN, Credentials, read_credentials
from workspace_sandbox.boards.api import batch
from workspace_sandbox.boards.arguments import Arguments, read_arguments
from workspace_sandbox.boards.consent import TrelloOAuth
from workspace_sandbox.boards.data import seeding
from workspace_sandbox.boards.data.default_data import build_default_account
from workspace_sandbox.boards.data.objects import Action, Author
from workspace_sandbox.boards.deliberate_deviations import FALSE_FACTS
from workspace_sandbox.boards.deliveries import WebhookSender
from workspace_sandbox.boards.rate_limits import MEMBER_ROUTES, BudgetKey, RateLimiter
from workspace_sandbox.boards.request import ApiRequest
from workspace_sandbox.boards.routes import ROUTES, ApiRoute, part_of_batch
from workspace_sandbox.boards.user_actions import USER_ACTIONS
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.route_coverage import SupportedRoute

MAX_REQUEST_LINE_BYTES = 8192
"""Maximum length of a request line in bytes. A longer one results in a 414."""

SPENDER = web.RequestKey("spender", BudgetKey)
"""The budgets that a request used, once they are known."""


class BoardsEmulator(Emulator):
    """Trello, with an account that sees three boards, and one board that it does not see."""

    knobs: ClassVar[Mapping[str, Any]] = {
        "auto_approve": False,
        "allowed_origins": ["http://127.0.0.1", "http://localhost"],
        "write_status": 200,
        "invalid_token": "invalid token",
        "hidden_is_missing": False,
        "items_per_checklist": 200,
        "token_seconds": 3600,
        "webhook_ack_seconds": 10.0,
        "webhook_retry_seconds": [30, 60, 120],
    }

    false_facts = FALSE_FACTS
    user_actions = USER_ACTIONS
    routes = ROUTES
    takes_trailing_slash = True
    errors = error_responses
    oauth: TrelloOAuth
    # The vendor's document lists these fields as separate routes. The general routes of fields serve them.
    published_aliases = (
        SupportedRoute("GET", "/1/cards/{card}/checkItemStates"),
        SupportedRoute("PUT", "/1/lists/{list}/closed"),
        SupportedRoute("PUT", "/1/lists/{list}/idBoard"),
    )

    def create_default_data(self) -> None:
        """Create the default data."""
        self.seed = build_default_account()
        self.store = self.seed.store
        self.store.random = self.context.random
        self.store.emit = self._emit
        self.throttle = RateLimiter(self.context)
        self.oauth = TrelloOAuth(self.context, (self.seed.owner, self.seed.colleague), self.seed.allowed_at)
        self._deliverer = WebhookSender(self.context, self.hooks)

    def break_cycles(self) -> None:
        """Break the references between boards and their contents."""
        self.store.break_cycles()

    def credentials(self) -> dict[str, str]:
        """Return the key of the app and the token of the account."""
        return {"key": APP.key, "token": TOKEN}

    def examples(self) -> dict[str, Any]:
        """Return example boards, lists, cards and labels, some of which are inaccessible."""
        return self.seed.examples

    @property
    def colleague(self) -> Author:
        """The colleague as the author of a change in the user interface."""
        return Author(self.seed.colleague, None, self.context.now())

    apply_seed = seeding.apply_seed

    def check_request(self, request: web.Request) -> None:
        """Reject a request line that is too long."""
        if len(f"{request.method} {request.raw_path} HTTP/1.1") > MAX_REQUEST_LINE_BYTES:
            raise error_responses.too_long()

    def headers(self, request: web.Request) -> Mapping[str, str]:
        """Return headers with the remaining budgets."""
        budget_headers = self.throttle.headers(request.get(SPENDER, BudgetKey(None, None)))
        return {"Access-Control-Expose-Headers": ", ".join(budget_headers), **budget_headers}

    async def serve(self, route: ApiRoute, request: web.Request) -> web.StreamResponse:
        """Return the response to an API request."""
        arguments = await read_arguments(request)
        presented = read_credentials(request.headers.get("Authorization", ""), arguments)
        request[SPENDER] = budget_key = self._budget_key(presented, request.path, arguments)
        self.throttle.charge(budget_key)
        await self.context.wait_if_delayed()
        result = self._perform(route, request.match_info, presented, arguments)
        # Only the creation of a webhook sends another request first.
        result = await result if isinstance(result, Coroutine) else result
        return error_responses.to_response(200 if route.method == "GET" else self.context.knobs["write_status"], result)

    def _emit(self, action: Action) -> None:
        self._deliverer.deliver(self.store.webhooks, action)

    def _budget_key(self, presented: Credentials, path: str, arguments: Arguments) -> BudgetKey:
        """Return the budgets that a request uses. Each part of a batch counts as a request."""
        paths = [f"/1{url}" for url in batch.urls(arguments)] if path.rstrip("/") == "/1/batch" else [path]
        to_members = sum(part.startswith(MEMBER_ROUTES) for part in paths)
        return BudgetKey(self.oauth.budget_key(presented), presented.token, len(paths), to_members)

    def _perform(self, route: ApiRoute, path: Mapping[str, str], presented: Credentials, arguments: Arguments) -> Any:
        """Perform *route* and return its result.

        IDs are checked first, then the token, the permissions and the objects.
        """
        now = self.context.clock.now()
        route.check(path)
        principal = self.oauth.authenticate(presented)
        route.admit(principal)

        def get(url: str) -> Any:
            match, part = part_of_batch(url), url.partition("?")
            params = Arguments(dict(parse_qsl(part[2], keep_blank_values=True)))
            return self._perform(*match, presented, params)

        base = self.context.addresses.get("base", "https://api.trello.com")
        return route.handler(
            ApiRequest(
                self.store, self.oauth, self.context.knobs, principal, path, arguments, now, self._deliverer, get, base
            )
        )
