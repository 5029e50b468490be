"""Whose the token is, the bases that it sees, and their tables."""

from typing import Any

from workspace_sandbox.tables import queries, wire
from workspace_sandbox.tables.call import Call


def whoami(call: Call) -> dict[str, Any]:
    """Who the token is of; its scopes are told of OAuth tokens only."""
    email = {"email": call.access.user.email} if "user.email:read" in call.access.scopes else {}
    scopes = {"scopes": sorted(call.access.scopes)} if call.access.is_oauth else {}
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
