"""Bases with their tables and records, from the plain words of a seed."""

from typing import TYPE_CHECKING, Any

from workspace_sandbox.kit.sowing import SeedValue
from workspace_sandbox.tables import seed
from workspace_sandbox.tables.seeding import CHECK, ISO_DATE, STARS, choices, date_time
from workspace_sandbox.tables.state import Base, Field, Table, View
from workspace_sandbox.tables.wire import Refusal
from workspace_sandbox.tables.workspace import Workspace, WriteOptions

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
CHOSEN = ("singleSelect", "multipleSelects")


def sow(airtable: "TablesEmulator", given: SeedValue) -> dict[str, Any]:
    """Create what *given* tells, seen by the token; the identifiers by name, of records in their order."""
    given.object_of("bases")
    workspace = airtable.workspace
    bases = [one.object_of("name", "tables", needs="name") for one in given.each("bases")]
    return {"bases": {one.text("name"): _base(workspace, one) for one in bases}}


def _base(workspace: Workspace, given: SeedValue) -> dict[str, Any]:
    base = Base(workspace.new_id("app"), given.text("name"), "create", [], seed.PEOPLE, {seed.COLLEAGUE.id: "edit"})
    workspace.bases.append(base)
    tables = [one.object_of("name", "fields", "records", needs="name") for one in given.each("tables")]
    return {"base_id": base.id, "tables": {one.text("name"): _table(workspace, base, one) for one in tables}}


def _table(workspace: Workspace, base: Base, given: SeedValue) -> dict[str, Any]:
    columns = SeedValue(given.value.get("fields", {"Name": "singleLineText"}), (*given.path, "fields"))
    fields = [_field(workspace, name, kind) for name, kind in columns.items()]
    if not fields:
        raise columns.wrong("A table has a field at least.")
    table = Table(workspace.new_id("tbl"), given.text("name"), fields, [View(workspace.new_id("viw"), "Grid view")])
    base.tables.append(table)
    return {"table_id": table.id, "records": [_record(workspace, base, table, one) for one in given.each("records")]}


def _field(workspace: Workspace, name: str, given: SeedValue) -> Field:
    kind, options = given.value, None
    if isinstance(kind, dict) and len(kind) == 1 and next(iter(kind)) in CHOSEN:
        kind = next(iter(kind))
        options = choices(workspace.new_id, [one.as_text() for one in given.each(kind)])
    elif kind not in OPTIONS:
        raise given.wrong(
            f"No such type of field; there are {', '.join((*OPTIONS, *CHOSEN))}, the last two with names."
        )
    return Field(workspace.new_id("fld"), name, kind, options or OPTIONS[kind])


def _record(workspace: Workspace, base: Base, table: Table, given: SeedValue) -> str:
    cells = {name: value.value for name, value in given.items()}
    try:
        (record,) = workspace.create(base, table, [cells], WriteOptions(seed.OWNER, typecast=True))
    except Refusal as refusal:
        raise given.wrong(refusal.message or refusal.type) from refusal
    return record.id
