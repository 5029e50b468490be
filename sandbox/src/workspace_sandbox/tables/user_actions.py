"""User actions: what a colleague does in Airtable."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.kit.input_validation import json_object
from workspace_sandbox.kit.user_actions import (
    DELIVERIES,
    ActionField,
    UserAction,
    UserActions,
    optional,
    reader_for,
    text,
)
from workspace_sandbox.tables import error_responses
from workspace_sandbox.tables.api import comments
from workspace_sandbox.tables.data import default_data, record_queries
from workspace_sandbox.tables.data.record_operations import WriteOptions
from workspace_sandbox.tables.data.state import Base, Table, find
from workspace_sandbox.tables.data.table_definitions import Definitions

if TYPE_CHECKING:
    from workspace_sandbox.tables.emulator import TablesEmulator

ActionResult = dict[str, Any]
MANUAL = WriteOptions(default_data.COLLEAGUE, typecast=True)


def _create_record(airtable: "TablesEmulator", base: Base, key: str, fields: Mapping[str, Any]) -> ActionResult:
    table = _table(base, key)
    (record,) = airtable.workspace.create(base, table, [fields], MANUAL)
    return airtable.reader(base).record(table, record)


def _update_record(
    airtable: "TablesEmulator", base: Base, key: str, record_id: str, fields: Mapping[str, Any]
) -> ActionResult:
    table = _table(base, key)
    (record,) = airtable.workspace.update(base, table, [(record_id, fields)], MANUAL)
    return airtable.reader(base).record(table, record)


def _delete_record(airtable: "TablesEmulator", base: Base, key: str, record_id: str) -> ActionResult:
    airtable.workspace.delete(base, _table(base, key), [record_id])
    return {"id": record_id, "deleted": True}


def _rename_field(_: "TablesEmulator", base: Base, key: str, column: str, name: str) -> ActionResult:
    match = record_queries.get_column(_table(base, key), column)
    if not name.strip():
        raise error_responses.invalid_request("A field must have a name")
    match.name = name
    return {"field_id": match.id, "name": match.name}


def _add_field(
    airtable: "TablesEmulator", base: Base, key: str, name: str, kind: str, *, options: Any = None
) -> ActionResult:
    definition = {"name": name, "type": kind, "options": options}
    return Definitions(airtable.workspace, base).field(_table(base, key), definition).to_json()


def _comment(airtable: "TablesEmulator", base: Base, key: str, record_id: str, content: str) -> ActionResult:
    record = require(_table(base, key).records.get(record_id), ValueError(f"record {record_id!r} does not exist"))
    new_comment = comments.add(
        record, airtable.workspace.new_id("com"), default_data.COLLEAGUE, content, airtable.context.now()
    )
    return {"comment_id": new_comment.id}


def _base(airtable: "TablesEmulator", value: Any) -> Base:
    return require(airtable.workspace.base(str(value)), ValueError(f"is not a known base: {value!r}"))


def _table(base: Base, key: str) -> Table:
    return require(find(base.tables, key), ValueError(f"table {key!r} does not exist"))


TABLE = (ActionField("base_id", "the id of the base", _base), ActionField("table", "the table, by name or id", text))
RECORD = (*TABLE, ActionField("record_id", "the id of the record", text))
FIELDS = ActionField("fields", "values by field name", reader_for(json_object))
NAME = ActionField("name", "the new name", text)
RECORD_RESULT = "the record in the API's format"

USER_ACTIONS: UserActions = {
    "create_record": UserAction(_create_record, "Creates a record as a colleague.", (*TABLE, FIELDS), RECORD_RESULT),
    "update_record": UserAction(_update_record, "Updates a record as a colleague.", (*RECORD, FIELDS), RECORD_RESULT),
    "delete_record": UserAction(_delete_record, "Deletes a record as a colleague.", RECORD, "`id`, `deleted`"),
    "rename_field": UserAction(
        _rename_field,
        "Renames a field.",
        (*TABLE, ActionField("field", "the field, by name or id", text), NAME),
        "`field_id`, `name`",
    ),
    "add_field": UserAction(
        _add_field,
        "Adds a field to a table.",
        (
            *TABLE,
            NAME.with_description("the name of the field"),
            ActionField("type", "the type of the field", text),
            optional("options", "the options of the type"),
        ),
        "the field in the API's format",
    ),
    "comment": UserAction(
        _comment,
        "Adds a comment to a record as a colleague.",
        (*RECORD, ActionField("text", "the text of the comment", text)),
        "`comment_id`",
    ),
    "deliveries": DELIVERIES,
}
