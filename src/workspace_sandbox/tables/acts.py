"""What somebody does in the application."""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from workspace_sandbox.kit.acts import Act
from workspace_sandbox.tables import comments, queries, seed, wire
from workspace_sandbox.tables.definitions import Definitions
from workspace_sandbox.tables.state import Base, Field, Table, find
from workspace_sandbox.tables.values import Reader
from workspace_sandbox.tables.workspace import Manner, Workspace

Read = Callable[[Base], Reader]


def perform(workspace: Workspace, read: Read, action: Mapping[str, Any]) -> dict[str, Any]:
    """Do *action*; ``ValueError`` for one that there is not, or where it is refused."""
    act = ACTS.get(action.get("action", ""))
    if act is None:
        raise ValueError(f"no action {action.get('action')!r}; there are {', '.join(ACTS)}")
    try:
        return act.do(workspace, read, action)
    except wire.Refusal as refusal:
        raise ValueError(refusal.message or refusal.type) from refusal
    except (KeyError, TypeError, AttributeError) as fault:
        raise ValueError(f"the action lacks something: {fault}") from fault


def _create_record(workspace: Workspace, read: Read, action: Mapping[str, Any]) -> dict[str, Any]:
    base, fields = _base(workspace, action), action["fields"]
    table = _table(base, action)
    (record,) = workspace.create(base, table, [fields], Manner(seed.COLLEAGUE, typecast=True))
    return read(base).record(table, record)


def _update_record(workspace: Workspace, read: Read, action: Mapping[str, Any]) -> dict[str, Any]:
    base = _base(workspace, action)
    table = _table(base, action)
    row = (str(action["record_id"]), action["fields"])
    (record,) = workspace.update(base, table, [row], Manner(seed.COLLEAGUE, typecast=True))
    return read(base).record(table, record)


def _delete_record(workspace: Workspace, _: Read, action: Mapping[str, Any]) -> dict[str, Any]:
    base = _base(workspace, action)
    workspace.delete(base, _table(base, action), [str(action["record_id"])])
    return {"id": str(action["record_id"]), "deleted": True}


def _rename_field(workspace: Workspace, _: Read, action: Mapping[str, Any]) -> dict[str, Any]:
    table = _table(_base(workspace, action), action)
    column = _renamed(table, action["field"], action["name"])
    return {"field_id": column.id, "name": column.name}


def _add_field(workspace: Workspace, _: Read, action: Mapping[str, Any]) -> dict[str, Any]:
    base = _base(workspace, action)
    given = {"name": action["name"], "type": action["type"], "options": action.get("options")}
    return Definitions(workspace, base).field(_table(base, action), given).shape()


def _comment(workspace: Workspace, read: Read, action: Mapping[str, Any]) -> dict[str, Any]:
    base = _base(workspace, action)
    record = _table(base, action).records.get(action["record_id"]) or _unknown("record", action["record_id"])
    if not isinstance(action["text"], str):
        raise TypeError("text")
    made = comments.add(record, workspace.new_id("com"), seed.COLLEAGUE, action["text"], read(base).now)
    return {"comment_id": made.id}


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


TABLE = {"base_id": "the base", "table": "the table, by name or id"}
RECORD = TABLE | {"record_id": "the record"}
FIELDS = {"fields": "values by name of the field"}
SHOWN = "the record in the vendor's shape"

ACTS: Mapping[str, Act[Callable[[Workspace, Read, Mapping[str, Any]], dict[str, Any]]]] = {
    "create_record": Act(_create_record, "A colleague makes a record.", TABLE | FIELDS, answers=SHOWN),
    "update_record": Act(_update_record, "A colleague changes a record.", RECORD | FIELDS, answers=SHOWN),
    "delete_record": Act(_delete_record, "A colleague deletes a record.", RECORD, answers="`id`, `deleted`"),
    "rename_field": Act(
        _rename_field,
        "Gives a field another name.",
        TABLE | {"field": "the field, by name or id", "name": "the new name"},
        answers="`field_id`, `name`",
    ),
    "add_field": Act(
        _add_field,
        "Adds a field to a table.",
        TABLE | {"name": "its name", "type": "its type"},
        {"options": "what the type needs"},
        answers="the field in the vendor's shape",
    ),
    "comment": Act(
        _comment, "A colleague comments on a record.", RECORD | {"text": "the comment"}, answers="`comment_id`"
    ),
}
"""What can be done, by the names that ``action`` takes."""

SETTINGS: Mapping[str, Act[None]] = {
    "deliveries": Act(
        None,
        "Tells how pings of webhooks went.",
        answers="`deliveries`: `event_id`, `type`, `attempt`, `status`, `reason` of each",
    ),
}
"""What nobody does in the application; the emulator answers it."""
