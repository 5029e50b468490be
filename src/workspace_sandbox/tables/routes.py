"""Every request that is answered: what serves it, and what the caller must have for it."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from aiohttp import web

from workspace_sandbox.kit.routes import Route
from workspace_sandbox.tables import access, attachments, bases, records
from workspace_sandbox.tables.access import Authorisations
from workspace_sandbox.tables.call import Call

Host = Literal["base", "content"]

READ, WRITE, SCHEMA = "data.records:read", "data.records:write", "schema.bases:read"
TABLE, RECORD = "/v0/{base}/{table}", "/v0/{base}/{table}/{record}"
UPLOAD = "/v0/{base}/{record}/{field}/uploadAttachment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint(Route[Callable[[Call], dict[str, Any]]]):
    """A request that is made with a token, the scope that it must have, and the role of its user in the base."""

    host: Host = "base"
    scope: str | None = None
    permission: str = "none"

    @property
    def writes(self) -> bool:
        """Whether it changes something."""
        return self.scope == WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class Page(Route[Callable[[Authorisations, web.Request], Awaitable[web.Response]]]):
    """An address that is asked without a token."""

    host: Host = "base"


def _reads(method: str, path: str, handler: Callable[[Call], dict[str, Any]], lacks: str = "") -> Endpoint:
    return Endpoint(method=method, path=path, handler=handler, scope=READ, permission="read", lacks=lacks)


def _writes(method: str, path: str, handler: Callable[[Call], dict[str, Any]], host: Host = "base") -> Endpoint:
    return Endpoint(method=method, path=path, handler=handler, host=host, scope=WRITE, permission="edit")


ROUTES: Sequence[Endpoint | Page] = (
    Endpoint(method="GET", path="/v0/meta/whoami", handler=bases.whoami),
    Endpoint(method="GET", path="/v0/meta/bases", handler=bases.list_bases, scope=SCHEMA),
    Endpoint(
        method="GET",
        path="/v0/meta/bases/{base}/tables",
        handler=bases.get_base_schema,
        scope=SCHEMA,
        permission="read",
    ),
    _reads(
        "GET",
        TABLE,
        records.list_records,
        lacks="rarer formulas, text is not localised",
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
    _writes("POST", UPLOAD, attachments.upload_attachment, host="content"),
    Page(method="GET", path="/oauth2/v1/authorize", handler=access.authorize, lacks="workspaces are not chosen whole"),
    Page(method="POST", path="/oauth2/v1/authorize", handler=access.authorize),
    Page(method="POST", path="/oauth2/v1/token", handler=access.token),
    Page(
        method="GET",
        path=attachments.PATH,
        handler=attachments.serve,
        host="content",
        lacks="thumbnails are the whole picture",
    ),
)
"""Whatever else the vendor has (comments, webhooks, changing schemas, enterprise) is answered as an unknown route."""
