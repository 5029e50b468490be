"""The vendor's HTTP: routes, authentication, versions, throttling and refusals, and what testers can do to it."""

import json
import logging
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, NoReturn

from aiohttp import web
from aiohttp.typedefs import Handler

from workspace_sandbox.kit.server import application
from workspace_sandbox.kit.stage import Stage
from workspace_sandbox.kit.throttling import TokenBucket
from workspace_sandbox.notes import acts, checks, refusals, seed
from workspace_sandbox.notes.answers import VERSIONS, Answers
from workspace_sandbox.notes.api import Api, Call
from workspace_sandbox.notes.deliveries import Deliverer
from workspace_sandbox.notes.oauth import TOKEN, Authorisations, Consent, require_client
from workspace_sandbox.notes.refusals import Refusal, invalid
from workspace_sandbox.notes.state import Change, User
from workspace_sandbox.notes.subscription import VERIFICATION_TOKEN, Subscription

LOG = logging.getLogger(__name__)


class Route(NamedTuple):
    """A request the vendor takes, the method that serves it, and how much of it there is."""

    method: str
    path: str
    serve: str
    support: str


ROUTES = (
    Route("GET", "/v1/users/me", "me", "full"),
    Route("GET", "/v1/users", "list_users", "full"),
    Route("GET", "/v1/users/{user_id}", "retrieve_user", "full"),
    Route("POST", "/v1/search", "search", "full"),
    Route("GET", "/v1/databases/{database_id}", "retrieve_database", "full"),
    Route("POST", "/v1/databases/{database_id}/query", "query_database", "before 2025-09-03 only, as the vendor"),
    Route("GET", "/v1/data_sources/{data_source_id}", "retrieve_source", "full"),
    Route("POST", "/v1/data_sources/{data_source_id}/query", "query_source", "full"),
    Route("POST", "/v1/pages", "create_page", "partly: no templates, no markdown, no file uploads"),
    Route("GET", "/v1/pages/{page_id}", "retrieve_page", "full"),
    Route("PATCH", "/v1/pages/{page_id}", "update_page", "partly: no templates, no file uploads"),
    Route("GET", "/v1/pages/{page_id}/properties/{property_id}", "retrieve_property", "full"),
    Route("GET", "/v1/blocks/{block_id}", "retrieve_block", "full"),
    Route("DELETE", "/v1/blocks/{block_id}", "delete_block", "full"),
    Route("GET", "/v1/blocks/{block_id}/children", "list_children", "full"),
    Route("PATCH", "/v1/blocks/{block_id}/children", "append_children", "partly: blocks of text, and dividers"),
)
"""What is asked with a connection's token; all else of the vendor's is answered like a URL that it does not have."""

OAUTH_ROUTES = (
    Route("GET", "/v1/oauth/authorize", "consent", "full"),
    Route("POST", "/v1/oauth/token", "token", "full"),
    Route("POST", "/v1/oauth/revoke", "revoke", "full"),
    Route("POST", "/v1/oauth/introspect", "introspect", "full"),
)
"""What is asked by the user's browser, and by the client with its secret."""

MOST_BYTES = 500 * 1000

RATE = 3.0
BURST = 10.0
"""Requests of a connection: three a second on average, and so many at once."""


class NotesEmulator:
    """A workspace of the vendor's with its API, on one address."""

    knobs: ClassVar[Mapping[str, Any]] = {
        "search_lag_seconds": 2.0,
        "row_cap": 10_000,
        "short_pages": False,
        "next_create": "",
        "auto_approve": False,
        "events_url": "",
        "webhook_gather_seconds": 0.2,
        "webhook_ack_seconds": 5.0,
        "webhook_retry_seconds": [4**power for power in range(2, 9)],
        "deliver_twice": False,
        "deliver_disordered": False,
    }
    """The first values; what is not plain from its name:

    ``row_cap`` is where a query ends; ``next_create`` is an accident of the next creation: ``503_committed``,
    ``503_uncommitted`` or ``529``; an empty ``events_url`` sends nothing; ``webhook_gather_seconds`` is how long what
    happens to one object is gathered; ``webhook_retry_seconds`` are the pauses before another attempt, with which the
    eighth and last comes a day after the first.
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._deliverer = Deliverer(stage)
        self.reset()

    def applications(self) -> dict[str, web.Application]:
        """The API, on one address."""
        routes = [web.route(route.method, route.path, self._serving(route.serve)) for route in ROUTES]
        browser, *client = OAUTH_ROUTES
        routes.append(web.route(browser.method, browser.path, self._consent))
        routes += [web.route(route.method, route.path, self._exchanging(route.serve)) for route in client]
        made = application(routes, self._answering)
        made.on_startup.append(self._deliverer.start)
        made.on_cleanup.append(self._deliverer.stop)
        return {"base": made}

    def reset(self) -> None:
        """Return to the seed, with nothing under way; webhooks are set up if there was an address from the start."""
        self._deliverer.forget()
        self._subscription: Subscription | None = None
        self._seeded = seed.plant(self._now, self.stage.random)
        self.workspace = self._seeded.workspace
        self.workspace.emit = self._emit
        self._api = Api(self.workspace, self.stage)
        if self.stage.default_knobs["events_url"]:
            self._subscription = Subscription(self.workspace, self._seeded.internal, VERIFICATION_TOKEN)
        self._authorisations = Authorisations(self.workspace, self._seeded.internal, self._seeded.public)
        self._buckets: dict[str, TokenBucket] = {}

    def credentials(self) -> dict[str, str]:
        """The token of an internal connection, and that of webhooks which are set up from the start."""
        return {"token": TOKEN, "verification_token": VERIFICATION_TOKEN}

    def examples(self) -> dict[str, Any]:
        """A database with a page of it, and databases with something special."""
        return dict(self._seeded.examples)

    def revoke(self) -> None:
        """Remove the connection: no token and no refresh token of it is good any more."""
        self._authorisations.withdraw(withdrawn=True)

    def authorise(self) -> None:
        """Let the connection, its tokens and refresh tokens in again."""
        self._authorisations.withdraw(withdrawn=False)

    def act(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a person would do, see to the webhooks in the settings, or read how deliveries went."""
        match action.get("action"):
            case "subscribe":
                return self._subscribe(action)
            case "verify_webhook":
                return self._verify(action.get("verification_token"))
            case "deliveries":
                return {"deliveries": self._deliverer.described()}
            case _:
                return acts.act(self.workspace, self._seeded.person, action)

    def _subscribe(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Set up webhooks to the address of the action or else the knob, in place of those there are."""
        bots = {"internal": self._seeded.internal, "public": self._seeded.public}
        bot = bots.get(action.get("connection", "internal"))
        if bot is None:
            raise ValueError(f"there is no connection {action['connection']!r}; there are {', '.join(bots)}")
        url = action.get("url") or self.stage.knobs["events_url"]
        if not str(url).startswith(("http://", "https://")):
            raise ValueError("a url is needed, in the action or in the knob events_url")
        self.stage.knobs["events_url"] = url
        self._subscription = Subscription(self.workspace, bot)
        self._deliverer.drop()
        self._deliverer.hand_over(self._subscription)
        return self._subscription.described()

    def _verify(self, token: Any) -> dict[str, Any]:
        """Take the token that a person has found at the address."""
        if self._subscription is None:
            raise ValueError("there is no subscription yet; subscribe first")
        self._subscription.verify(token)
        return self._subscription.described()

    def _emit(self, change: Change) -> None:
        subscription = self._subscription
        if subscription and self._authorisations.has(subscription.bot) and subscription.hears(change):
            self._deliverer.tell(subscription, change)

    def _now(self) -> float:
        return self.stage.clock.now()

    def _serving(self, name: str) -> Handler:
        async def serve(request: web.Request) -> web.Response:
            bot = self._admit(request)
            version = _version(request)
            call = Call(
                bot,
                Answers(self.workspace, version),
                request.match_info,
                request.query,
                [value for key, value in request.query.items() if key in {"filter_properties", "filter_properties[]"}],
                await _body(request),
            )
            perform: Callable[[Call], dict[str, Any]] = getattr(self._api, name)
            return self._answer(200, perform(call))

        return serve

    def _admit(self, request: web.Request) -> User:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        bot = self._authorisations.bot(token) if kind.casefold() == "bearer" else None
        if bot is None:
            raise Refusal(401, "unauthorized", "API token is invalid.")
        if self.stage.knobs["limits"]:
            wait = self._buckets.setdefault(token, TokenBucket(RATE, BURST)).take(self.stage.clock.now())
            if wait:
                raise refusals.rate_limited(math.ceil(wait))
        return bot

    async def _consent(self, request: web.Request) -> web.Response:
        consent = Consent.asked(request.query)
        if self.stage.knobs["auto_approve"] or "auto_approve" in request.query:
            code = self._authorisations.code(consent.redirect_uri)
            return web.Response(status=302, headers={"Location": consent.answer(code=code)})
        approved = str(request.rel_url.update_query(auto_approve="true"))
        return web.Response(text=consent.page(approved), content_type="text/html")

    def _exchanging(self, name: str) -> Handler:
        async def serve(request: web.Request) -> web.Response:
            require_client(request.headers.get("Authorization", ""))
            exchange: Callable[[dict[str, Any]], dict[str, Any]] = getattr(self._authorisations, name)
            return self._answer(200, exchange(await _body(request)))

        return serve

    @web.middleware
    async def _answering(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except Refusal as refusal:
            return self._refuse(refusal)
        except web.HTTPException:
            return self._refuse(refusals.bad_url())
        except Exception:
            LOG.exception("the stand-in failed at %s %s", request.method, request.path)
            return self._refuse(Refusal(500, "internal_server_error", "Unexpected error occurred."))

    def _refuse(self, refusal: Refusal) -> web.Response:
        error = {"object": "error", "status": refusal.status, "code": refusal.code, "message": refusal.message}
        if refusal.additional:
            error["additional_data"] = refusal.additional
        response = self._answer(refusal.status, error)
        if refusal.retry_after:
            response.headers["Retry-After"] = str(refusal.retry_after)
        return response

    def _answer(self, status: int, shown: dict[str, Any]) -> web.Response:
        request_id = self.workspace.new_id()
        return web.json_response(
            shown | {"request_id": request_id}, status=status, headers={"x-notion-request-id": request_id}
        )


def _version(request: web.Request) -> str:
    version = request.headers.get("Notion-Version")
    if version is None:
        message = "Notion-Version header should be defined, instead was `undefined`."
        raise Refusal(400, "missing_version", f"Notion-Version header failed validation: {message}")
    if version not in VERSIONS:
        known = ", ".join(f'`"{known}"`' for known in VERSIONS)
        shown = json.dumps(version)
        raise invalid(
            f"Notion-Version header failed validation: Notion-Version header should be {known}, instead was `{shown}`."
        )
    return version


async def _body(request: web.Request) -> dict[str, Any]:
    sent = await request.read()
    if len(sent) > MOST_BYTES:
        raise checks.unfit("body.length", f"≤ `{MOST_BYTES}`", len(sent))
    try:
        return checks.obj(json.loads(sent, parse_constant=_refuse_constant) if sent else {}, "body")
    except (ValueError, RecursionError) as fault:
        raise Refusal(400, "invalid_json", "Error parsing JSON body.") from fault


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)
