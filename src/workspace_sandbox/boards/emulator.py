"""Trello on HTTP: how every request is let in, throttled and answered."""

import logging
from collections.abc import Coroutine, Mapping
from email.utils import formatdate
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from aiohttp import web
from aiohttp.typedefs import Handler

from workspace_sandbox.boards import acts, batch, sowing
from workspace_sandbox.boards.access import Credentials, credentials_of
from workspace_sandbox.boards.arguments import Arguments, arguments_of
from workspace_sandbox.boards.ask import Ask
from workspace_sandbox.boards.consent import Consent
from workspace_sandbox.boards.deliveries import Deliverer
from workspace_sandbox.boards.routes import ROUTES, ApiRoute, Page, part_of_batch
from workspace_sandbox.boards.seed import APP, plant
from workspace_sandbox.boards.state import Action as Happened
from workspace_sandbox.boards.state import Author
from workspace_sandbox.boards.throttle import MEMBER_ROUTES, TOKEN, Spender, Throttle
from workspace_sandbox.boards.wire import NoSuchRoute, Refusal, exhausted, rendered
from workspace_sandbox.kit.acts import Acts
from workspace_sandbox.kit.asking import Field
from workspace_sandbox.kit.coverage import Coverage, Played
from workspace_sandbox.kit.lazy import LazyState
from workspace_sandbox.kit.server import MAX_REQUEST_BYTES
from workspace_sandbox.kit.sowing import SeedValue
from workspace_sandbox.kit.stage import Stage

LONGEST_LINE = 8192
"""Bytes of a request line; a longer one is answered with 414."""

TOO_LONG = "<html><head><title>414 Request-URI Too Large</title></head><body></body></html>"

SPENDER = web.RequestKey("spender", Spender)
"""Where a request keeps whose budgets it spent, once that is known."""

SPELLED_OUT = (
    Played("GET", "/1/cards/{card}/checkItemStates"),
    Played("PUT", "/1/lists/{list}/closed"),
    Played("PUT", "/1/lists/{list}/idBoard"),
)
"""Fields that the vendor's document lists as routes of their own, and the routes of any field serve."""

LOG = logging.getLogger(__name__)


class BoardsEmulator(LazyState):
    """Trello, with an account of three boards and one board that the account does not see.

    Knobs beside ``limits``: ``auto_approve`` says yes on every consent page; ``allowed_origins`` are where those pages
    may send people; ``write_status`` is answered to accepted writes (202 was seen in 2025); ``invalid_token`` is the
    text for a dead token; ``hidden_is_missing`` answers 404 instead of 401 for what the account may not see;
    ``items_per_checklist`` is the most a checklist holds; ``token_seconds`` is the life of an OAuth 2 access token,
    where a member chooses that of the token of a key.
    """

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

    acts: ClassVar[Acts] = {**acts.ACTS, **acts.SETTINGS}

    knob_readers: ClassVar[Mapping[str, Field]] = {}

    coverage: ClassVar[Coverage] = Coverage(
        __file__, (*(Played(route.method, route.path, route.lacks) for route in ROUTES), *SPELLED_OUT)
    )

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._deliverer = Deliverer(stage)
        self.reset()

    def applications(self) -> dict[str, web.Application]:
        """One application; the vendor's two hosts and its OAuth 2 host share it.

        Built without ``kit.server.application``, whose request lines end before this vendor's do.
        """

        @web.middleware
        async def speak(request: web.Request, handler: Handler) -> web.StreamResponse:
            answer = await self._answer(request, handler)
            answer.headers.update(self._told(request))
            return answer

        base = web.Application(
            middlewares=[speak],
            client_max_size=MAX_REQUEST_BYTES,
            handler_args={"max_line_size": LONGEST_LINE * 64},
        )
        base.add_routes(self._route(route) for route in ROUTES)
        base.on_startup.append(self._deliverer.hooks.background.start)
        base.on_cleanup.append(self._deliverer.hooks.background.stop)
        return {"base": base}

    def reset(self) -> None:
        """Return to the seed, with nothing revoked and nothing spent."""
        self._deliverer.forget()
        self.seed = plant()
        self.store, self.access = self.seed.store, self.seed.access
        self.store.random = self.stage.random
        self.store.emit = self._emit
        self.throttle = Throttle()
        self.consent = Consent(self.stage, self.access, (self.seed.token.member, self.seed.colleague))

    def let_go(self) -> None:
        """What is on a board no longer knows of it, and the other way round."""
        self.store.let_go()

    def credentials(self) -> dict[str, str]:
        """The key of the application and the token of the account."""
        return {"key": self.seed.token.app.key, "token": self.seed.token.value}

    def client(self) -> dict[str, str]:
        """The application that is registered with the vendor; its key is its id in OAuth 2."""
        return {"client_id": APP.key, "client_secret": APP.secret}

    def examples(self) -> dict[str, Any]:
        """Boards, lists, cards and labels worth trying, some of them out of reach."""
        return self.seed.examples

    def revoke(self) -> None:
        """Withdraw every token there is, as members would in their account settings."""
        self.access.withdraw()
        self.consent.withdraw()

    def authorise(self) -> None:
        """Let the same tokens in again, and the refresh tokens of their applications."""
        self.access.restore()
        self.access.keep(self.seed.token)
        self.consent.restore()

    def act(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Let a colleague do something, or read how deliveries went."""
        if action.get("action") == "deliveries":
            return {"deliveries": self._deliverer.hooks.journal.described()}
        return acts.perform(self.store, Author(self.seed.colleague, None, self.stage.clock.now()), action)

    def sow(self, given: SeedValue) -> dict[str, Any]:
        """Make what a seed tells, beside what there is."""
        return sowing.sow(self.seed, self.stage.clock.now(), given)

    @staticmethod
    def absent(told: str) -> web.Response:
        """The answer to a request of the vendor's that is not played, in its words for what it cannot do."""
        return rendered(501, {"error": "NOT_IMPLEMENTED", "message": told})

    def throttled(self, request: web.Request, seconds: float) -> web.Response:
        """The refusal of a token that has spent its ten seconds; the vendor does not say how long to wait."""
        del seconds
        refusal = exhausted(TOKEN.error, TOKEN.message)
        answer = rendered(refusal.status, refusal.body)
        answer.headers.update(self._told(request))
        return answer

    async def _answer(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if len(f"{request.method} {request.raw_path} HTTP/1.1") > LONGEST_LINE:
            return web.Response(status=414, text=TOO_LONG, content_type="text/html")
        try:
            return await handler(request)
        except Refusal as refusal:
            return rendered(refusal.status, refusal.body)
        except (NoSuchRoute, web.HTTPNotFound, web.HTTPMethodNotAllowed):
            return rendered(404, f"Cannot {request.method} {request.raw_path}")
        except web.HTTPException:
            raise
        # A fault of the stand-in looks like one of the vendor's, and ends no server.
        except Exception:
            LOG.exception("The stand-in failed at %s %s", request.method, request.path)
            return rendered(500, "Internal Server Error")

    def _told(self, request: web.Request) -> dict[str, str]:
        now = self.stage.clock.now()
        told = self.throttle.headers(request.get(SPENDER, Spender(None, None)), now)
        return {"Date": formatdate(now, usegmt=True), "Access-Control-Expose-Headers": ", ".join(told), **told}

    def _route(self, route: ApiRoute | Page) -> web.RouteDef:
        if isinstance(route, Page):
            return web.route(route.method, route.path, self._shown(route))
        return web.route(route.method, f"{route.path}{{_:/?}}", self._served(route))

    def _served(self, route: ApiRoute) -> Handler:
        async def serve(request: web.Request) -> web.StreamResponse:
            arguments = await arguments_of(request)
            presented = credentials_of(request.headers.get("Authorization", ""), arguments)
            request[SPENDER] = spender = self._spender(presented, request.path, arguments)
            if self.stage.knobs["limits"]:
                self.throttle.spend(spender, self.stage.clock.now())
            await self.stage.admitted()
            answer = self._perform(route, request.match_info, presented, arguments)
            # Of all routes the making of a webhook alone asks somebody else first.
            answer = await answer if isinstance(answer, Coroutine) else answer
            return rendered(200 if route.method == "GET" else self.stage.knobs["write_status"], answer)

        return serve

    def _shown(self, page: Page) -> Handler:
        async def show(request: web.Request) -> web.StreamResponse:
            await self.stage.admitted()
            return await page.handler(self.consent, request)

        return show

    def _emit(self, happened: Happened) -> None:
        self._deliverer.tell(self.store.webhooks, happened)

    def _spender(self, presented: Credentials, path: str, arguments: Arguments) -> Spender:
        """Whose budgets are spent; each part of a batch counts as a request of its own."""
        paths = [f"/1{url}" for url in batch.urls(arguments)] if path.rstrip("/") == "/1/batch" else [path]
        to_members = sum(part.startswith(MEMBER_ROUTES) for part in paths)
        return Spender(self.access.key_of(presented), presented.token, len(paths), to_members)

    def _perform(self, route: ApiRoute, path: Mapping[str, str], presented: Credentials, arguments: Arguments) -> Any:
        """What *route* answers; an id is looked at first, then who asks, then what may be seen, then what is there."""
        now = self.stage.clock.now()
        route.check(path)
        visitor = self.access.visitor(presented, now, invalid_token=self.stage.knobs["invalid_token"])
        route.admit(visitor)

        def get(url: str) -> Any:
            found, part = part_of_batch(url), url.partition("?")
            asked = Arguments(dict(parse_qsl(part[2], keep_blank_values=True)))
            return self._perform(*found, presented, asked)

        base = self.stage.addresses.get("base", "https://api.trello.com")
        return route.handler(
            Ask(self.store, self.access, self.stage.knobs, visitor, path, arguments, now, self._deliverer, get, base)
        )
