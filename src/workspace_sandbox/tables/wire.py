"""The vendor's two hosts: routes, authentication, throttling, answers, and what testers can do to them."""

import hashlib
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, NoReturn

from aiohttp import web
from aiohttp.typedefs import Handler

from workspace_sandbox.kit.server import application
from workspace_sandbox.kit.stage import Stage
from workspace_sandbox.tables import calls, consent, files, queries, refusals, seed
from workspace_sandbox.tables.access import SCOPES, TOKEN, Access, Authorisations
from workspace_sandbox.tables.model import PERMISSIONS, Base, find
from workspace_sandbox.tables.refusals import Refusal
from workspace_sandbox.tables.state import Manner
from workspace_sandbox.tables.throttle import Limits
from workspace_sandbox.tables.values import Reader

LOG = logging.getLogger(__name__)

COMPRESSED_FROM_BYTES = 1024
DAY = 86_400

Host = Literal["base", "content"]


class Route(NamedTuple):
    """A request the vendor takes with a token, and what the caller must have for it."""

    host: Host
    method: str
    path: str
    serve: Callable[[calls.Call], dict[str, Any]]
    scope: str | None
    permission: str
    support: str

    @property
    def writes(self) -> bool:
        """Whether it changes something."""
        return self.scope == WRITE


class Page(NamedTuple):
    """An address that is asked without a token."""

    host: Host
    method: str
    path: str
    support: str


READ, WRITE, SCHEMA = "data.records:read", "data.records:write", "schema.bases:read"
TABLE, RECORD = "/v0/{base}/{table}", "/v0/{base}/{table}/{record}"
AUTHORIZE, TOKENS = "/oauth2/v1/authorize", "/oauth2/v1/token"
UPLOAD = "/v0/{base}/{record}/{field}/uploadAttachment"

ROUTES = (
    Route("base", "GET", "/v0/meta/whoami", calls.whoami, None, "none", "full"),
    Route("base", "GET", "/v0/meta/bases", calls.list_bases, SCHEMA, "none", "full"),
    Route("base", "GET", "/v0/meta/bases/{base}/tables", calls.get_base_schema, SCHEMA, "read", "full"),
    Route("base", "GET", TABLE, calls.list_records, READ, "read", "partly: few formulas, text is not localised"),
    Route("base", "POST", f"{TABLE}/listRecords", calls.list_records_by_body, READ, "read", "partly: as GET"),
    Route("base", "POST", TABLE, calls.create_records, WRITE, "edit", "full"),
    Route("base", "PATCH", TABLE, calls.update_records, WRITE, "edit", "full"),
    Route("base", "PUT", TABLE, calls.update_records, WRITE, "edit", "full"),
    Route("base", "DELETE", TABLE, calls.delete_records, WRITE, "edit", "full"),
    Route("base", "GET", RECORD, calls.get_record, READ, "read", "partly: as the list"),
    Route("base", "PATCH", RECORD, calls.update_record, WRITE, "edit", "full"),
    Route("base", "PUT", RECORD, calls.update_record, WRITE, "edit", "full"),
    Route("base", "DELETE", RECORD, calls.delete_record, WRITE, "edit", "full"),
    Route("content", "POST", UPLOAD, calls.upload_attachment, WRITE, "edit", "full"),
)
"""Whatever else the vendor has (comments, webhooks, changing schemas, enterprise) is answered as an unknown route."""

PAGES = (
    Page("base", "GET", AUTHORIZE, "partly: all bases are granted, none is chosen"),
    Page("base", "POST", TOKENS, "full"),
    Page("content", "GET", files.PATH, "partly: thumbnails are the whole picture"),
)


class TablesEmulator:
    """A stand-in for Airtable: three bases, one of which the token does not see."""

    knobs: ClassVar[Mapping[str, Any]] = {
        "access_seconds": 3600,
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
        "unreachable_hosts": [],
        "url_seconds": 7200.0,
    }

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.reset()

    def applications(self) -> Mapping[str, web.Application]:
        """The host of the interface, with the OAuth pages, and the host of the files."""
        return {host: application(self._routes(host), self._dialect) for host in ("base", "content")}

    def reset(self) -> None:
        """Return to the seed, with nothing revoked, spent or under way."""
        self.authorisations = Authorisations(self.stage)
        self.limits = Limits(self.stage)
        self.iterators = queries.Iterators()
        self.workspace = seed.workspace(self.stage)

    def credentials(self) -> dict[str, str]:
        """The personal access token."""
        return {"token": TOKEN}

    def examples(self) -> dict[str, Any]:
        """A table with everything in it, a record of it, and the other bases."""
        return dict(seed.examples(self.workspace))

    def revoke(self) -> None:
        """Withdraw the token, and everything that was authorised with OAuth."""
        self.authorisations.connected = False

    def authorise(self) -> None:
        """Give all of it back."""
        self.authorisations.connected = True

    def act(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Do what somebody does in the application: ``create_record``, ``rename_field``."""
        acts = {"create_record": self._create_record, "rename_field": self._rename_field}
        perform = acts.get(action.get("action", ""))
        if perform is None:
            raise ValueError(f"no action {action.get('action')!r}; there are {', '.join(acts)}")
        try:
            return perform(action)
        except Refusal as refusal:
            raise ValueError(refusal.message or refusal.type) from refusal
        except (KeyError, TypeError, AttributeError) as fault:
            raise ValueError(f"the action lacks something: {fault}") from fault

    def _create_record(self, action: Mapping[str, Any]) -> dict[str, Any]:
        base, fields = self._acted_on(action), action["fields"]
        table = find(base.tables, action["table"]) or _unknown("table", action["table"])
        (record,) = self.workspace.create(base, table, [fields], Manner(seed.COLLEAGUE, typecast=True))
        return self._reader(base).record(table, record)

    def _rename_field(self, action: Mapping[str, Any]) -> dict[str, Any]:
        base = self._acted_on(action)
        table = find(base.tables, action["table"]) or _unknown("table", action["table"])
        column = calls.renamed(table, action["field"], action["name"])
        return {"field_id": column.id, "name": column.name}

    def _acted_on(self, action: Mapping[str, Any]) -> Base:
        return self.workspace.base(action["base_id"]) or _unknown("base", action["base_id"])

    def _routes(self, host: Host) -> list[web.RouteDef]:
        pages = {AUTHORIZE: self._authorize, TOKENS: self._token, files.PATH: self._file}
        routed: list[tuple[Route | Page, Handler]] = [(route, partial(self._serve, route)) for route in ROUTES]
        routed.extend((page, pages[page.path]) for page in PAGES)
        return [
            web.route(route.method, path, handler)
            for route, handler in routed
            if route.host == host
            for path in (route.path, f"{route.path}/")
        ]

    async def _serve(self, route: Route, request: web.Request) -> web.StreamResponse:
        """Let a request in, or not, and answer it: who it is of, how often, where, whether, what."""
        access = self.authorisations.authenticate(request.headers.get("Authorization", ""))
        self.limits.spend_token(access.token)
        base = self._base(request.match_info.get("base"))
        if "base" in request.match_info:
            self.limits.spend_base(base.id)
        self._require(route, access, base)
        call = self._call(request, access, base, await _body(request))
        self._fail_writing(route)
        return _answer(request, route.serve(call))

    def _base(self, identifier: str | None) -> Base:
        """The base of a path; without one, it does not matter which."""
        if identifier is None:
            return self.workspace.bases[0]
        if not identifier.startswith("app"):
            raise refusals.not_found()
        base = self.workspace.base(identifier)
        if base is None or self._permission(base) == "none":
            raise refusals.no_such_model()
        return base

    def _permission(self, base: Base) -> str:
        """What the token's user may do in *base*; a knob changes it in the bases that the token sees."""
        return base.permission if base.permission == "none" else self.stage.knobs["permission_level"] or base.permission

    def _require(self, route: Route, access: Access, base: Base) -> None:
        held = PERMISSIONS.index(self._permission(base))
        if (route.scope and route.scope not in access.scopes) or held < PERMISSIONS.index(route.permission):
            raise refusals.forbidden()

    def _call(self, request: web.Request, access: Access, base: Base, body: Mapping[str, Any]) -> calls.Call:
        return calls.Call(
            workspace=self.workspace,
            iterators=self.iterators,
            access=access,
            path=request.match_info,
            query=request.query,
            body=body,
            reader=self._reader(base),
            permission=self._permission,
            replaces=request.method == "PUT",
        )

    def _reader(self, base: Base) -> Reader:
        return Reader(base, self.stage.clock.now(), partial(files.address, self.stage))

    def _fail_writing(self, route: Route) -> None:
        """Refuse one write that nothing is wrong with, if a knob says so."""
        if route.writes and self.stage.knobs["next_write"] == "503_retriable":
            self.stage.knobs["next_write"] = ""
            raise refusals.retriable()

    async def _authorize(self, request: web.Request) -> web.StreamResponse:
        return consent.authorize(request, self.authorisations, self.stage.knobs)

    async def _token(self, request: web.Request) -> web.StreamResponse:
        return await consent.token(request, self.authorisations)

    async def _file(self, request: web.Request) -> web.StreamResponse:
        return files.serve(self.stage, self.workspace.bases, request)

    @web.middleware
    async def _dialect(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Tell refusals, unknown routes and this stand-in's own faults as the vendor would."""
        refusal = await _refusal(request, handler)
        if isinstance(refusal, web.StreamResponse):
            return refusal
        return web.json_response(refusal.body(), status=refusal.status, headers=refusal.headers)


async def _refusal(request: web.Request, handler: Callable[[web.Request], Awaitable[Any]]) -> Any:
    """The answer of *handler*, or the refusal it ended with."""
    try:
        return await handler(request)
    except Refusal as refusal:
        return refusal
    except (web.HTTPNotFound, web.HTTPMethodNotAllowed):
        return refusals.not_found()
    except web.HTTPRequestEntityTooLarge:
        return refusals.too_large()
    except Exception:
        LOG.exception("The stand-in failed at %s %s", request.method, request.path)
        return refusals.failed()


async def _body(request: web.Request) -> Mapping[str, Any]:
    """The JSON object of a request; what is not said to be JSON is not read as such."""
    content = await request.read()
    if not content or request.content_type != "application/json":
        return {}
    try:
        body = json.loads(content, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise refusals.unparsable() from None
    if not isinstance(body, dict):
        raise refusals.invalid_request()
    return body


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _answer(request: web.Request, body: dict[str, Any]) -> web.Response:
    """*body* as JSON, compressed where that is worth it and welcome."""
    content = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "ETag": f'W/"{len(content):x}-{hashlib.sha256(content).hexdigest()[:27]}"',
        "airtable-uncompressed-content-length": str(len(content)),
    }
    response = web.Response(body=content, headers=headers)
    if len(content) >= COMPRESSED_FROM_BYTES and "gzip" in request.headers.get("Accept-Encoding", ""):
        response.enable_compression(web.ContentCoding.gzip)
    return response


def _unknown(kind: str, key: Any) -> NoReturn:
    raise ValueError(f"no {kind} {key!r}")
