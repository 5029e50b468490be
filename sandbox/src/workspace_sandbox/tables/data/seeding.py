"""Bases with their tables and records, from a seed file."""

from typing import TYPE_CHECKING, Any

from workspace_sandbox.kit.state.seed_file_values import SeedValue
from workspace_sandbox.tables.data import default_data
from workspace_sandbox.tables.data.default_data_builder import CHECK, ISO_DATE, STARS, choices, date_time
from workspace_sandbox.tables.data.record_operations import Workspace, WriteOptions
from workspace_sandbox.tables.data.state import Base, Field, Table, View
from workspace_sandbox.tables.error_responses import ApiError

if TYPE_CHECKING:
    from workspace_sandbox.tables.emulator import TablesEmulator

OPTIONS: dict[str, Any] = {
    **dict.fromkeys(("singleLineText", "multilineText", "richText", "email", "url", "phoneNumber")),
    "number": {"precision": 2},
    "currency": {"precision": 2, "symbol": "€"},
    "percent": {"precision": 1},
    "rating": STARS,
    "checkbox": CHECK,
    "date": {"dateFormat": ISO_DATE},
    "dateTime": date_time("utc"),
    "multipleAttachments": {"isReversed": False},
}
SELECT_TYPES = ("singleSelect", "multipleSelects")


def apply_seed(airtable: "TablesEmulator", data: SeedValue) -> dict[str, Any]:
    """Create the bases of *data*, visible to the token. Returns the identifiers by name, and records in order."""
    data.check_object("bases")
    workspace = airtable.workspace
    bases = [item.check_object("name", "tables", required="name") for item in data.list_items("bases")]
    return {"bases": {item.text("name"): _base(workspace, item) for item in bases}}


def _base(workspace: Workspace, seed_value: SeedValue) -> dict[str, Any]:
    base = Base(
        workspace.new_id("app"),
        seed_value.text("name"),
        "create",
        [],
        default_data.PEOPLE,
        {default_data.COLLEAGUE.id: "edit"},
    )
    workspace.bases.append(base)
    tables = [
        item.check_object("name", "fields", "records", required="name") for item in seed_value.list_items("tables")
    ]
    return {"base_id": base.id, "tables": {item.text("name"): _table(workspace, base, item) for item in tables}}


def _table(workspace: Workspace, base: Base, seed_value: SeedValue) -> dict[str, Any]:
    columns = SeedValue(seed_value.value.get("fields", {"Name": "singleLineText"}), (*seed_value.path, "fields"))
    fields = [_field(workspace, name, kind) for name, kind in columns.items()]
    if not fields:
        raise columns.error("A table needs at least one field.")
    table = Table(
        workspace.new_id("tbl"), seed_value.text("name"), fields, [View(workspace.new_id("viw"), "Grid view")]
    )
    base.tables.append(table)
    return {
        "table_id": table.id,
        "records": [_record(workspace, base, table, item) for item in seed_value.list_items("records")],
    }


def _field(workspace: Workspace, name: str, seed_value: SeedValue) -> Field:
    kind, options = seed_value.value, None
    if isinstance(kind, dict) and len(kind) == 1 and next(iter(kind)) in SELECT_TYPES:
        kind = next(iter(kind))
        options = choices(workspace.new_id, [item.as_text() for item in seed_value.list_items(kind)])
    elif kind not in OPTIONS:
        raise seed_value.error(
            f"Unknown field type; allowed: {', '.join((*OPTIONS, *SELECT_TYPES))}, the last two with names."
        )
    return Field(workspace.new_id("fld"), name, kind, options or OPTIONS[kind])


def _record(workspace: Workspace, base: Base, table: Table, seed_value: SeedValue) -> str:
    cells = {name: value.value for name, value in seed_value.items()}
    try:
        (record,) = workspace.create(base, table, [cells], WriteOptions(default_data.OWNER, typecast=True))
    except ApiError as error:
        raise seed_value.error(error.message or error.type) from error
    return record.id
