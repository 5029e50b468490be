"""The pending changes of a write request. They are applied atomically."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.tables.data.state import Attachment, Base, Cells, Field, Record, Table, find
from workspace_sandbox.tables.error_responses import ApiError, invalid_value, missing_option

COLOURS = ("blueLight2", "cyanLight2", "tealLight2", "greenLight2", "yellowLight2", "orangeLight2", "redLight2")


@dataclass(slots=True)
class PendingWrite:
    """The new options, new linked records and new cells of a request."""

    base: Base
    typecast: bool
    creates_options: bool
    """Whether the caller's role allows creating options."""

    new_id: Callable[[str], str]
    new_attachment: Callable[[str, str | None], Attachment]
    new_record: Callable[[], Record]
    options: dict[str, list[str]] = field(default_factory=dict)
    linked: dict[tuple[str, str], Record] = field(default_factory=dict)
    changes: list[tuple[Table, Record, Cells]] = field(default_factory=list)

    def option(self, field: Field, name: str) -> str:
        """Return the option with that name, created once if the request and the caller's role allow it."""
        pending = self.options.get(field.id, [])
        if name not in field.choices() and name not in pending:
            # Even with ``typecast`` an editor cannot create options, which requires the creator role.
            if not (self.typecast and self.creates_options):
                raise missing_option(name)
            self.options[field.id] = [*pending, name]
        return name

    def resolve_link(self, table: Table, name: str) -> str:
        """Return the id of the record with that name in a linked *table*, created if necessary."""
        match = next((row for row in table.records.values() if row.cells.get(table.primary.id) == name), None)
        if match is None:
            match = self.linked.setdefault((table.id, name), self.new_record())
        return match.id

    def is_linkable(self, table: Table, record_id: str) -> bool:
        """Return True if a link to that record is valid."""
        return record_id in table.records or any(
            record_id == record.id for (table_id, _), record in self.linked.items() if table_id == table.id
        )

    def apply(self) -> None:
        """Apply the changes."""
        self._apply_options()
        for (table_id, name), record in self.linked.items():
            table = next(table for table in self.base.tables if table.id == table_id)
            record.cells[table.primary.id] = name
            table.add(record)
        for table, record, cells in self.changes:
            if record.id not in table.records:
                table.add(record)
            set_cells(self.base, table, record, cells)

    def _apply_options(self) -> None:
        for table in self.base.tables:
            for column in table.fields:
                for name in self.options.get(column.id, ()):
                    choices = (column.options or {}).setdefault("choices", [])
                    colour = COLOURS[len(choices) % len(COLOURS)]
                    choices.append({"id": self.new_id("sel"), "name": name, "color": colour})


@dataclass(frozen=True, slots=True)
class Cell:
    """The target cell of a value. ``record`` is None for a new record."""

    draft: PendingWrite
    field: Field
    record: Record | None

    def wrong_type(self) -> ApiError:
        """Return the error for a value of the wrong type."""
        return invalid_value(self.field.name)

    def linked(self) -> Table:
        """Return the linked table of the field."""
        return require(find(self.draft.base.tables, self.field.option("linkedTableId")), self.wrong_type())


Write = Callable[[Cell, Any], Any]
"""A function that converts a value to the stored form, or a loose value to a strict one."""


def set_cells(base: Base, table: Table, record: Record, cells: Cells) -> None:
    """Set *cells* of *record*, remove empty ones and update the inverse fields of its links."""
    for column in table.fields:
        if column.id in cells:
            value = cells[column.id]
            if column.type == "multipleRecordLinks":
                _update_inverse(base, column, record, set(record.cells.get(column.id, ())), set(value or ()))
            _set_cell(record, column.id, value)


def unlink(base: Base, table: Table, record: Record) -> None:
    """Remove *record* from every cell that links to it."""
    for other in base.tables:
        for column in other.fields:
            if column.option("linkedTableId") == table.id:
                for row in other.records.values():
                    _remove_link(row, column.id, record.id)


def _update_inverse(base: Base, column: Field, record: Record, old_ids: set[str], new_ids: set[str]) -> None:
    linked = find(base.tables, column.option("linkedTableId"))
    inverse = column.option("inverseLinkFieldId")
    if linked is None or inverse is None:
        return
    for identifier in old_ids - new_ids:
        _remove_link(linked.records[identifier], inverse, record.id)
    for identifier in new_ids - old_ids:
        row = linked.records[identifier]
        row.cells[inverse] = [*row.cells.get(inverse, ()), record.id]


def _remove_link(record: Record, column: str, identifier: str) -> None:
    if identifier in record.cells.get(column, ()):
        _set_cell(record, column, [other for other in record.cells[column] if other != identifier])


def _set_cell(record: Record, column: str, value: Any) -> None:
    # Airtable stores no empty cells: an unchecked box is read as a missing field ("Field types").
    if value is None or value is False or value in ("", []):
        record.cells.pop(column, None)
    else:
        record.cells[column] = value
