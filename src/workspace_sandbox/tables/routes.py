"""Every request that is answered: what serves it, and what the caller must have for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.kit.routes import Page, Route
from workspace_sandbox.tables import attachments, bases, comments, records, subscriptions
from workspace_sandbox.tables.access import Authorisations
from workspace_sandbox.tables.call import Call

READ, WRITE = "data.records:read", "data.records:write"
SCHEMA, DEFINE = "schema.bases:read", "schema.bases:write"
COMMENTS, COMMENT = "data.recordComments:read", "data.recordComments:write"
LISTEN = "webhook:manage"
TABLE, RECORD = "/v0/{base}/{table}", "/v0/{base}/{table}/{record}"
TABLES, WEBHOOKS = "/v0/meta/bases/{base}/tables", "/v0/bases/{base}/webhooks"
UPLOAD = "/v0/{base}/{record}/{field}/uploadAttachment"


@dataclass(frozen=True, kw_only=True)
class Endpoint(Route[Callable[[Call], dict[str, Any]]]):
    """A request that is made with a token, the scope that it must have, and the role of its user in the base."""

    scope: str | None = None
    permission: str = "none"

    @property
    def writes(self) -> bool:
        """Whether it changes what is in a base."""
        return self.scope in {WRITE, DEFINE}


def _reads(method: str, path: str, handler: Callable[[Call], dict[str, Any]], lacks: str = "") -> Endpoint:
    return Endpoint(method=method, path=path, handler=handler, scope=READ, permission="read", lacks=lacks)


def _writes(method: str, path: str, handler: Callable[[Call], dict[str, Any]], host: str = "base") -> Endpoint:
    return Endpoint(method=method, path=path, handler=handler, host=host, scope=WRITE, permission="edit")


def _defines(method: str, path: str, handler: Callable[[Call], dict[str, Any]], lacks: str = "") -> Endpoint:
    return Endpoint(method=method, path=path, handler=handler, scope=DEFINE, permission="create", lacks=lacks)


def _listens(
    method: str, path: str, handler: Callable[[Call], dict[str, Any]], permission: str = "create", lacks: str = ""
) -> Endpoint:
    return Endpoint(
        method=method, path=f"{WEBHOOKS}{path}", handler=handler, scope=LISTEN, permission=permission, lacks=lacks
    )


def _comments(method: str, path: str, handler: Callable[[Call], dict[str, Any]], lacks: str = "") -> Endpoint:
    scope, permission = (COMMENTS, "read") if method == "GET" else (COMMENT, "comment")
    path = f"{RECORD}/comments{path}"
    return Endpoint(method=method, path=path, handler=handler, scope=scope, permission=permission, lacks=lacks)


ROUTES: Sequence[Endpoint | Page] = (
    Endpoint(method="GET", path="/v0/meta/whoami", handler=bases.whoami),
    Endpoint(method="GET", path="/v0/meta/bases", handler=bases.list_bases, scope=SCHEMA),
    Endpoint(method="POST", path="/v0/meta/bases", handler=bases.create_base, scope=DEFINE),
    Endpoint(
        method="GET",
        path=TABLES,
        handler=bases.get_base_schema,
        scope=SCHEMA,
        permission="read",
    ),
    _defines("POST", TABLES, bases.create_table),
    _defines("PATCH", f"{TABLES}/{{table}}", bases.update_table, lacks="date dependencies"),
    _defines("POST", f"{TABLES}/{{table}}/fields", bases.create_field),
    _defines("PATCH", f"{TABLES}/{{table}}/fields/{{field}}", bases.update_field),
    _listens("POST", "", subscriptions.create_webhook, lacks="views as a scope, sources of forms"),
    _listens("GET", "", subscriptions.list_webhooks, "read"),
    _listens("DELETE", "/{webhook}", subscriptions.delete_webhook),
    _listens("POST", "/{webhook}/enableNotifications", subscriptions.enable_notifications),
    _listens("POST", "/{webhook}/refresh", subscriptions.refresh_webhook),
    _listens("GET", "/{webhook}/payloads", subscriptions.list_payloads, "read", lacks="computed fields, views"),
    _reads(
        "GET",
        TABLE,
        records.list_records,
        lacks="text is not localised",
    ),
    _reads("POST", f"{TABLE}/listRecords", records.list_records_by_body, lacks="as GET"),
    _writes("POST", TABLE, records.create_records),
    _writes("PATCH", TABLE, records.update_records),
    _writes("PUT", TABLE, records.update_records),
    _writes("DELETE", TABLE, records.delete_records),
    _reads("GET", RECORD, records.get_record, lacks="as the list"),
    _writes("PATCH", RECORD, records.update_record),
    _writes("PUT", RECORD, records.update_record),
    _writes("DELETE", RECORD, records.delete_record),
    _comments("GET", "", comments.list_comments, lacks="reactions, files"),
    _comments("POST", "", comments.create_comment),
    _comments("PATCH", "/{comment}", comments.update_comment),
    _comments("DELETE", "/{comment}", comments.delete_comment),
    _writes("POST", UPLOAD, attachments.upload_attachment, host="content"),
    Page(
        method="GET",
        path="/oauth2/v1/authorize",
        handler=Authorisations.authorize,
        lacks="workspaces are not chosen whole",
    ),
    Page(method="POST", path="/oauth2/v1/authorize", handler=Authorisations.authorize),
    Page(method="POST", path="/oauth2/v1/token", handler=Authorisations.token),
    Page(
        method="GET",
        path=attachments.PATH,
        handler=attachments.serve,
        host="content",
        lacks="thumbnails are the whole picture",
    ),
)
"""Whatever else the vendor has (views, interfaces, sync, enterprise) is answered as an unknown route."""
