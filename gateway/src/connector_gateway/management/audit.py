"""List, export and verify the audit trail."""

from typing import Annotated, Any, Literal

from pydantic import Field

from connector_gateway.kit.errors import InvalidCursor
from connector_gateway.kit.models import Identifier, Page, Result, UtcDatetime
from connector_gateway.management.list_parameters import ListParams
from connector_gateway.management.request import ManagementRequest, position_before
from connector_gateway.management.route_declaration import Resource

RESOURCE = Resource(
    "audit",
    columns=("sequence", "at", "actor", "act", "object_id", "outcome", "address", "surface", "count", "workspace_id"),
)


class ListAudit(ListParams):
    """The requested entries of the audit trail."""

    actor: Identifier | None = None
    """The name of an operator, the identifier of a key, ``cli``, ``connect_link`` or ``application``."""

    act: Annotated[str, Field(max_length=60)] | None = None
    """The kind of act, such as ``create_key``."""

    object_id: Identifier | None = None
    """The identifier of the changed object."""

    workspace_id: Identifier | None = None
    """Only acts in this workspace."""

    outcome: Annotated[str, Field(max_length=40)] | None = None
    """``ok``, or the code of the error by which it was rejected."""

    since: UtcDatetime | None = None
    """ISO 8601 date and time: returns acts at that time or later."""

    until: UtcDatetime | None = None
    """ISO 8601 date and time: returns acts before that time."""


class AuditEntry(Result):
    """One administrative act, or several rejected ones of a kind."""

    sequence: int
    """Its number; numbers have no gaps."""

    at: UtcDatetime
    actor: str
    """The name of an operator, the identifier of a key, ``cli``, ``connect_link``, ``application`` or ``anonymous``."""

    address: str | None
    """Network address of the client; null if there was none."""

    surface: Literal["http", "console", "cli", "connect", "hook"]
    act: str
    """The kind of act, such as ``create_key``: the ``operationId`` of its route, if it has one."""

    object_id: str
    """The identifier of the changed object."""

    workspace_id: str | None
    outcome: str
    """``ok``, or the code of the error by which it was rejected."""

    count: int
    """Number of acts; more than one only for rejected ones."""

    details: dict[str, Any]
    """Names of the changed or given values, never the secret ones themselves."""

    mac: str
    """Chains the entry to the previous one; ``connector-gateway audit verify`` checks it."""


@RESOURCE.route("GET /v1/audit", "list")
async def list_audit(request: ManagementRequest, params: ListAudit) -> Page[AuditEntry]:
    """List administrative acts, newest first, including rejected ones."""
    rows, more = await request.management.audit.page(
        before=_sequence(request.before),
        limit=params.limit,
        since=params.since.timestamp() if params.since else None,
        until=params.until.timestamp() if params.until else None,
        **params.model_dump(include={"actor", "act", "object_id", "workspace_id", "outcome"}),
    )
    return Page(
        items=[AuditEntry(**row) for row in rows], position=position_before(None if more is None else str(more))
    )


def _sequence(before: str | None) -> int | None:
    if before is None:
        return None
    if not (before.isdecimal() and before.isascii() and len(before) < 19):
        raise InvalidCursor("The cursor is not valid for the audit trail.", {"parameter": "cursor", "value": before})
    return int(before)
