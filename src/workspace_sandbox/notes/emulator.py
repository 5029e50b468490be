"""The vendor's address: its routes, and what testers can do to it."""

import logging
import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from aiohttp import web
from aiohttp.typedefs import Handler

from workspace_sandbox.kit.acts import Acts
from workspace_sandbox.kit.asking import Field, number, one_of
from workspace_sandbox.kit.consent import decision, fields_of
from workspace_sandbox.kit.coverage import Coverage, Played
from workspace_sandbox.kit.knobs import or_null
from workspace_sandbox.kit.lazy import LazyState
from workspace_sandbox.kit.server import application
from workspace_sandbox.kit.sowing import SeedValue
from workspace_sandbox.kit.stage import Stage
from workspace_sandbox.notes import acts, seed, sowing
from workspace_sandbox.notes.access import (
    CLIENT_ID,
    CLIENT_SECRET,
    TOKEN,
    Authorisations,
    Consent,
    Grant,
    question,
    require_client,
)
from workspace_sandbox.notes.answers import Answers
from workspace_sandbox.notes.call import Call, body_of, version_of
from workspace_sandbox.notes.deliveries import Deliverer
from workspace_sandbox.notes.paging import Cursors
from workspace_sandbox.notes.routes import ROUTES, Exchange, Page, Request
from workspace_sandbox.notes.state import Change
from workspace_sandbox.notes.subscription import VERIFICATION_TOKEN, Subscription
from workspace_sandbox.notes.throttle import Limits
from workspace_sandbox.notes.wire import Refusal, answered, bad_url, rate_limited, refused

DENIED = {"error": "access_denied"}
ABSENT_ID = "00000000-0000-4000-8000-000000000000"

LOG = logging.getLogger(__name__)


class NotesEmulator(LazyState):
    """A workspace of the vendor's with its API, on one address."""

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
    """The first values; what is not plain from its name:

    ``row_cap`` is where a query ends; without ``token_seconds`` a token by OAuth lives until it is refreshed or
    withdrawn; without ``redirect_uris`` any address may be gone back to; ``next_create`` is an accident of the next
    creation: ``503_committed``, ``503_uncommitted`` or ``529``; an empty ``events_url`` sends nothing;
    ``webhook_gather_seconds`` is how long what happens to one object is gathered; ``webhook_retry_seconds`` are the
    pauses before another attempt, with which the eighth and last comes a day after the first; ``user_information`` is
    what the routes of users show the integrations: `with_email`, `without_email`, or `none`.
    """

    acts: ClassVar[Acts] = {**acts.ACTIONS, **acts.SETTINGS}

    knob_readers: ClassVar[Mapping[str, Field]] = {
        "next_create": one_of("", "503_committed", "503_uncommitted", "529"),
        "token_seconds": or_null(number),
        "user_information": one_of("with_email", "without_email", "none"),
    }

    coverage: ClassVar[Coverage] = Coverage(
        __file__, (Played(route.method, route.path, route.lacks) for route in ROUTES)
    )

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._deliverer = Deliverer(stage)
        self.reset()

    def applications(self) -> dict[str, web.Application]:
        """The API, on one address."""
        made = application([self._served(route) for route in ROUTES], self._answering)
        made.on_startup.append(self._deliverer.background.start)
        made.on_cleanup.append(self._deliverer.background.stop)
        return {"base": made}

    def reset(self) -> None:
        """Return to the seed, with nothing under way; webhooks are set up if there was an address from the start."""
        self._deliverer.forget()
        self._subscription: Subscription | None = None
        self._seeded = seed.plant(self._now, self.stage.random)
        self.workspace = self._seeded.workspace
        self.workspace.emit = self._emit
        self._cursors = Cursors(self.workspace.new_id)
        if self.stage.default_knobs["events_url"]:
            self._subscription = Subscription(self.workspace, self._seeded.internal, VERIFICATION_TOKEN)
        self._authorisations = Authorisations(self.stage, self.workspace, self._seeded.internal, self._seeded.homes)
        self.limits = Limits(self.stage)

    def credentials(self) -> dict[str, str]:
        """The token of an internal connection, and that of webhooks which are set up from the start."""
        return {"token": TOKEN, "verification_token": VERIFICATION_TOKEN}

    def client(self) -> dict[str, str]:
        """The public connection, which is authorised by OAuth."""
        return {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}

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
                return {"deliveries": self._deliverer.journal.described()}
            case _:
                return acts.perform(self.workspace, self._seeded.person, action)

    def sow(self, given: SeedValue) -> dict[str, Any]:
        """Make what a seed tells, beside what there is."""
        return sowing.sow(self._seeded, given)

    @staticmethod
    def absent(told: str) -> web.Response:
        """The answer to a request of the vendor's that is not played, in its words for what it cannot do."""
        return refused(Refusal(501, "not_implemented", told), ABSENT_ID)

    def throttled(self, request: web.Request, seconds: float) -> web.Response:
        """The refusal of a connection that has asked more often than it may."""
        del request
        return self._refuse(rate_limited(math.ceil(seconds)))

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
        self._deliverer.background.drop()
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

    def _served(self, route: Request | Exchange | Page) -> web.RouteDef:
        match route:
            case Request():
                return web.route(route.method, route.path, partial(self._serve, route))
            case Exchange():
                return web.route(route.method, route.path, partial(self._exchange, route))
            case Page():
                return web.route(route.method, route.path, self._consent)

    async def _serve(self, route: Request, request: web.Request) -> web.Response:
        grant = self._admit(request)
        await self.stage.admitted()
        version = version_of(request)
        call = Call(
            workspace=grant.workspace,
            stage=self.stage,
            cursors=self._cursors,
            bot=grant.bot,
            answers=Answers(grant.workspace, version),
            path=request.match_info,
            query=request.query,
            filter_properties=[
                value for key, value in request.query.items() if key in {"filter_properties", "filter_properties[]"}
            ],
            body=await body_of(request),
        )
        return self._answer(route.handler(call))

    def _admit(self, request: web.Request) -> Grant:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        grant = self._authorisations.grant(token) if kind.casefold() == "bearer" else None
        if grant is None:
            raise Refusal(401, "unauthorized", "API token is invalid.")
        self.limits.spend(token)
        return grant

    async def _consent(self, request: web.Request) -> web.Response:
        await self.stage.admitted()
        asked = await fields_of(request)
        consent = Consent.asked(dict(asked), self.stage.knobs["redirect_uris"])
        decided = decision(asked, automatic=self.stage.knobs["auto_approve"])
        if decided is None:
            return question(self._authorisations.homes.values()).page(request.path, asked)
        answer = {"code": self._authorisations.code(consent.redirect_uri, decided)} if decided.allowed else DENIED
        return web.Response(status=302, headers={"Location": consent.answer(**answer)})

    async def _exchange(self, route: Exchange, request: web.Request) -> web.Response:
        await self.stage.admitted()
        require_client(request.headers.get("Authorization", ""))
        return self._answer(route.handler(self._authorisations, await body_of(request)))

    @web.middleware
    async def _answering(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            return await handler(request)
        except Refusal as refusal:
            return self._refuse(refusal)
        except web.HTTPException:
            return self._refuse(bad_url())
        # A fault of the stand-in looks like one of the vendor's, and ends no server.
        except Exception:
            LOG.exception("The stand-in failed at %s %s", request.method, request.path)
            return self._refuse(Refusal(500, "internal_server_error", "Unexpected error occurred."))

    def _refuse(self, refusal: Refusal) -> web.Response:
        return refused(refusal, self.stage.request_id())

    def _answer(self, shown: dict[str, Any]) -> web.Response:
        return answered(200, shown, self.stage.request_id())
