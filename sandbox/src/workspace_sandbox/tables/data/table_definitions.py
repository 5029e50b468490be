"""Definitions of tables and fields in requests. All of a request is validated before anything is created."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.tables import error_responses
from workspace_sandbox.tables.data import cell_values
from workspace_sandbox.tables.data.atomic_cell_changes import COLOURS
from workspace_sandbox.tables.data.record_operations import Workspace
from workspace_sandbox.tables.data.state import Base, Field, Table, View, find

MAX_NAME_LENGTH = 255
MAX_DESCRIPTION_LENGTH = 20_000
PLAIN = ("singleLineText", "multilineText", "richText", "email", "url", "phoneNumber", "barcode")
PEOPLE = ("singleCollaborator", "multipleCollaborators")
REQUIRED_OPTIONS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys((*PLAIN, *PEOPLE, "multipleAttachments"), ()),
    **dict.fromkeys(("number", "percent"), ("precision",)),
    "currency": ("precision", "symbol"),
    "duration": ("durationFormat",),
    "rating": ("icon", "color", "max"),
    "checkbox": ("icon", "color"),
    **dict.fromkeys(("singleSelect", "multipleSelects"), ("choices",)),
    "date": ("dateFormat",),
    "dateTime": ("dateFormat", "timeFormat", "timeZone"),
    "multipleRecordLinks": ("linkedTableId",),
}
"""The types that requests can create, with their required options."""

PRIMARY_TYPES = frozenset({*PLAIN, "number", "percent", "currency", "duration", "date", "dateTime"})
"""The allowed types of a table's first field."""

COMPUTED = frozenset({*cell_values.COMPUTED, "aiText", "externalSyncSource"})
"""The types that can only be created in Airtable itself."""

FORMATS: Mapping[str, Mapping[str, str]] = {
    "dateFormat": {"local": "l", "friendly": "LL", "us": "M/D/YYYY", "european": "D/M/YYYY", "iso": "YYYY-MM-DD"},
    "timeFormat": {"12hour": "h:mma", "24hour": "HH:mm"},
}
BOUNDS = {"precision": (0, 8), "max": (1, 10)}
TEXT_OPTIONS = ("symbol", "icon", "color", "durationFormat", "timeZone")
LINK_OPTIONS = ("linkedTableId", "viewIdForRecordSelection")


@dataclass(slots=True)
class Definitions:
    """The tables and fields of one request. Nothing is stored until all of it has been parsed."""

    workspace: Workspace
    base: Base
    _inverse_fields: list[tuple[Table, Field]] = field(default_factory=list)

    def table(self, definition: Mapping[str, Any]) -> Table:
        """Return a new table of the base, with a view of all records."""
        name = read_name(definition)
        if any(existing.name.casefold() == name.casefold() for existing in self.base.tables):
            raise error_responses.duplicate_table(name)
        columns = definition.get("fields")
        if not isinstance(columns, list) or not columns:
            raise error_responses.invalid_request("A table must have at least one field")
        workspace = self.workspace
        table = Table(workspace.new_id("tbl"), name, [], [View(workspace.new_id("viw"), "Grid view")])
        table.description = read_description(definition)
        for column in columns:
            table.fields.append(self._field(table, column))
        if table.primary.type not in PRIMARY_TYPES:
            raise error_responses.invalid_options(
                f"{table.primary.name}: a primary field cannot be a {table.primary.type} field"
            )
        return table

    def store(self, *tables: Table) -> None:
        """Add *tables* to the base, and the inverse fields of new links to the linked tables."""
        self.base.tables.extend(tables)
        for table, column in self._inverse_fields:
            column.name = unique_name(table, column.name)
            table.fields.append(column)

    def field(self, table: Table, definition: Any) -> Field:
        """Add a new field to *table*."""
        column = self._field(table, definition)
        table.fields.append(column)
        self.store()
        return column

    def _field(self, table: Table, definition: Any) -> Field:
        if not isinstance(definition, Mapping):
            raise error_responses.invalid_request()
        name, kind, options = (
            check_field_name(table, definition.get("name")),
            definition.get("type"),
            definition.get("options"),
        )
        if not isinstance(kind, str) or kind not in {*REQUIRED_OPTIONS, *COMPUTED}:
            raise error_responses.invalid_request(f"Invalid field type for {name}")
        if kind in COMPUTED:
            raise error_responses.unsupported_field(f"{table.name}.{name}", kind)
        parsed = self._options(f"{table.name}.{name}", kind, options)
        column = Field(self.workspace.new_id("fld"), name, kind, parsed or None, read_description(definition))
        if kind == "multipleRecordLinks":
            self._link(table, column)
        return column

    def _options(self, path: str, kind: str, options: Any) -> dict[str, Any]:
        if options is None and REQUIRED_OPTIONS[kind]:
            raise error_responses.invalid_options(f"Failed schema validation: {path}.options is missing")
        if not isinstance(options, Mapping | None):
            raise error_responses.invalid_options(f"Failed schema validation: {path}.options is not an object")
        parsed = dict(options or {})
        for name in REQUIRED_OPTIONS[kind]:
            if name not in parsed:
                raise error_responses.invalid_options(f"Failed schema validation: {path}.options.{name} is missing")
        # Derived link options cannot be set on creation. People report this of ``isReversed`` too.
        allowed = LINK_OPTIONS if kind == "multipleRecordLinks" else REQUIRED_OPTIONS[kind]
        for name in parsed:
            if name not in allowed:
                raise error_responses.invalid_options(f"Invalid options for {path}: {name} is not supported here")
        return self._complete(path, parsed, kind)

    def _complete(self, path: str, parsed: dict[str, Any], kind: str) -> dict[str, Any]:
        """Return the options in the form of the schema."""
        for name, formats in FORMATS.items():
            if name in parsed:
                parsed[name] = _format(path, parsed[name], formats)
        for name, (minimum, maximum) in BOUNDS.items():
            if name in parsed and not _is_within(parsed[name], minimum, maximum):
                raise error_responses.invalid_options(
                    f"Invalid options for {path}: {name} must be from {minimum} to {maximum}"
                )
        for name in (*TEXT_OPTIONS, *LINK_OPTIONS):
            if not isinstance(parsed.get(name, ""), str):
                raise error_responses.invalid_options(f"Invalid options for {path}: {name} must be a text")
        if "choices" in parsed:
            parsed["choices"] = self._choices(path, parsed["choices"])
        if kind == "multipleAttachments":
            parsed["isReversed"] = False
        return parsed

    def _choices(self, path: str, choices: Any) -> list[dict[str, Any]]:
        items = choices if isinstance(choices, list) else [choices]
        names = [choice.get("name") if isinstance(choice, Mapping) else None for choice in items]
        if not all(isinstance(name, str) and name for name in names):
            raise error_responses.invalid_options(f"Invalid options for {path}: choices must be objects with a name")
        if len(set(names)) < len(names):
            raise error_responses.invalid_options(f"Invalid options for {path}: choices must have different names")
        return [
            {
                "id": self.workspace.new_id("sel"),
                "name": choice["name"],
                "color": _colour(path, choice.get("color", COLOURS[number % len(COLOURS)])),
            }
            for number, choice in enumerate(items)
        ]

    def _link(self, table: Table, column: Field) -> None:
        """Resolve the linked table of a link field and create the inverse field."""
        linked = next(
            (candidate for candidate in (*self.base.tables, table) if candidate.id == column.option("linkedTableId")),
            None,
        )
        if linked is None:
            raise error_responses.invalid_options(
                f"Invalid options for {table.name}.{column.name}: linkedTableId is unknown"
            )
        common = {"isReversed": False, "prefersSingleRecordLink": False}
        column.options = (column.options or {}) | common
        # Links within a table have no inverse field.
        if linked is not table:
            inverse_options = {"linkedTableId": table.id, **common, "inverseLinkFieldId": column.id}
            inverse = Field(self.workspace.new_id("fld"), table.name, column.type, inverse_options)
            column.options["inverseLinkFieldId"] = inverse.id
            self._inverse_fields.append((linked, inverse))


def rename_table(base: Base, table: Table, fields: Mapping[str, Any]) -> None:
    """Set the name and description of *table* from a request."""
    _check_keys(fields, {"name", "description", "dateDependencySettings"})
    if "name" in fields:
        name = read_name(fields)
        existing = next((other for other in base.tables if other.name.casefold() == name.casefold()), table)
        if existing is not table:
            raise error_responses.duplicate_table(name)
        table.name = name
    if "description" in fields:
        table.description = read_description(fields)


def rename_field(table: Table, column: Field, fields: Mapping[str, Any]) -> None:
    """Set the name and description of *column* from a request. Options cannot be changed."""
    _check_keys(fields, {"name", "description"})
    if "name" in fields:
        column.name = check_field_name(table, fields["name"], column)
    if "description" in fields:
        column.description = read_description(fields)


def _check_keys(fields: Mapping[str, Any], allowed: set[str]) -> None:
    if not set(fields) <= allowed:
        raise error_responses.invalid_request()


def read_name(fields: Mapping[str, Any]) -> str:
    """Return the name of a base or table."""
    name = fields.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME_LENGTH:
        raise error_responses.invalid_request("A name must be a text of 1 to 255 characters")
    return name


def read_description(fields: Mapping[str, Any]) -> str | None:
    """Return the description in a request, or None."""
    text = fields.get("description")
    if not isinstance(text, str | None) or len(text or "") > MAX_DESCRIPTION_LENGTH:
        raise error_responses.invalid_request("A description must be a text of at most 20000 characters")
    return text or None


def check_field_name(table: Table, name: Any, column: Field | None = None) -> str:
    """Return the name of a field. It must be unique in *table*."""
    if not isinstance(name, str) or not name.strip() or len(name) > MAX_NAME_LENGTH:
        raise error_responses.duplicate_field()
    if any(existing is not column and existing.name.casefold() == name.casefold() for existing in table.fields):
        raise error_responses.duplicate_field()
    return name


def unique_name(table: Table, name: str) -> str:
    """Return *name*, with a number appended if *table* has such a field."""
    number, candidate = 1, name
    while find(table.fields, candidate):
        number += 1
        candidate = f"{name} {number}"
    return candidate


def _colour(path: str, value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise error_responses.invalid_options(f"Invalid options for {path}: the color of a choice must be a text")
    return value


def _is_within(value: Any, minimum: int, maximum: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and minimum <= value <= maximum


def _format(path: str, value: Any, formats: Mapping[str, str]) -> dict[str, str]:
    name = value.get("name") if isinstance(value, Mapping) else None
    if not isinstance(name, str) or name not in formats:
        raise error_responses.invalid_options(
            f"Invalid options for {path}: a format must be one of {', '.join(formats)}"
        )
    return {"name": name, "format": formats[name]}
