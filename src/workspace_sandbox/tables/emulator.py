"""Airtable on HTTP: who is let in, what is answered, and what testers can do to it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

from aiohttp import web

from workspace_sandbox.kit.asking import Field, one_of, whole
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.knobs import or_null
from workspace_sandbox.tables import acts, attachments, queries, seed, sowing, wire
from workspace_sandbox.tables.access import SCOPES, TOKEN, Access, Authorisations
from workspace_sandbox.tables.call import Call
from workspace_sandbox.tables.changes import Comparison, picture
from workspace_sandbox.tables.deliveries import Action, Deliverer
from workspace_sandbox.tables.routes import ROUTES, Endpoint
from workspace_sandbox.tables.state import PERMISSIONS, Base
from workspace_sandbox.tables.throttle import Limits
from workspace_sandbox.tables.values import Reader

DAY = 86_400


class TablesEmulator(Emulator):
    """A stand-in for Airtable: three bases, one of which the token does not see."""

    knobs: ClassVar[Mapping[str, Any]] = {
        "auto_approve": False,
        "bases_per_page": 1000,
        "fetch_seconds": 2.0,
        "lockout_seconds": 30.0,
        "monthly_calls": None,
        "next_write": "",
        "offset_seconds": 300.0,
        "permission_level": "",
        "redirect_uris": [],
        "refresh_seconds": 60 * DAY,
        "retry_after": False,
        "scopes": " ".join(SCOPES),
        "throttle_envelope": "list",
        "token_seconds": 3600,
        "unreachable_hosts": [],
        "url_seconds": 7200.0,
        "webhook_ack_seconds": 25.0,
        "webhook_retry_seconds": [10.0, 20.0, 40.0, 80.0, 160.0, 320.0],
    }

    acts = acts.ACTS
    routes = ROUTES
    takes_trailing_slash = True
    refusals = wire
    oauth: Authorisations

    knob_readers: ClassVar[Mapping[str, Field]] = {
        "monthly_calls": or_null(whole),
        "next_write": one_of("", "503_retriable"),
        "permission_level": one_of("", *PERMISSIONS),
        "throttle_envelope": one_of("list", "object", "bare"),
    }

    def applications(self) -> Mapping[str, web.Application]:
        """Return a new application per host name; that of the files also serves a file to attach."""
        made = super().applications()
        made["content"].router.add_get(attachments.SAMPLE_PATH, attachments.serve_sample)
        return made

    def plant(self) -> None:
        """Hold the seed."""
        self.limits = Limits(self.stage)
        self.iterators = queries.Iterators()
        self.workspace = seed.workspace(self.stage)
        self.oauth = Authorisations(self.stage, self.workspace)
        self._deliverer = Deliverer(self.stage, self.hooks)

    def credentials(self) -> dict[str, str]:
        """The personal access token."""
        return {"token": TOKEN}

    def examples(self) -> dict[str, Any]:
        """A table with everything in it, a record of it, the other bases, and a file to attach."""
        file_url = self.stage.addresses.get("content", "") + attachments.SAMPLE_PATH
        return {**seed.examples(self.workspace), "file_url": file_url}

    def perform(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Do what somebody does in the application, which webhooks of the base hear of."""
        base = self.workspace.base(str(action.get("base_id")))
        if base is None:
            return super().perform(action)
        with self._told(Action(base, "client", seed.COLLEAGUE, base.role(seed.COLLEAGUE))):
            return super().perform(action)

    apply_seed = sowing.sow

    async def serve(self, route: Endpoint, request: web.Request) -> web.StreamResponse:
        """Let a request in, or not, and answer it: who it is of, how often, where, whether, what."""
        access = self.oauth.authenticate(request)
        self.limits.spend_token(access.token)
        base = self._base(access, request.match_info.get("base"))
        if "base" in request.match_info:
            self.limits.spend_base(base.id)
        await self.stage.admitted()
        self._require(route, access, base)
        call = self._call(request, access, base, await wire.body_of(request))
        self._fail_writing(route)
        if not route.writes:
            return wire.answer(request, route.handler(call))
        with self._told(Action(base, "publicApi", access.user, self._permission(access, base))):
            return wire.answer(request, route.handler(call))

    @contextmanager
    def _told(self, action: Action) -> Iterator[None]:
        """Lets webhooks hear of what is changed inside; what is refused changes nothing."""
        webhooks, base = self.workspace.webhooks, action.base
        listened = any(webhook.base_id == base.id for webhook in webhooks.values())
        before = picture(base) if listened else {}
        yield
        base.transactions += 1
        if listened:
            self._deliverer.tell(webhooks, action, Comparison(self.reader(base), before, picture(base)))

    def _base(self, access: Access, identifier: str | None) -> Base:
        """The base of a path; without one, it does not matter which."""
        if identifier is None:
            return self.workspace.bases[0]
        if not identifier.startswith("app"):
            raise wire.not_found()
        base = self.workspace.base(identifier)
        if base is None or self._permission(access, base) == "none":
            raise wire.no_such_model()
        return base

    def _permission(self, access: Access, base: Base) -> str:
        """What the token's user may do in *base*; a knob changes it in the bases that the token sees."""
        role = access.role(base)
        return role if role == "none" else self.stage.knobs["permission_level"] or role

    def _require(self, route: Endpoint, access: Access, base: Base) -> None:
        held = PERMISSIONS.index(self._permission(access, base))
        if (route.scope and route.scope not in access.scopes) or held < PERMISSIONS.index(route.permission):
            raise wire.forbidden()

    def _call(self, request: web.Request, access: Access, base: Base, body: Mapping[str, Any]) -> Call:
        return Call(
            workspace=self.workspace,
            iterators=self.iterators,
            access=access,
            path=request.match_info,
            query=request.query,
            body=body,
            reader=self.reader(base),
            permission=partial(self._permission, access),
            replaces=request.method == "PUT",
            ping=partial(self._deliverer.ping, self.workspace.webhooks),
        )

    def reader(self, base: Base) -> Reader:
        """Return what shows the records of *base*."""
        return Reader(base, self.stage.clock.now(), partial(attachments.address, self.stage))

    def _fail_writing(self, route: Endpoint) -> None:
        """Refuse one write that nothing is wrong with, if a knob says so."""
        if route.writes and self.stage.knobs["next_write"] == "503_retriable":
            self.stage.knobs["next_write"] = ""
            raise wire.retriable()
