"""What somebody does in the application: making a record, giving a field another name."""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from workspace_sandbox.tables import queries, seed, wire
from workspace_sandbox.tables.state import Base, Field, Table, find
from workspace_sandbox.tables.values import Reader
from workspace_sandbox.tables.workspace import Manner, Workspace

Read = Callable[[Base], Reader]


def perform(workspace: Workspace, read: Read, action: Mapping[str, Any]) -> dict[str, Any]:
    """Do ``create_record`` or ``rename_field``; ``ValueError`` for anything else, or where it is refused."""
    acts = {"create_record": _create_record, "rename_field": _rename_field}
    act = acts.get(action.get("action", ""))
    if act is None:
        raise ValueError(f"no action {action.get('action')!r}; there are {', '.join(acts)}")
    try:
        return act(workspace, read, action)
    except wire.Refusal as refusal:
        raise ValueError(refusal.message or refusal.type) from refusal
    except (KeyError, TypeError, AttributeError) as fault:
        raise ValueError(f"the action lacks something: {fault}") from fault


def _create_record(workspace: Workspace, read: Read, action: Mapping[str, Any]) -> dict[str, Any]:
    base, fields = _base(workspace, action), action["fields"]
    table = _table(base, action)
    (record,) = workspace.create(base, table, [fields], Manner(seed.COLLEAGUE, typecast=True))
    return read(base).record(table, record)


def _rename_field(workspace: Workspace, _: Read, action: Mapping[str, Any]) -> dict[str, Any]:
    table = _table(_base(workspace, action), action)
    column = _renamed(table, action["field"], action["name"])
    return {"field_id": column.id, "name": column.name}


def _base(workspace: Workspace, action: Mapping[str, Any]) -> Base:
    return workspace.base(action["base_id"]) or _unknown("base", action["base_id"])


def _table(base: Base, action: Mapping[str, Any]) -> Table:
    return find(base.tables, action["table"]) or _unknown("table", action["table"])


def _unknown(kind: str, key: Any) -> NoReturn:
    raise ValueError(f"no {kind} {key!r}")


def _renamed(table: Table, key: str, name: str) -> Field:
    column = queries.column_of(table, key)
    if not name.strip():
        raise wire.invalid_request("A field must have a name")
    column.name = name
    return column
