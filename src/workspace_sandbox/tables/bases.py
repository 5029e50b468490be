"""Whose the token is, the bases that it sees, their tables, and how all of these are made."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.tables import definitions, queries, wire
from workspace_sandbox.tables.call import Call
from workspace_sandbox.tables.definitions import Definitions
from workspace_sandbox.tables.state import Base, Table, find


def whoami(call: Call) -> dict[str, Any]:
    """Who the token is of; its scopes are told of OAuth tokens only."""
    email = {"email": call.access.user.email} if "user.email:read" in call.access.scopes else {}
    scopes = {"scopes": sorted(call.access.scopes)} if call.access.client_id else {}
    return {"id": call.access.user.id, **scopes, **email}


def list_bases(call: Call) -> dict[str, Any]:
    """A page of the bases that the token sees; the offset is the first base of the next page."""
    seen = [base for base in call.workspace.bases if call.permission(base) != "none"]
    ids = [f"itr{base.id[3:]}/{base.id}" for base in seen]
    offset = call.query.get("offset")
    if offset is not None and offset not in ids:
        raise wire.expired_offset()
    start = ids.index(offset) if offset else 0
    end = start + int(call.workspace.stage.knobs["bases_per_page"])
    page = [{"id": base.id, "name": base.name, "permissionLevel": call.permission(base)} for base in seen[start:end]]
    return {"bases": page, **({"offset": ids[end]} if end < len(seen) else {})}


def get_base_schema(call: Call) -> dict[str, Any]:
    """All tables of a base."""
    visible = "visibleFieldIds" in queries.listed(call.query, "include")
    return {"tables": [table.shape(visible=visible) for table in call.base.tables]}


def create_base(call: Call) -> dict[str, Any]:
    """A base with its tables, in the workspace of the token's user."""
    if call.body.get("workspaceId") != call.workspace.id:
        raise wire.no_such_model()
    user, people = call.access.user, call.workspace.people
    base = Base(call.workspace.new_id("app"), definitions.named(call.body), "none", [], people, {user.id: "create"})
    given = call.body.get("tables")
    if not isinstance(given, list) or not given:
        raise wire.invalid_request("A base must have at least one table")
    for about in given:
        _add_table(call, base, about)
    call.workspace.bases.append(base)
    return {"id": base.id, "tables": [table.shape(visible=False) for table in base.tables]}


def create_table(call: Call) -> dict[str, Any]:
    """A table with its fields."""
    return _add_table(call, call.base, call.body).shape(visible=False)


def update_table(call: Call) -> dict[str, Any]:
    """Another name or description of a table."""
    table = call.table()
    definitions.rename_table(call.base, table, call.body)
    return table.shape(visible=False)


def create_field(call: Call) -> dict[str, Any]:
    """A field of a table; one that links has another side in the table that it leads to."""
    return Definitions(call.workspace, call.base).field(call.written_table(), call.body).shape()


def update_field(call: Call) -> dict[str, Any]:
    """Another name or description of a field."""
    table = call.table()
    column = require(find(table.fields, call.path["field"]), wire.not_found())
    definitions.rename_field(table, column, call.body)
    return column.shape()


def _add_table(call: Call, base: Base, given: Any) -> Table:
    if not isinstance(given, Mapping):
        raise wire.invalid_request()
    made = Definitions(call.workspace, base)
    table = made.table(given)
    made.keep(table)
    return table
