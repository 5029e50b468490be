"""Column definitions of requests: type, options and configuration."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.notes import validation
from workspace_sandbox.notes.data import property_input
from workspace_sandbox.notes.data.state import COLORS, DataSource, Option, Property, Workspace
from workspace_sandbox.notes.error_responses import ApiError, invalid
from workspace_sandbox.notes.request import ApiRequest

SIMPLE = (
    *("title", "rich_text", "date", "people", "files", "checkbox", "url", "email", "phone_number"),
    *("created_time", "created_by", "last_edited_time", "last_edited_by"),
)
OPTION_TYPES = ("select", "multi_select", "status")
SUPPORTED = (*SIMPLE, *OPTION_TYPES, "number", "relation", "unique_id")
UNSUPPORTED = ("formula", "rollup", "button", "verification", "place", "location")
COMMON_KEYS = ("id", "name", "type", "description")
MAX_OPTIONS = 100
MAX_PROPERTIES = 500
NAME_LENGTH = 100
STATUS_GROUPS = (
    ("To-do", "gray", "Not started"),
    ("In progress", "blue", "In progress"),
    ("Complete", "green", "Done"),
)
"""The groups of a new status, with their colours and first options."""


@dataclass(slots=True)
class ColumnDefinition:
    """The definition of a column in a request: a new column or a change of an existing one."""

    key: str
    existing: Property | None
    name: str
    type: str
    config: dict[str, Any] = field(default_factory=dict)
    options: list[Option] | None = None
    groups: list[tuple[Option, list[str]]] = field(default_factory=list)
    removed: bool = False

    def create(self, workspace: Workspace) -> Property:
        """Return the new column."""
        uid = "title" if self.type == "title" else workspace.new_property_id()
        return Property(uid, self.name, self.type, self.config, self.options or [], self.groups)


def parse_new_columns(request: ApiRequest, raw: Any, path: str) -> list[ColumnDefinition]:
    """Return the columns of a new data source, exactly one of which must be a title."""
    fields = validation.obj(raw, path)
    columns = [_parse_definition(request, None, key, definition, f"{path}.{key}") for key, definition in fields.items()]
    if sum(column.type == "title" for column in columns) != 1:
        raise invalid("Title is not provided or is provided more than once.")
    return _check_columns(columns)


def parse_column_changes(request: ApiRequest, source: DataSource, raw: Any, path: str) -> list[ColumnDefinition]:
    """Return the changes to the columns of *source*. Null removes a column."""
    columns = []
    for key, definition in validation.obj(raw, path).items():
        existing = source.find(key)
        if definition is None:
            columns.append(_parse_removal(existing, key))
        else:
            columns.append(_parse_definition(request, existing, key, definition, f"{path}.{key}"))
    names_by_id = {prop.id: prop.name for prop in source.properties.values()}
    names_by_id |= {column.existing.id: column.name for column in columns if column.existing}
    names_by_id |= {f"new {column.key}": column.name for column in columns if column.existing is None}
    removed_ids = {column.existing.id for column in columns if column.existing and column.removed}
    _check_unique([name for uid, name in names_by_id.items() if uid not in removed_ids])
    return columns


def _parse_removal(existing: Property | None, key: str) -> ColumnDefinition:
    if existing is None:
        raise invalid(f"{key} is not a property that exists.")
    if existing.type == "title":
        raise invalid("Cannot delete the title property.")
    return ColumnDefinition(key, existing, existing.name, existing.type, removed=True)


def _parse_definition(
    request: ApiRequest, existing: Property | None, key: str, raw: Any, path: str
) -> ColumnDefinition:
    fields = validation.obj(raw, path)
    name = validation.populated(fields.get("name", existing.name if existing else key), f"{path}.name", NAME_LENGTH)
    old_type = existing.type if existing is not None else None
    kind = next((kind for kind in fields if kind not in COMMON_KEYS), None) or fields.get("type") or old_type
    if kind in UNSUPPORTED and (kind in fields or kind != old_type):
        # The message follows the error for unsupported page features.
        raise ApiError(400, "invalid_request", f"Unsupported request: properties of type {kind}.")
    if kind not in {*SUPPORTED, old_type}:
        raise validation.invalid_field(f"{path}.{kind or 'title'}", "defined")
    validation.obj(fields, path, *COMMON_KEYS, str(kind))
    if existing is not None and (kind == "title") != (old_type == "title"):
        raise invalid("The title property cannot become another one, and no other property can become the title.")
    column = ColumnDefinition(key, existing, name, str(kind))
    if kind in fields and kind in READERS:
        READERS[str(kind)](request, column, validation.obj(fields[str(kind)], f"{path}.{kind}"), f"{path}.{kind}")
    elif existing is None or old_type != kind:
        READERS.get(str(kind), _no_config)(request, column, {}, f"{path}.{kind}")
    else:
        column.config, column.groups = existing.config, existing.groups
    return column


def _no_config(_: ApiRequest, __: ColumnDefinition, ___: dict[str, Any], ____: str) -> None:
    """Accept a definition that needs no further fields."""


def _number(_: ApiRequest, column: ColumnDefinition, fields: dict[str, Any], path: str) -> None:
    validation.obj(fields, path, "format")
    column.config = {"format": validation.populated(fields.get("format", "number"), f"{path}.format", NAME_LENGTH)}


def _unique(_: ApiRequest, column: ColumnDefinition, fields: dict[str, Any], path: str) -> None:
    prefix = validation.obj(fields, path, "prefix").get("prefix")
    column.config = {"prefix": None if prefix is None else validation.string(prefix, f"{path}.prefix", NAME_LENGTH)}


def _read_options(request: ApiRequest, column: ColumnDefinition, fields: dict[str, Any], path: str) -> None:
    """Set the options. Listed options keep their identifiers, and omitted ones are removed."""
    validation.obj(fields, path, "options", "groups")
    if "options" not in fields and column.existing and column.existing.type == column.type:
        column.groups = column.existing.groups
        return
    raw = validation.array(fields.get("options", []), f"{path}.options", MAX_OPTIONS)
    existing = column.existing.options if column.existing else []
    column.options = [
        _option(request.workspace, existing, item, f"{path}.options[{position}]") for position, item in enumerate(raw)
    ]
    _check_unique([option.name for option in column.options])


def _status(request: ApiRequest, column: ColumnDefinition, fields: dict[str, Any], path: str) -> None:
    """Set the three groups. Options go to the first one, and without options each group has a default."""
    _read_options(request, column, fields, path)
    if column.options is None:
        return
    groups = [Option(request.workspace.new_id(), group, color) for group, color, _ in STATUS_GROUPS]
    if column.options:
        ids = [[option.id for option in column.options], [], []]
    else:
        column.options = [Option(request.workspace.new_id(), name, color) for _, color, name in STATUS_GROUPS]
        ids = [[option.id] for option in column.options]
    column.groups = list(zip(groups, ids, strict=True))


def _option(workspace: Workspace, existing: list[Option], raw: Any, path: str) -> Option:
    fields = validation.obj(raw, path, "id", "name", "color", "description")
    match = next((option for option in existing if fields.get("id") == option.id), None)
    match = match or next((option for option in existing if fields.get("name") == option.name), None)
    if match is None or "name" in fields:
        name = property_input.option_name(validation.need(fields, "name", path), f"{path}.name")
    else:
        name = match.name
    color = validation.one_of(fields.get("color", match.color if match else "default"), f"{path}.color", COLORS)
    return Option(match.id if match else workspace.new_id(), name, color)


def _relation(request: ApiRequest, column: ColumnDefinition, fields: dict[str, Any], path: str) -> None:
    validation.obj(fields, path, "data_source_id", "database_id", "type", "single_property", "dual_property")
    if "dual_property" in fields:
        raise ApiError(400, "invalid_request", "Unsupported request: relations with dual_property.")
    if "data_source_id" in fields:
        source = request.workspace.source(
            request.bot, validation.uid(fields["data_source_id"], f"{path}.data_source_id")
        )
    else:
        uid = validation.uid(validation.need(fields, "database_id", path), f"{path}.database_id")
        source = request.workspace.only_source(request.workspace.database(request.bot, uid))
    ids = {"database_id": source.parent.id, "data_source_id": source.id}
    column.config = {**ids, "type": "single_property", "single_property": {}}


READERS: Mapping[str, Callable[[ApiRequest, ColumnDefinition, dict[str, Any], str], None]] = {
    "number": _number,
    "unique_id": _unique,
    "select": _read_options,
    "multi_select": _read_options,
    "status": _status,
    "relation": _relation,
}


def _check_columns(columns: list[ColumnDefinition]) -> list[ColumnDefinition]:
    if len(columns) > MAX_PROPERTIES:
        raise validation.invalid_field("body.properties.length", f"≤ `{MAX_PROPERTIES}`", len(columns))
    _check_unique([column.name for column in columns])
    return columns


def _check_unique(names: list[str]) -> None:
    duplicate = next((name for position, name in enumerate(names) if name in names[:position]), None)
    if duplicate is not None:
        raise invalid(f"There is a property or option {duplicate} already.")
