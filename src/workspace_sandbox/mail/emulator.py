"""Gmail on HTTP: who is let in, and how a request is served, alone, uploaded or in a batch."""

import json
from collections.abc import Mapping
from random import Random
from typing import Any, ClassVar

from aiohttp import web

from workspace_sandbox.kit.asking import Field, one_of, whole
from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.knobs import or_null, texts
from workspace_sandbox.kit.oauth import Token
from workspace_sandbox.kit.refusals import require
from workspace_sandbox.kit.routes import Route
from workspace_sandbox.kit.stage import RecordedRequest
from workspace_sandbox.mail import acts, refusals, schema, seed, sowing, uploads
from workspace_sandbox.mail.access import AUTH, Grants
from workspace_sandbox.mail.attachments import Attachments
from workspace_sandbox.mail.batch import PATHS, read_batch, write_batch
from workspace_sandbox.mail.methods import Ask, MailServices, Method
from workspace_sandbox.mail.office import MailTransport
from workspace_sandbox.mail.refusals import FORCED, THROTTLES
from workspace_sandbox.mail.resources import Resources
from workspace_sandbox.mail.routes import ROUTES, Batch, resolve
from workspace_sandbox.mail.state import Mailbox
from workspace_sandbox.mail.throttle import SENDS_PER_DAY, UNITS_PER_MINUTE, QuotaCounter
from workspace_sandbox.mail.uploads import MAX_UPLOAD_BYTES
from workspace_sandbox.mail.wire import Call, Refusal, Reply

SEEDED_SCOPES = ("openid", f"{AUTH}gmail.modify", f"{AUTH}userinfo.email")
UPLOAD_TYPES = ("", "media", "multipart", "resumable")


class MailEmulator(Emulator):
    """A Gmail with a few mailboxes, one of them full."""

    knobs: ClassVar[Mapping[str, Any]] = {
        "attachment_id_seconds": 3600.0,
        "auto_approve": False,
        "client_id": "482910337701-sandbox.apps.googleusercontent.com",
        "client_secret": "GOCSPX-sandbox",
        "decode_headers": True,
        "force": None,
        "granted_scopes": None,
        "history_records": None,
        "index_lag_seconds": 0.0,
        "inline_text_bytes": 500_000,
        "json_bytes": 8 * 1024 * 1024,
        "latency_seconds": 0.01,
        "redirect_uris": [],
        "rewrite_message_id": True,
        "sends_per_day": SENDS_PER_DAY,
        "throttle": "quota",
        "token_scopes": list(SEEDED_SCOPES),
        "token_seconds": 3599,
        "units_per_minute": UNITS_PER_MINUTE,
    }

    acts = acts.ACTS
    routes = ROUTES
    refusals = refusals
    oauth: Grants

    knob_readers: ClassVar[Mapping[str, Field]] = {
        "force": or_null(one_of(*THROTTLES, *FORCED)),
        "granted_scopes": or_null(texts),
        "history_records": or_null(whole),
        "throttle": one_of(*THROTTLES),
    }

    def plant(self) -> None:
        """Hold the seed."""
        now, knobs, random = self.stage.now, self.stage.knobs, self.stage.random
        office = MailTransport(Random(seed.NUMBER), now, knobs)
        attachments = Attachments(random, now, knobs)
        self.desk = MailServices(office, Resources(attachments, knobs), attachments, QuotaCounter(self.stage))
        self._uploads = uploads.Uploads(random)
        self._examples = seed.fill(office)
        office.random = random
        self.oauth = Grants(self.stage, office.mailboxes)
        self._token = self.oauth.seed(seed.ADDRESS)

    def break_cycles(self) -> None:
        """The post office no longer holds the mailboxes, which ask it for identifiers."""
        self.desk.office.mailboxes.clear()

    def credentials(self) -> dict[str, str]:
        """Return the access token of the full mailbox."""
        return {"token": self._token}

    def examples(self) -> dict[str, Any]:
        """Return identifiers of seeded objects worth trying."""
        return dict(self._examples)

    def authorise(self) -> None:
        """Give all of it back, and the seeded token also if its client gave it back."""
        super().authorise()
        self._token = self.oauth.seed(seed.ADDRESS)

    @property
    def mailbox(self) -> Mailbox:
        """The full mailbox, in which people act."""
        return self.desk.office.mailboxes[seed.ADDRESS]

    apply_seed = sowing.sow

    async def serve(self, route: Route[Any], request: web.Request) -> web.StreamResponse:
        """Answer a request of the API, or several in one."""
        # Its window is a minute: it does not matter whether a request is counted before a delay or after it.
        await self.stage.admitted()
        call = await Call.of(request)
        return (await (self._together(call) if isinstance(route, Batch) else self._alone(call))).response

    async def unknown(self, request: web.Request, _: int) -> web.StreamResponse:
        """Answer what may be a read that came as a POST."""
        return (await self._alone(await Call.of(request))).response

    async def _alone(self, call: Call) -> Reply:
        """The answer to a call that came by itself."""
        ledger = self.desk.ledger
        try:
            asked = self._asked(call)
            if isinstance(asked, Reply):
                return asked
            weight = ledger.enter(asked.mailbox.address, inner=False)
        except Refusal as refusal:
            return Reply.refusing(refusal)
        try:
            await self._take_time()
            return self._performed(asked)
        finally:
            ledger.leave(asked.mailbox.address, weight)

    async def _together(self, outer: Call) -> Reply:
        """Return the answer to a batch of calls."""
        calls = read_batch(outer)
        ledger, entered = self.desk.ledger, list[tuple[str, int]]()
        asked = [self._inside(call, entered) for _, call in calls]
        try:
            await self._take_time()
            replies = [one if isinstance(one, Reply) else self._performed(one) for one in asked]
        finally:
            for user, weight in entered:
                ledger.leave(user, weight)
        at = self.stage.clock.now()
        for (_, call), reply in zip(calls, replies, strict=True):
            self.stage.journal.append(RecordedRequest(at, call.verb, call.path, reply.status))
        answers = [(content_id, reply) for (content_id, _), reply in zip(calls, replies, strict=True)]
        return write_batch(answers, f"batch_{self.stage.random.getrandbits(96):024x}")

    def _inside(self, call: Call, entered: list[tuple[str, int]]) -> Ask | Reply:
        """What a call inside a batch asks, or the answer it has at once; what it holds is noted in *entered*."""
        fault = self.stage.fault_for(call.verb, call.path, (call.token,), kind="status")
        if fault is not None:
            answer = fault.answer()
            content = answer.body if isinstance(answer.body, bytes) else b""
            return Reply(answer.status, content, dict(answer.headers))
        try:
            asked = self._asked(call, inner=True)
            if isinstance(asked, Ask):
                user = asked.mailbox.address
                entered.append((user, self.desk.ledger.enter(user, inner=True)))
        except Refusal as refusal:
            return Reply.refusing(refusal)
        return asked

    def _asked(self, call: Call, *, inner: bool = False) -> Ask | Reply:
        """What *call* asks once it is let in, or the answer to a piece of an upload."""
        prefix = next((prefix for prefix in uploads.PREFIXES if call.path.startswith(f"{prefix}/")), "")
        if inner and (prefix or call.path in PATHS):
            raise refusals.invalid("Batch requests may not contain uploads or other batch requests.")
        if prefix and call.verb == "PUT" and call.first("upload_id"):
            return self._uploads.take(call)
        ask = self._read(call, prefix)
        return self._uploads.begin(call, ask) if _upload_type(call, prefix) == "resumable" else ask

    def _read(self, call: Call, prefix: str) -> Ask:
        found = resolve(call.verb, call.path.removeprefix(prefix))
        if found is None or (prefix and not found[0].uploads):
            raise refusals.page_not_found(call.verb, call.path)
        method, ids = found
        token = self._admit(call, method)
        mailbox: Mailbox = token.grant.account
        query = method.read(call.query)
        if query.get("alt", "json") != "json":
            raise refusals.invalid_value("alt", "enum", json.dumps(query["alt"]))
        if ids["userId"].lower() not in {"me", mailbox.address}:
            raise refusals.delegation_denied(ids["userId"])
        mask = schema.read_mask(query["fields"], method.answer) if query.get("fields") else None
        body, media = self._contents(call, method, _upload_type(call, prefix))
        return Ask(method, mailbox, frozenset(token.scopes), ids, query, self.stage.knobs, body, media, mask)

    def _admit(self, call: Call, method: Method) -> Token:
        """What lets *call* use *method*."""
        if self.stage.knobs["force"]:
            raise refusals.forced(self.stage.knobs["force"], method.rpc, self.stage.now())
        if not call.token:
            raise refusals.missing_credential(method.rpc)
        token = require(self.oauth.allowed(call.token), refusals.invalid_credential())
        if method.scopes.isdisjoint(token.scopes):
            raise refusals.missing_scope(method.rpc)
        return token

    def _contents(self, call: Call, method: Method, upload_type: str) -> tuple[dict[str, Any], bytes | None]:
        """The JSON body and the uploaded message."""
        if len(call.body) > (MAX_UPLOAD_BYTES if upload_type else self.stage.knobs["json_bytes"]):
            raise refusals.too_large() if upload_type else refusals.payload_too_large(self.stage.knobs["json_bytes"])
        if upload_type == "media":
            return {}, uploads.simple(call)
        if upload_type == "multipart":
            metadata, media = uploads.related(call)
            return schema.read_json(metadata, method.body or {}), media
        return ({} if method.body is None else schema.read_json(call.body, method.body)), None

    def _performed(self, ask: Ask) -> Reply:
        """The answer to what is asked, done and paid for."""
        try:
            self.desk.ledger.charge(ask.mailbox.address, ask.method.units)
            answer = ask.method.handler(self.desk, ask)
        except Refusal as refusal:
            return Reply.refusing(refusal)
        if answer is None:
            return Reply(204)
        return Reply.json(schema.masked(answer, ask.mask), pretty=ask.query.get("prettyPrint") == "true")

    async def _take_time(self) -> None:
        """Be at work for a moment, so that requests sent at once are seen to be at once."""
        if self.stage.knobs["limits"] and self.stage.knobs["latency_seconds"]:
            await self.stage.work(self.stage.knobs["latency_seconds"])


def _upload_type(call: Call, prefix: str) -> str:
    """How *call* uploads, empty when it does not."""
    if not prefix:
        return ""
    wanted = call.first("uploadType") or call.first("upload_protocol")
    if wanted not in UPLOAD_TYPES:
        raise refusals.invalid(f"Invalid value for parameter uploadType: {wanted}")
    return wanted or ("resumable" if prefix.startswith("/resumable") else "media")
