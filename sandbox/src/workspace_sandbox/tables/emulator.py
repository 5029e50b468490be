"""Airtable over HTTP: authorisation, requests and test controls."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, ClassVar

from aiohttp import web

from workspace_sandbox.kit.emulator import Emulator
from workspace_sandbox.kit.input_validation import Field, non_negative_int, one_of, or_null
from workspace_sandbox.tables import error_responses
from workspace_sandbox.tables.access import SCOPES, TOKEN, Access, AirtableOAuth
from workspace_sandbox.tables.api import attachments
from workspace_sandbox.tables.data import default_data, record_queries, seeding
from workspace_sandbox.tables.data.cell_values import Reader
from workspace_sandbox.tables.data.state import PERMISSIONS, Base
from workspace_sandbox.tables.data.webhook_payloads import Comparison, take_snapshot
from workspace_sandbox.tables.deliberate_deviations import FALSE_FACTS
from workspace_sandbox.tables.deliveries import WebhookAction, WebhookSender
from workspace_sandbox.tables.rate_limits import RateLimiter
from workspace_sandbox.tables.request import ApiRequest, read_body
from workspace_sandbox.tables.routes import ROUTES, ApiRoute
from workspace_sandbox.tables.user_actions import USER_ACTIONS

DAY = 86_400

COMPRESSED_FROM_BYTES = 1024


class TablesEmulator(Emulator):
    """An emulator of Airtable with three bases, one of which is hidden from the token."""

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

    user_actions = USER_ACTIONS
    routes = ROUTES
    false_facts = FALSE_FACTS
    takes_trailing_slash = True
    errors = error_responses
    oauth: AirtableOAuth

    knob_readers: ClassVar[Mapping[str, Field]] = {
        "monthly_calls": or_null(non_negative_int),
        "next_write": one_of("", "503_retriable"),
        "permission_level": one_of("", *PERMISSIONS),
        "throttle_envelope": one_of("list", "object", "bare"),
    }

    def applications(self) -> Mapping[str, web.Application]:
        """Return a new application per host name. The content host also serves the sample file."""
        applications = super().applications()
        applications["content"].router.add_get(attachments.SAMPLE_PATH, attachments.serve_sample)
        return applications

    def create_default_data(self) -> None:
        """Build the default bases."""
        self.limits = RateLimiter(self.context)
        self.iterators = record_queries.ListIterators()
        self.workspace = default_data.build_workspace(self.context)
        self.oauth = AirtableOAuth(self.context, self.workspace)
        self._deliverer = WebhookSender(self.context, self.hooks)

    def credentials(self) -> dict[str, str]:
        """Return the personal access token."""
        return {"token": TOKEN}

    def examples(self) -> dict[str, Any]:
        """Return a table with all field types, one of its records, the other bases, and a file to attach."""
        file_url = self.context.addresses.get("content", "") + attachments.SAMPLE_PATH
        return {**default_data.examples(self.workspace), "file_url": file_url}

    def perform(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Perform a user action and notify the webhooks of its base."""
        base = self.workspace.base(str(action.get("base_id")))
        if base is None:
            return super().perform(action)
        with self._notify_webhooks(
            WebhookAction(base, "client", default_data.COLLEAGUE, base.role(default_data.COLLEAGUE))
        ):
            return super().perform(action)

    apply_seed = seeding.apply_seed

    async def serve(self, route: ApiRoute, request: web.Request) -> web.StreamResponse:
        """Authorise, throttle and serve a request."""
        access = self.oauth.access(request)
        self.limits.charge_token(access.token)
        base = self._base(access, request.match_info.get("base"))
        if "base" in request.match_info:
            self.limits.charge_base(base.id)
        await self.context.wait_if_delayed()
        self._check_permission(route, access, base)
        api_request = self._create_request(request, access, base, await read_body(request))
        self._fail_next_write(route)
        if not route.writes:
            return _json_response(request, route.handler(api_request))
        with self._notify_webhooks(WebhookAction(base, "publicApi", access.user, self._permission(access, base))):
            return _json_response(request, route.handler(api_request))

    @contextmanager
    def _notify_webhooks(self, action: WebhookAction) -> Iterator[None]:
        """Notify webhooks of the changes made inside. A rejected request changes nothing."""
        webhooks, base = self.workspace.webhooks, action.base
        has_webhooks = any(webhook.base_id == base.id for webhook in webhooks.values())
        before = take_snapshot(base) if has_webhooks else {}
        yield
        base.transactions += 1
        if has_webhooks:
            self._deliverer.notify(webhooks, action, Comparison(self.reader(base), before, take_snapshot(base)))

    def _base(self, access: Access, identifier: str | None) -> Base:
        """Return the base in the path. Without a base in the path, any base will do."""
        if identifier is None:
            return self.workspace.bases[0]
        if not identifier.startswith("app"):
            raise error_responses.not_found()
        base = self.workspace.base(identifier)
        if base is None or self._permission(access, base) == "none":
            raise error_responses.no_such_model()
        return base

    def _permission(self, access: Access, base: Base) -> str:
        """Return the user's role in *base*. The knob ``permission_level`` overrides it in accessible bases."""
        role = access.role(base)
        return role if role == "none" else self.context.knobs["permission_level"] or role

    def _check_permission(self, route: ApiRoute, access: Access, base: Base) -> None:
        role_index = PERMISSIONS.index(self._permission(access, base))
        if (route.scope and route.scope not in access.scopes) or role_index < PERMISSIONS.index(route.permission):
            raise error_responses.forbidden()

    def _create_request(self, request: web.Request, access: Access, base: Base, body: Mapping[str, Any]) -> ApiRequest:
        return ApiRequest(
            workspace=self.workspace,
            iterators=self.iterators,
            access=access,
            path=request.match_info,
            query=request.query,
            body=body,
            reader=self.reader(base),
            permission=partial(self._permission, access),
            is_put=request.method == "PUT",
            ping=partial(self._deliverer.ping, self.workspace.webhooks),
        )

    def reader(self, base: Base) -> Reader:
        """Return the reader of the records in *base*."""
        return Reader(base, self.context.clock.now(), partial(attachments.attachment_url, self.context))

    def _fail_next_write(self, route: ApiRoute) -> None:
        """Fail a valid write once, if the knob ``next_write`` requests it."""
        if route.writes and self.context.knobs["next_write"] == "503_retriable":
            self.context.knobs["next_write"] = ""
            raise error_responses.retriable()


def _json_response(request: web.Request, body: dict[str, Any]) -> web.Response:
    """Return *body* as JSON, compressed if it is large and the client accepts it."""
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
