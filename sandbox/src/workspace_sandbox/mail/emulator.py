"""Gmail over HTTP: authorisation, and requests sent singly, as uploads or in batches."""

import json
from collections.abc import Mapping
from random import Random
from typing import Any, ClassVar

from aiohttp import web

from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.emulator_context import RecordedRequest
from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.kit.input_validation import Field, non_negative_int, one_of, or_null, texts
from workspace_sandbox.kit.oauth.server import Token
from workspace_sandbox.kit.routes import Route
from workspace_sandbox.mail import body_schemas
from workspace_sandbox.mail import error_responses as mail_errors
from workspace_sandbox.mail.access import AUTH, GoogleOAuth
from workspace_sandbox.mail.api import uploads
from workspace_sandbox.mail.api.attachment_ids import Attachments
from workspace_sandbox.mail.api.batch import PATHS, read_batch, write_batch
from workspace_sandbox.mail.api.message_json import Resources
from workspace_sandbox.mail.api.uploads import MAX_UPLOAD_BYTES
from workspace_sandbox.mail.data import default_data, seeding
from workspace_sandbox.mail.data.mail_delivery import MailTransport
from workspace_sandbox.mail.data.state import Mailbox
from workspace_sandbox.mail.deliberate_deviations import FALSE_FACTS
from workspace_sandbox.mail.error_responses import FORCED, THROTTLES, ApiError
from workspace_sandbox.mail.rate_limits import SENDS_PER_DAY, UNITS_PER_MINUTE, RateLimiter
from workspace_sandbox.mail.raw_http import HttpRequest, Reply
from workspace_sandbox.mail.request import ApiRequest, ApiRoute, MailServices
from workspace_sandbox.mail.routes import ROUTES, Batch, resolve
from workspace_sandbox.mail.user_actions import ACTS

SEEDED_SCOPES = ("openid", f"{AUTH}gmail.modify", f"{AUTH}userinfo.email")
UPLOAD_TYPES = ("", "media", "multipart", "resumable")


class MailEmulator(Emulator):
    """A Gmail with several mailboxes, one of them filled."""

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

    user_actions = ACTS
    routes = ROUTES
    errors = mail_errors
    false_facts = FALSE_FACTS
    oauth: GoogleOAuth

    knob_readers: ClassVar[Mapping[str, Field]] = {
        "force": or_null(one_of(*THROTTLES, *FORCED)),
        "granted_scopes": or_null(texts),
        "history_records": or_null(non_negative_int),
        "throttle": one_of(*THROTTLES),
    }

    def create_default_data(self) -> None:
        """Build the default mailboxes."""
        now, knobs, random = self.context.now, self.context.knobs, self.context.random
        transport = MailTransport(Random(default_data.RANDOM_SEED), now, knobs)
        attachments = Attachments(random, now, knobs)
        self.services = MailServices(transport, Resources(attachments, knobs), attachments, RateLimiter(self.context))
        self._uploads = uploads.Uploads(random)
        self._examples = default_data.fill_mailboxes(transport)
        transport.random = random
        self.oauth = GoogleOAuth(self.context, transport.mailboxes)
        self._token = self.oauth.seed(default_data.ADDRESS)

    def break_cycles(self) -> None:
        """Clear the mailboxes, which refer back to the mail transport for new identifiers."""
        self.services.transport.mailboxes.clear()

    def credentials(self) -> dict[str, str]:
        """Return the access token of the filled mailbox."""
        return {"token": self._token}

    def examples(self) -> dict[str, Any]:
        """Return identifiers of seeded objects worth trying."""
        return dict(self._examples)

    def authorise(self) -> None:
        """Restore all grants, including the seeded token if its client revoked it."""
        super().authorise()
        self._token = self.oauth.seed(default_data.ADDRESS)

    @property
    def mailbox(self) -> Mailbox:
        """The filled mailbox, the target of user actions."""
        return self.services.transport.mailboxes[default_data.ADDRESS]

    apply_seed = seeding.apply_seed

    async def serve(self, route: Route[Any], request: web.Request) -> web.StreamResponse:
        """Serve one API request or a batch."""
        # The quota window is a minute, so it does not matter whether a request is charged before or after the delay.
        await self.context.wait_if_delayed()
        http_request = await HttpRequest.from_aiohttp(request)
        return (
            await (self._serve_batch(http_request) if isinstance(route, Batch) else self._serve_single(http_request))
        ).response

    async def unknown_route_response(self, request: web.Request, _: int) -> web.StreamResponse:
        """Serve a request on an unlisted route, which may be a read that was sent as a POST."""
        return (await self._serve_single(await HttpRequest.from_aiohttp(request))).response

    async def _serve_single(self, http_request: HttpRequest) -> Reply:
        """Return the response to a single request."""
        ledger = self.services.quotas
        try:
            request = self._read_request(http_request)
            if isinstance(request, Reply):
                return request
            weight = ledger.reserve_slot(request.mailbox.address, inner=False)
        except ApiError as error:
            return error.reply
        try:
            await self._simulate_latency()
            return self._perform(request)
        finally:
            ledger.release_slot(request.mailbox.address, weight)

    async def _serve_batch(self, outer: HttpRequest) -> Reply:
        """Return the response to a batch of requests."""
        inner_requests = read_batch(outer)
        ledger, entered = self.services.quotas, list[tuple[str, int]]()
        requests = [self._read_inner(http_request, entered) for _, http_request in inner_requests]
        try:
            await self._simulate_latency()
            replies = [request if isinstance(request, Reply) else self._perform(request) for request in requests]
        finally:
            for user, weight in entered:
                ledger.release_slot(user, weight)
        timestamp = self.context.clock.now()
        for (_, http_request), reply in zip(inner_requests, replies, strict=True):
            self.context.request_log.append(
                RecordedRequest(timestamp, http_request.verb, http_request.path, reply.status)
            )
        parts = [(content_id, reply) for (content_id, _), reply in zip(inner_requests, replies, strict=True)]
        return write_batch(parts, f"batch_{self.context.request_id()}")

    def _read_inner(self, http_request: HttpRequest, entered: list[tuple[str, int]]) -> ApiRequest | Reply:
        """Return the parsed request of a batch, or an immediate response.

        Its concurrency slots are added to *entered*.
        """
        fault = self.context.fault_for(http_request.verb, http_request.path, (http_request.token,), kind="status")
        if fault is not None:
            fault_response = fault.response()
            content = fault_response.body if isinstance(fault_response.body, bytes) else b""
            return Reply(fault_response.status, content, dict(fault_response.headers))
        try:
            request = self._read_request(http_request, inner=True)
            if isinstance(request, ApiRequest):
                user = request.mailbox.address
                entered.append((user, self.services.quotas.reserve_slot(user, inner=True)))
        except ApiError as error:
            return error.reply
        return request

    def _read_request(self, http_request: HttpRequest, *, inner: bool = False) -> ApiRequest | Reply:
        """Authorise and parse *http_request*. A piece of an upload is answered immediately."""
        prefix = next((prefix for prefix in uploads.PREFIXES if http_request.path.startswith(f"{prefix}/")), "")
        if inner and (prefix or http_request.path in PATHS):
            raise mail_errors.invalid("Batch requests may not contain uploads or other batch requests.")
        if prefix and http_request.verb == "PUT" and http_request.first("upload_id"):
            return self._uploads.append_piece(http_request)
        request = self._parse(http_request, prefix)
        return (
            self._uploads.start(http_request, request) if _upload_type(http_request, prefix) == "resumable" else request
        )

    def _parse(self, http_request: HttpRequest, prefix: str) -> ApiRequest:
        match = resolve(http_request.verb, http_request.path.removeprefix(prefix))
        if match is None or (prefix and not match[0].uploads):
            raise mail_errors.page_not_found(http_request.verb, http_request.path)
        method, ids = match
        token = self._authorise(http_request, method)
        mailbox: Mailbox = token.grant.account
        query = method.parse_query(http_request.query)
        if query.get("alt", "json") != "json":
            raise mail_errors.invalid_value("alt", "enum", json.dumps(query["alt"]))
        if ids["userId"].lower() not in {"me", mailbox.address}:
            raise mail_errors.delegation_denied(ids["userId"])
        mask = body_schemas.read_mask(query["fields"], method.response_shape) if query.get("fields") else None
        body, media = self._read_content(http_request, method, _upload_type(http_request, prefix))
        return ApiRequest(method, mailbox, frozenset(token.scopes), ids, query, self.context.knobs, body, media, mask)

    def _authorise(self, http_request: HttpRequest, method: ApiRoute) -> Token:
        """Return the token that authorises *http_request* to use *method*."""
        if self.context.knobs["force"]:
            raise mail_errors.forced(self.context.knobs["force"], method.rpc, self.context.now())
        if not http_request.token:
            raise mail_errors.missing_credential(method.rpc)
        token = require(self.oauth.allowed(http_request.token), mail_errors.invalid_credential())
        if method.scopes.isdisjoint(token.scopes):
            raise mail_errors.missing_scope(method.rpc)
        return token

    def _read_content(
        self, http_request: HttpRequest, method: ApiRoute, upload_type: str
    ) -> tuple[dict[str, Any], bytes | None]:
        """Return the JSON body and the uploaded message."""
        if len(http_request.body) > (MAX_UPLOAD_BYTES if upload_type else self.context.knobs["json_bytes"]):
            raise (
                mail_errors.too_large()
                if upload_type
                else mail_errors.payload_too_large(self.context.knobs["json_bytes"])
            )
        if upload_type == "media":
            return {}, uploads.read_simple_upload(http_request)
        if upload_type == "multipart":
            metadata, media = uploads.read_multipart_upload(http_request)
            return body_schemas.read_json(metadata, method.body or {}), media
        return ({} if method.body is None else body_schemas.read_json(http_request.body, method.body)), None

    def _perform(self, request: ApiRequest) -> Reply:
        """Charge and perform a request, and return its response."""
        try:
            self.services.quotas.charge(request.mailbox.address, request.method.units)
            response = request.method.handler(self.services, request)
        except ApiError as error:
            return error.reply
        if response is None:
            return Reply(204)
        return Reply.json(
            body_schemas.apply_mask(response, request.mask), pretty=request.query.get("prettyPrint") == "true"
        )

    async def _simulate_latency(self) -> None:
        """Wait for the simulated latency, so that simultaneous requests overlap."""
        if self.context.knobs["limits"] and self.context.knobs["latency_seconds"]:
            await self.context.simulate_work(self.context.knobs["latency_seconds"])


def _upload_type(http_request: HttpRequest, prefix: str) -> str:
    """Return the upload type of *http_request*, empty if it is not an upload."""
    if not prefix:
        return ""
    upload_type = http_request.first("uploadType") or http_request.first("upload_protocol")
    if upload_type not in UPLOAD_TYPES:
        raise mail_errors.invalid(f"Invalid value for parameter uploadType: {upload_type}")
    return upload_type or ("resumable" if prefix.startswith("/resumable") else "media")
