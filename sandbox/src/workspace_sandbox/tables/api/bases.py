"""The routes of the token's user, bases, tables and fields."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.tables import error_responses
from workspace_sandbox.tables.data import record_queries, table_definitions
from workspace_sandbox.tables.data.state import Base, Table, find
from workspace_sandbox.tables.data.table_definitions import Definitions
from workspace_sandbox.tables.request import ApiRequest


def whoami(request: ApiRequest) -> dict[str, Any]:
    """Return the token's user. Scopes are only included for OAuth tokens."""
    email = {"email": request.access.user.email} if "user.email:read" in request.access.scopes else {}
    scopes = {"scopes": sorted(request.access.scopes)} if request.access.client_id else {}
    return {"id": request.access.user.id, **scopes, **email}


def list_bases(request: ApiRequest) -> dict[str, Any]:
    """List the bases that the token can access. The offset is the first base of the next page."""
    visible = [base for base in request.workspace.bases if request.permission(base) != "none"]
    ids = [f"itr{base.id[3:]}/{base.id}" for base in visible]
    offset = request.query.get("offset")
    if offset is not None and offset not in ids:
        raise error_responses.expired_offset()
    start = ids.index(offset) if offset else 0
    end = start + int(request.workspace.context.knobs["bases_per_page"])
    page = [
        {"id": base.id, "name": base.name, "permissionLevel": request.permission(base)} for base in visible[start:end]
    ]
    return {"bases": page, **({"offset": ids[end]} if end < len(visible) else {})}


def get_base_schema(request: ApiRequest) -> dict[str, Any]:
    """Return all tables of a base."""
    visible = "visibleFieldIds" in record_queries.list_parameter(request.query, "include")
    return {"tables": [table.to_json(visible=visible) for table in request.base.tables]}


def create_base(request: ApiRequest) -> dict[str, Any]:
    """Create a base with its tables, in the workspace of the token's user."""
    if request.body.get("workspaceId") != request.workspace.id:
        raise error_responses.no_such_model()
    user, people = request.access.user, request.workspace.people
    base = Base(
        request.workspace.new_id("app"),
        table_definitions.read_name(request.body),
        "none",
        [],
        people,
        {user.id: "create"},
    )
    raw_tables = request.body.get("tables")
    if not isinstance(raw_tables, list) or not raw_tables:
        raise error_responses.invalid_request("A base must have at least one table")
    for definition in raw_tables:
        _add_table(request, base, definition)
    request.workspace.bases.append(base)
    return {"id": base.id, "tables": [table.to_json(visible=False) for table in base.tables]}


def create_table(request: ApiRequest) -> dict[str, Any]:
    """Create a table with its fields."""
    return _add_table(request, request.base, request.body).to_json(visible=False)


def update_table(request: ApiRequest) -> dict[str, Any]:
    """Change the name or description of a table."""
    table = request.table()
    table_definitions.rename_table(request.base, table, request.body)
    return table.to_json(visible=False)


def create_field(request: ApiRequest) -> dict[str, Any]:
    """Create a field. A link field also creates its inverse in the linked table."""
    return Definitions(request.workspace, request.base).field(request.writable_table(), request.body).to_json()


def update_field(request: ApiRequest) -> dict[str, Any]:
    """Change the name or description of a field."""
    table = request.table()
    column = require(find(table.fields, request.path["field"]), error_responses.not_found())
    table_definitions.rename_field(table, column, request.body)
    return column.to_json()


def _add_table(request: ApiRequest, base: Base, definition: Any) -> Table:
    if not isinstance(definition, Mapping):
        raise error_responses.invalid_request()
    pending = Definitions(request.workspace, base)
    table = pending.table(definition)
    pending.store(table)
    return table
