"""The vendor's address: one path per method, the page of consent, and its dialect of refusals."""

import logging
import math
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from aiohttp import web
from aiohttp.typedefs import Handler

from workspace_sandbox.chat import acts, seed, sowing
from workspace_sandbox.chat.access import CLIENT_ID, CLIENT_SECRET, TOKEN, VISITOR_TOKEN, Access, Home
from workspace_sandbox.chat.arguments import Received, receive
from workspace_sandbox.chat.call import Call
from workspace_sandbox.chat.deliveries import SIGNING_SECRET, Deliverer
from workspace_sandbox.chat.routes import ROUTES, Method, Page
from workspace_sandbox.chat.scheduled import post_due
from workspace_sandbox.chat.state import unheard
from workspace_sandbox.chat.throttle import POSTS_PER_MINUTE, Limits
from workspace_sandbox.chat.wire import SlackError, Throttled, unknown, warned
from workspace_sandbox.kit.acts import Acts
from workspace_sandbox.kit.asking import Field, one_of
from workspace_sandbox.kit.coverage import Coverage, Played
from workspace_sandbox.kit.lazy import LazyState
from workspace_sandbox.kit.server import Refused, application
from workspace_sandbox.kit.sowing import SeedValue
from workspace_sandbox.kit.stage import Stage

SCOPES = (
    "chat:write,chat:write.public,channels:read,groups:read,im:read,channels:history,groups:history,im:history,"
    "channels:join,channels:manage,groups:write,im:write,reactions:read,reactions:write,users:read,emoji:read,"
    "app_mentions:read,files:read,files:write,pins:read,pins:write,team:read,users:read.email,users.profile:read"
)

log = logging.getLogger(__name__)


class ChatEmulator(LazyState):
    """A stand-in for Slack: one workspace with one application in it."""

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
    """The first values; what is not plain from its name:

    ``token_seconds`` is the life of a token that rotates, as new ones do with ``rotation``; others live until they are
    revoked; without ``redirect_uris`` any address may be gone back to; ``history_tier`` is ``marketplace`` or
    ``restricted`` (once a minute, 15 items); ``long_text`` is ``whole`` or ``split`` (several messages of 4000
    characters); ``reply_to_reply`` is where such a post goes, ``root`` (the thread) or ``stray`` (a thread of its own
    that nobody sees); ``fatal_after_commit`` is how many writes are done and then answered with ``fatal_error``;
    ``edit_window_seconds`` 0 never closes; an empty ``events_url`` sends nothing.
    """

    acts: ClassVar[Acts] = {**acts.ACTIONS, **acts.SETTINGS}

    knob_readers: ClassVar[Mapping[str, Field]] = {
        "history_tier": one_of("marketplace", "restricted"),
        "long_text": one_of("whole", "split"),
        "reply_to_reply": one_of("root", "stray"),
    }

    coverage: ClassVar[Coverage] = Coverage(
        __file__, (Played(route.method, route.path, route.lacks) for route in ROUTES)
    )

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._deliverer = Deliverer(stage)
        self.reset()

    def applications(self) -> Mapping[str, web.Application]:
        """One host serves the methods and the consent page."""
        made = application([self._served(route) for route in ROUTES], self._dialect)
        made.on_startup.append(self._deliverer.background.start)
        made.on_cleanup.append(self._deliverer.background.stop)
        return {"base": made}

    def reset(self) -> None:
        """Return to the seed, with nothing revoked, spent or under way."""
        self._deliverer.forget()
        self.access = Access(self.stage, TOKEN)
        self.limits = Limits(self.stage)
        self.workspace = seed.workspace(self.stage.clock.now)
        homes = [Home(self.workspace, self.access), Home(seed.annex(self.stage.clock.now), Access(self.stage))]
        self._homes = {home.workspace.team.id: home for home in homes}
        self._visitor = Home(seed.visitor(self.stage.clock.now), Access(self.stage, VISITOR_TOKEN))
        for home in homes:
            home.workspace.emit = partial(self._emit, home)
            home.workspace.addresses = self.stage.addresses

    def let_go(self) -> None:
        """A workspace no longer emits to the home that holds it."""
        for home in self._homes.values():
            home.workspace.emit = unheard

    def credentials(self) -> dict[str, str]:
        """The bot token, and the secret that events are signed with."""
        return {"token": TOKEN, "signing_secret": SIGNING_SECRET}

    def client(self) -> dict[str, str]:
        """The application that is registered with the vendor."""
        return {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}

    def examples(self) -> dict[str, Any]:
        """Channels of every kind, and messages of the bot's and of others."""
        return dict(seed.EXAMPLES)

    def revoke(self) -> None:
        """Remove the application from every workspace."""
        for home in self._homes.values():
            self._uninstall(home)

    def authorise(self) -> None:
        """Install the application again where it was, with the tokens that it had."""
        for home in self._homes.values():
            home.access.restore()

    def act(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Do what a person would do, verify the events' address, or read how deliveries went."""
        match action.get("action"):
            case "verify_url" if not self.stage.knobs["events_url"]:
                raise ValueError("the knob events_url is empty")
            case "verify_url":
                return {"challenge": self._deliverer.verify()}
            case "deliveries":
                return {"deliveries": self._deliverer.journal.described()}
            case _:
                post_due(self.workspace)
                return acts.perform(self.workspace, action)

    def sow(self, given: SeedValue) -> dict[str, Any]:
        """Make what a seed tells, beside what there is."""
        return sowing.sow(self.workspace, given)

    @staticmethod
    def absent(told: str) -> web.Response:
        """The answer to a request of the vendor's that is not played, in its words for what it cannot do."""
        return web.json_response({"ok": False, "error": "not_implemented", "detail": told}, status=501)

    def throttled(self, request: web.Request, seconds: float) -> web.Response:
        """The refusal of a method that was called too often."""
        del request
        return _throttled(Throttled(max(1, math.ceil(seconds))), {})

    def _uninstall(self, home: Home) -> None:
        """Remove the application from a workspace; the vendor says so in two last events."""
        bot = home.workspace.team.bot_user_id
        home.workspace.tell(None, {"type": "tokens_revoked", "tokens": {"oauth": [], "bot": [bot]}})
        home.workspace.tell(None, {"type": "app_uninstalled"})
        home.access.uninstall()

    def _emit(self, home: Home, event: dict[str, Any]) -> None:
        if event["type"] == "app_mention" and "app_mentions:read" not in home.access.scopes:
            return
        # An uninstalled application hears nothing more.
        if home.access.installed:
            self._deliverer.tell(home.workspace.team, event)

    async def _post_at(self, home: Home, at: int) -> None:
        """Post what is due at that time also if nobody asks for anything then."""
        clock = self.stage.clock
        # Again, since time may go back meanwhile, and no wait becomes longer by that.
        while (left := at - clock.now()) > 0:
            await clock.sleep(left)
        post_due(home.workspace)

    def _home(self, received: Received) -> Home:
        """The workspace that a request is about: where what it presents is from."""
        given = (received.arguments.raw(name) for name in ("token", "code", "refresh_token"))
        presented = [received.token, *(value for value in given if isinstance(value, str))]
        homes = [*self._homes.values(), self._visitor]
        return next((home for home in homes if home.access.knows(presented)), homes[0])

    def _served(self, route: Method | Page) -> web.RouteDef:
        serve = partial(self._serve, route) if isinstance(route, Method) else partial(self._show, route)
        return web.route(route.method, route.path, serve)

    async def _show(self, page: Page, request: web.Request) -> web.StreamResponse:
        await self.stage.admitted()
        return await page.handler(self._homes, self.stage, request)

    async def _serve(self, method: Method, request: web.Request) -> web.StreamResponse:
        """Answer a call of *method*; all but a throttled one with status 200."""
        if request.method not in {"GET", "POST"}:
            return unknown(method.name)
        warnings: list[str] = []
        headers: dict[str, str] = {}
        try:
            received = await receive(request)
            warnings, home = received.warnings, self._home(received)
            if not method.is_open:
                home.access.admit(received.token)
                headers = _scope_headers(method, home.access)
            # Counted before the scopes are checked: the cautious reading is that a refused call uses up budget too.
            self.limits.spend_call(method.name, method.per_minute)
            await self.stage.admitted()
            body = {"ok": True} | self._run(method, received, home)
        except SlackError as refusal:
            body = {"ok": False, "error": refusal.code} | refusal.details
        except Throttled as throttled:
            return _throttled(throttled, headers)
        return web.json_response(warned(body, warnings), headers=headers)

    def _run(self, method: Method, received: Received, home: Home) -> dict[str, Any]:
        """Check the scopes of a call and do it."""
        post_due(home.workspace)
        call = Call(
            workspace=home.workspace,
            access=home.access,
            limits=self.limits,
            knobs=self.stage.knobs,
            arguments=received.arguments,
            token=received.token,
            chance=self.stage.random,
            uninstall=partial(self._uninstall, home),
            wake_at=partial(self._deliverer.background.begin, self._post_at, home),
            warnings=received.warnings,
        )
        call.require(*method.scopes)
        body = method.handler(call)
        if method.writes and self.stage.knobs["fatal_after_commit"] > 0:
            self.stage.knobs["fatal_after_commit"] -= 1
            # The reference says of this error that part of the work may have been done.
            raise SlackError("fatal_error")
        return body

    @web.middleware
    async def _dialect(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer unknown routes, and this stand-in's own faults, as the vendor would."""
        try:
            return await handler(request)
        except (Refused, web.HTTPMethodNotAllowed, web.HTTPNotFound) as refused:
            if isinstance(refused, Refused):
                return refused.response
            if request.path.startswith("/api/"):
                return unknown(request.path.removeprefix("/api/"))
            page = "<!doctype html><title>There has been a glitch</title>"
            return web.Response(status=refused.status, text=page, content_type="text/html")
        except web.HTTPRequestEntityTooLarge:
            return web.json_response({"ok": False, "error": "request_too_large"}, status=413)
        # A fault of the stand-in looks like one of the vendor's, and ends no server.
        except Exception:
            log.exception("The stand-in failed at %s %s", request.method, request.path)
            return web.json_response({"ok": False, "error": "internal_error"}, status=500)


def _throttled(throttled: Throttled, headers: dict[str, str]) -> web.Response:
    told = headers | {"Retry-After": str(throttled.seconds)}
    return web.json_response({"ok": False, "error": throttled.code}, status=429, headers=told)


def _scope_headers(method: Method, access: Access) -> dict[str, str]:
    accepted = {"X-Accepted-OAuth-Scopes": ",".join(method.scopes)} if method.scopes else {}
    return {"X-OAuth-Scopes": ",".join(access.scopes), **accepted}
