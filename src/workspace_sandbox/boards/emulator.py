"""Trello on HTTP: how a request is admitted, throttled and answered."""

from collections.abc import Coroutine, Mapping
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from aiohttp import web

from workspace_sandbox.boards import acts, batch, sowing, wire
from workspace_sandbox.boards.access import APP, TOKEN, Credentials, credentials_of
from workspace_sandbox.boards.arguments import Arguments, arguments_of
from workspace_sandbox.boards.ask import ApiRequest
from workspace_sandbox.boards.consent import Consent
from workspace_sandbox.boards.deliveries import Deliverer
from workspace_sandbox.boards.routes import ROUTES, ApiRoute, part_of_batch
from workspace_sandbox.boards.seed import plant
from workspace_sandbox.boards.state import Action as Happened
from workspace_sandbox.boards.state import Author
from workspace_sandbox.boards.throttle import MEMBER_ROUTES, BudgetKey, Throttle
from workspace_sandbox.kit.coverage import SupportedRoute
from workspace_sandbox.kit.emulator import Emulator

LONGEST_LINE = 8192
"""Bytes of a request line; a longer one is answered with 414."""

SPENDER = web.RequestKey("spender", BudgetKey)
"""The budgets that a request spent, once they are known."""


class BoardsEmulator(Emulator):
    """Trello, with an account of three boards and one board that the account does not see."""

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

    acts = acts.ACTS
    routes = ROUTES
    takes_trailing_slash = True
    refusals = wire
    oauth: Consent
    # Fields that the vendor's document lists as routes of their own, and the routes of any field serve.
    spelled_out = (
        SupportedRoute("GET", "/1/cards/{card}/checkItemStates"),
        SupportedRoute("PUT", "/1/lists/{list}/closed"),
        SupportedRoute("PUT", "/1/lists/{list}/idBoard"),
    )

    def plant(self) -> None:
        """Hold the seed."""
        self.seed = plant()
        self.store = self.seed.store
        self.store.random = self.stage.random
        self.store.emit = self._emit
        self.throttle = Throttle(self.stage)
        self.oauth = Consent(self.stage, (self.seed.owner, self.seed.colleague), self.seed.allowed_at)
        self._deliverer = Deliverer(self.stage, self.hooks)

    def break_cycles(self) -> None:
        """What is on a board no longer knows of it, and the other way round."""
        self.store.let_go()

    def credentials(self) -> dict[str, str]:
        """Return the key of the application and the token of the account."""
        return {"key": APP.key, "token": TOKEN}

    def examples(self) -> dict[str, Any]:
        """Return boards, lists, cards and labels, some of them out of reach."""
        return self.seed.examples

    @property
    def colleague(self) -> Author:
        """The colleague, by hand and now."""
        return Author(self.seed.colleague, None, self.stage.now())

    apply_seed = sowing.sow

    def check(self, request: web.Request) -> None:
        """Refuse a request line that is too long."""
        if len(f"{request.method} {request.raw_path} HTTP/1.1") > LONGEST_LINE:
            raise wire.too_long()

    def headers(self, request: web.Request) -> Mapping[str, str]:
        """Return the budgets that are left."""
        told = self.throttle.headers(request.get(SPENDER, BudgetKey(None, None)))
        return {"Access-Control-Expose-Headers": ", ".join(told), **told}

    async def serve(self, route: ApiRoute, request: web.Request) -> web.StreamResponse:
        """Answer a request of the API."""
        arguments = await arguments_of(request)
        presented = credentials_of(request.headers.get("Authorization", ""), arguments)
        request[SPENDER] = spender = self._spender(presented, request.path, arguments)
        self.throttle.spend(spender)
        await self.stage.admitted()
        answer = self._perform(route, request.match_info, presented, arguments)
        # Of all routes the making of a webhook alone asks somebody else first.
        answer = await answer if isinstance(answer, Coroutine) else answer
        return wire.rendered(200 if route.method == "GET" else self.stage.knobs["write_status"], answer)

    def _emit(self, happened: Happened) -> None:
        self._deliverer.tell(self.store.webhooks, happened)

    def _spender(self, presented: Credentials, path: str, arguments: Arguments) -> BudgetKey:
        """Whose budgets are spent; each part of a batch counts as a request of its own."""
        paths = [f"/1{url}" for url in batch.urls(arguments)] if path.rstrip("/") == "/1/batch" else [path]
        to_members = sum(part.startswith(MEMBER_ROUTES) for part in paths)
        return BudgetKey(self.oauth.key_of(presented), presented.token, len(paths), to_members)

    def _perform(self, route: ApiRoute, path: Mapping[str, str], presented: Credentials, arguments: Arguments) -> Any:
        """What *route* answers; an id is looked at first, then who asks, then what may be seen, then what is there."""
        now = self.stage.clock.now()
        route.check(path)
        visitor = self.oauth.visitor(presented)
        route.admit(visitor)

        def get(url: str) -> Any:
            found, part = part_of_batch(url), url.partition("?")
            asked = Arguments(dict(parse_qsl(part[2], keep_blank_values=True)))
            return self._perform(*found, presented, asked)

        base = self.stage.addresses.get("base", "https://api.trello.com")
        return route.handler(
            ApiRequest(
                self.store, self.oauth, self.stage.knobs, visitor, path, arguments, now, self._deliverer, get, base
            )
        )
