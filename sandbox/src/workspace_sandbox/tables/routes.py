"""The routes that the emulator serves, with their required scopes and roles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.kit.routes import PageRoute, Route, page
from workspace_sandbox.tables.access import AirtableOAuth
from workspace_sandbox.tables.api import attachments, bases, comments, records, webhooks
from workspace_sandbox.tables.request import ApiRequest

READ, WRITE = "data.records:read", "data.records:write"
SCHEMA, DEFINE = "schema.bases:read", "schema.bases:write"
COMMENTS, COMMENT = "data.recordComments:read", "data.recordComments:write"
LISTEN = "webhook:manage"


@dataclass(frozen=True, kw_only=True)
class ApiRoute(Route[Callable[[ApiRequest], dict[str, Any]]]):
    """A route with its required token scope and role in the base."""

    scope: str | None = None
    permission: str = "none"

    @property
    def writes(self) -> bool:
        """Whether it changes a base."""
        return self.scope in {WRITE, DEFINE}


endpoint = ApiRoute.at("/v0")
reads = ApiRoute.at("/v0", scope=READ, permission="read")
writes = ApiRoute.at("/v0", scope=WRITE, permission="edit")
defines = ApiRoute.at("/v0/meta/bases/{base}", scope=DEFINE, permission="create")
listens = ApiRoute.at("/v0/bases/{base}/webhooks", scope=LISTEN, permission="create")
comment = ApiRoute.at("/v0/{base}/{table}/{record}/comments", scope=COMMENT, permission="comment")

ROUTES: Sequence[ApiRoute | PageRoute] = (
    endpoint("GET /meta/whoami", bases.whoami),
    endpoint("GET /meta/bases", bases.list_bases, scope=SCHEMA),
    endpoint("POST /meta/bases", bases.create_base, scope=DEFINE),
    endpoint("GET /meta/bases/{base}/tables", bases.get_base_schema, scope=SCHEMA, permission="read"),
    defines("POST /tables", bases.create_table),
    defines("PATCH /tables/{table}", bases.update_table, "date dependencies"),
    defines("POST /tables/{table}/fields", bases.create_field),
    defines("PATCH /tables/{table}/fields/{field}", bases.update_field),
    listens("POST ", webhooks.create_webhook, "views as a scope, sources of forms"),
    listens("GET ", webhooks.list_webhooks, permission="read"),
    listens("DELETE /{webhook}", webhooks.delete_webhook),
    listens("POST /{webhook}/enableNotifications", webhooks.enable_notifications),
    listens("POST /{webhook}/refresh", webhooks.refresh_webhook),
    listens("GET /{webhook}/payloads", webhooks.list_payloads, "computed fields, views", permission="read"),
    reads("GET /{base}/{table}", records.list_records, "text is not localised"),
    reads("POST /{base}/{table}/listRecords", records.list_records_by_body, "as GET"),
    writes("POST /{base}/{table}", records.create_records),
    writes("PATCH /{base}/{table}", records.update_records),
    writes("PUT /{base}/{table}", records.update_records),
    writes("DELETE /{base}/{table}", records.delete_records),
    reads("GET /{base}/{table}/{record}", records.get_record, "as for the list of records"),
    writes("PATCH /{base}/{table}/{record}", records.update_record),
    writes("PUT /{base}/{table}/{record}", records.update_record),
    writes("DELETE /{base}/{table}/{record}", records.delete_record),
    comment("GET ", comments.list_comments, "reactions, files", scope=COMMENTS, permission="read"),
    comment("POST ", comments.create_comment),
    comment("PATCH /{comment}", comments.update_comment),
    comment("DELETE /{comment}", comments.delete_comment),
    writes("POST /{base}/{record}/{field}/uploadAttachment", attachments.upload_attachment, host="content"),
    page("GET /oauth2/v1/authorize", AirtableOAuth.authorize, "complete workspaces cannot be selected"),
    page("POST /oauth2/v1/authorize", AirtableOAuth.authorize),
    page("POST /oauth2/v1/token", AirtableOAuth.token),
    page(f"GET {attachments.PATH}", attachments.serve, "thumbnails are the complete image", host="content"),
)
"""All routes. Views, interfaces, sync and enterprise routes have the response of an unknown URL."""
