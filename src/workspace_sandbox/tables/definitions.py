"""Tables and fields as requests define them: what is missing or not possible is refused before anything is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.tables import values, wire
from workspace_sandbox.tables.draft import COLOURS
from workspace_sandbox.tables.state import Base, Field, Table, View, find
from workspace_sandbox.tables.workspace import Workspace

LONGEST_NAME = 255
LONGEST_DESCRIPTION = 20_000
PLAIN = ("singleLineText", "multilineText", "richText", "email", "url", "phoneNumber", "barcode")
PEOPLE = ("singleCollaborator", "multipleCollaborators")
NEEDED: Mapping[str, Sequence[str]] = {
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
"""The types that requests can make, and the options that each must have."""

PRIMARY = frozenset({*PLAIN, "number", "percent", "currency", "duration", "date", "dateTime"})
"""What the first field of a table may be."""

COMPUTED = frozenset({*values.COMPUTED, "aiText", "externalSyncSource"})
"""What is made in the application only."""

FORMATS: Mapping[str, Mapping[str, str]] = {
    "dateFormat": {"local": "l", "friendly": "LL", "us": "M/D/YYYY", "european": "D/M/YYYY", "iso": "YYYY-MM-DD"},
    "timeFormat": {"12hour": "h:mma", "24hour": "HH:mm"},
}
BOUNDS = {"precision": (0, 8), "max": (1, 10)}
TEXTS = ("symbol", "icon", "color", "durationFormat", "timeZone")
LINK = ("linkedTableId", "viewIdForRecordSelection")


@dataclass(slots=True)
class Definitions:
    """What one request makes in a base: nothing of it is kept before all of it was read."""

    workspace: Workspace
    base: Base
    _back: list[tuple[Table, Field]] = field(default_factory=list)

    def table(self, given: Mapping[str, Any]) -> Table:
        """A new table of the base, with a view of all."""
        name = named(given)
        if any(known.name.casefold() == name.casefold() for known in self.base.tables):
            raise wire.duplicate_table(name)
        columns = given.get("fields")
        if not isinstance(columns, list) or not columns:
            raise wire.invalid_request("A table must have at least one field")
        about = self.workspace
        table = Table(about.new_id("tbl"), name, [], [View(about.new_id("viw"), "Grid view")])
        table.description = described(given)
        for column in columns:
            table.fields.append(self._field(table, column))
        if table.primary.type not in PRIMARY:
            raise wire.invalid_options(f"{table.primary.name}: a primary field cannot be a {table.primary.type} field")
        return table

    def keep(self, *tables: Table) -> None:
        """Add *tables* to the base, and the other sides of new links to the tables that they lead to."""
        self.base.tables.extend(tables)
        for table, column in self._back:
            column.name = free_name(table, column.name)
            table.fields.append(column)

    def field(self, table: Table, given: Any) -> Field:
        """A new field of *table*, which has it from now on."""
        made = self._field(table, given)
        table.fields.append(made)
        self.keep()
        return made

    def _field(self, table: Table, given: Any) -> Field:
        if not isinstance(given, Mapping):
            raise wire.invalid_request()
        name, kind, options = named_field(table, given.get("name")), given.get("type"), given.get("options")
        if not isinstance(kind, str) or kind not in {*NEEDED, *COMPUTED}:
            raise wire.invalid_request(f"Invalid field type for {name}")
        if kind in COMPUTED:
            raise wire.unsupported_field(f"{table.name}.{name}", kind)
        read = self._options(f"{table.name}.{name}", kind, options)
        made = Field(self.workspace.new_id("fld"), name, kind, read or None, described(given))
        if kind == "multipleRecordLinks":
            self._link(table, made)
        return made

    def _options(self, place: str, kind: str, options: Any) -> dict[str, Any]:
        if options is None and NEEDED[kind]:
            raise wire.invalid_options(f"Failed schema validation: {place}.options is missing")
        if not isinstance(options, Mapping | None):
            raise wire.invalid_options(f"Failed schema validation: {place}.options is not an object")
        given = dict(options or {})
        for name in NEEDED[kind]:
            if name not in given:
                raise wire.invalid_options(f"Failed schema validation: {place}.options.{name} is missing")
        # What links show of themselves cannot be given when they are made: people report it of ``isReversed`` too.
        known = LINK if kind == "multipleRecordLinks" else NEEDED[kind]
        for name in given:
            if name not in known:
                raise wire.invalid_options(f"Invalid options for {place}: {name} is not supported here")
        return self._completed(place, given, kind)

    def _completed(self, place: str, given: dict[str, Any], kind: str) -> dict[str, Any]:
        """The options as the schema shows them."""
        for name, formats in FORMATS.items():
            if name in given:
                given[name] = _format(place, given[name], formats)
        for name, (least, most) in BOUNDS.items():
            if name in given and not _is_within(given[name], least, most):
                raise wire.invalid_options(f"Invalid options for {place}: {name} must be from {least} to {most}")
        for name in (*TEXTS, *LINK):
            if not isinstance(given.get(name, ""), str):
                raise wire.invalid_options(f"Invalid options for {place}: {name} must be a text")
        if "choices" in given:
            given["choices"] = self._choices(place, given["choices"])
        if kind == "multipleAttachments":
            given["isReversed"] = False
        return given

    def _choices(self, place: str, choices: Any) -> list[dict[str, Any]]:
        listed = choices if isinstance(choices, list) else [choices]
        names = [choice.get("name") if isinstance(choice, Mapping) else None for choice in listed]
        if not all(isinstance(name, str) and name for name in names):
            raise wire.invalid_options(f"Invalid options for {place}: choices must be objects with a name")
        if len(set(names)) < len(names):
            raise wire.invalid_options(f"Invalid options for {place}: choices must have different names")
        return [
            {
                "id": self.workspace.new_id("sel"),
                "name": choice["name"],
                "color": _colour(place, choice.get("color", COLOURS[number % len(COLOURS)])),
            }
            for number, choice in enumerate(listed)
        ]

    def _link(self, table: Table, made: Field) -> None:
        """Let *made* lead to the table that it names, and back from there."""
        linked = next((one for one in (*self.base.tables, table) if one.id == made.option("linkedTableId")), None)
        if linked is None:
            raise wire.invalid_options(f"Invalid options for {table.name}.{made.name}: linkedTableId is unknown")
        shown = {"isReversed": False, "prefersSingleRecordLink": False}
        made.options = (made.options or {}) | shown
        # Links within a table have one side.
        if linked is not table:
            back = {"linkedTableId": table.id, **shown, "inverseLinkFieldId": made.id}
            inverse = Field(self.workspace.new_id("fld"), table.name, made.type, back)
            made.options["inverseLinkFieldId"] = inverse.id
            self._back.append((linked, inverse))


def rename_table(base: Base, table: Table, given: Mapping[str, Any]) -> None:
    """Give *table* the name and the description that a request has."""
    _require_known(given, {"name", "description", "dateDependencySettings"})
    if "name" in given:
        name = named(given)
        known = next((one for one in base.tables if one.name.casefold() == name.casefold()), table)
        if known is not table:
            raise wire.duplicate_table(name)
        table.name = name
    if "description" in given:
        table.description = described(given)


def rename_field(table: Table, column: Field, given: Mapping[str, Any]) -> None:
    """Give *column* the name and the description that a request has; options are not changed by requests."""
    _require_known(given, {"name", "description"})
    if "name" in given:
        column.name = named_field(table, given["name"], column)
    if "description" in given:
        column.description = described(given)


def _require_known(given: Mapping[str, Any], known: set[str]) -> None:
    if not set(given) <= known:
        raise wire.invalid_request()


def named(given: Mapping[str, Any]) -> str:
    """The name of a base or table."""
    name = given.get("name")
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
        raise wire.invalid_request("A name must be a text of 1 to 255 characters")
    return name


def described(given: Mapping[str, Any]) -> str | None:
    """The description in a request, if it has one."""
    text = given.get("description")
    if not isinstance(text, str | None) or len(text or "") > LONGEST_DESCRIPTION:
        raise wire.invalid_request("A description must be a text of at most 20000 characters")
    return text or None


def named_field(table: Table, name: Any, column: Field | None = None) -> str:
    """The name of a field, which no other of *table* may have."""
    if not isinstance(name, str) or not name.strip() or len(name) > LONGEST_NAME:
        raise wire.duplicate_field()
    if any(known is not column and known.name.casefold() == name.casefold() for known in table.fields):
        raise wire.duplicate_field()
    return name


def free_name(table: Table, name: str) -> str:
    """*name*, with a number behind it if *table* has such a field."""
    number, wanted = 1, name
    while find(table.fields, wanted):
        number += 1
        wanted = f"{name} {number}"
    return wanted


def _colour(place: str, given: Any) -> str:
    if not isinstance(given, str) or not given:
        raise wire.invalid_options(f"Invalid options for {place}: the color of a choice must be a text")
    return given


def _is_within(given: Any, least: int, most: int) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and least <= given <= most


def _format(place: str, given: Any, formats: Mapping[str, str]) -> dict[str, str]:
    name = given.get("name") if isinstance(given, Mapping) else None
    if not isinstance(name, str) or name not in formats:
        raise wire.invalid_options(f"Invalid options for {place}: a format must be one of {', '.join(formats)}")
    return {"name": name, "format": formats[name]}
