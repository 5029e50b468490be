"""What a write request would change, gathered before anything is changed: it happens as a whole or not at all."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.tables.state import Attachment, Base, Cells, Field, Record, Table, find
from workspace_sandbox.tables.wire import Refusal, invalid_value, missing_option

COLOURS = ("blueLight2", "cyanLight2", "tealLight2", "greenLight2", "yellowLight2", "orangeLight2", "redLight2")


@dataclass(slots=True)
class PendingWrite:
    """A request's new options, new linked records and new cells."""

    base: Base
    typecast: bool
    creates_options: bool
    """Whether the caller's role may make options."""

    new_id: Callable[[str], str]
    new_attachment: Callable[[str, str | None], Attachment]
    new_record: Callable[[], Record]
    options: dict[str, list[str]] = field(default_factory=dict)
    linked: dict[tuple[str, str], Record] = field(default_factory=dict)
    changes: list[tuple[Table, Record, Cells]] = field(default_factory=list)

    def option(self, field: Field, name: str) -> str:
        """The option of that name, made if the request and the caller may; twice the same is made once."""
        pending = self.options.get(field.id, [])
        if name not in field.choices() and name not in pending:
            # With ``typecast`` an editor still may not make options: that takes the role of a creator.
            if not (self.typecast and self.creates_options):
                raise missing_option(name)
            self.options[field.id] = [*pending, name]
        return name

    def link(self, table: Table, name: str) -> str:
        """The id of the record so named in a linked *table*, which is made if there is none."""
        known = next((row for row in table.records.values() if row.cells.get(table.primary.id) == name), None)
        if known is None:
            known = self.linked.setdefault((table.id, name), self.new_record())
        return known.id

    def has(self, table: Table, record_id: str) -> bool:
        """Whether a link to that record can be kept."""
        return record_id in table.records or any(
            record_id == record.id for (table_id, _), record in self.linked.items() if table_id == table.id
        )

    def apply(self) -> None:
        """Carry out the changes."""
        self._apply_options()
        for (table_id, name), record in self.linked.items():
            table = next(table for table in self.base.tables if table.id == table_id)
            record.cells[table.primary.id] = name
            table.add(record)
        for table, record, cells in self.changes:
            if record.id not in table.records:
                table.add(record)
            change(self.base, table, record, cells)

    def _apply_options(self) -> None:
        for table in self.base.tables:
            for column in table.fields:
                for name in self.options.get(column.id, ()):
                    choices = (column.options or {}).setdefault("choices", [])
                    colour = COLOURS[len(choices) % len(COLOURS)]
                    choices.append({"id": self.new_id("sel"), "name": name, "color": colour})


@dataclass(frozen=True, slots=True)
class Cell:
    """Where a value is to be put; there is no ``record`` when one is being made."""

    draft: PendingWrite
    field: Field
    record: Record | None

    def refused(self) -> Refusal:
        """What is said to a value of the wrong kind."""
        return invalid_value(self.field.name)

    def linked(self) -> Table:
        """The table that the field links to."""
        return require(find(self.draft.base.tables, self.field.option("linkedTableId")), self.refused())


Write = Callable[[Cell, Any], Any]
"""Makes of a value what is kept in the cell, or of a loose value a strict one."""


def change(base: Base, table: Table, record: Record, cells: Cells) -> None:
    """Put *cells* into *record*, take out the empty ones, and keep the other side of its links in step."""
    for column in table.fields:
        if column.id in cells:
            value = cells[column.id]
            if column.type == "multipleRecordLinks":
                _mirror(base, column, record, set(record.cells.get(column.id, ())), set(value or ()))
            _put(record, column.id, value)


def unlink(base: Base, table: Table, record: Record) -> None:
    """Take *record* out of every cell that links to it."""
    for other in base.tables:
        for column in other.fields:
            if column.option("linkedTableId") == table.id:
                for row in other.records.values():
                    _drop(row, column.id, record.id)


def _mirror(base: Base, column: Field, record: Record, before: set[str], after: set[str]) -> None:
    linked = find(base.tables, column.option("linkedTableId"))
    inverse = column.option("inverseLinkFieldId")
    if linked is None or inverse is None:
        return
    for identifier in before - after:
        _drop(linked.records[identifier], inverse, record.id)
    for identifier in after - before:
        row = linked.records[identifier]
        row.cells[inverse] = [*row.cells.get(inverse, ()), record.id]


def _drop(record: Record, column: str, identifier: str) -> None:
    if identifier in record.cells.get(column, ()):
        _put(record, column, [kept for kept in record.cells[column] if kept != identifier])


def _put(record: Record, column: str, value: Any) -> None:
    # Airtable keeps no empty cells: an unchecked box is read as if the record had no such field ("Field types").
    if value is None or value is False or value in ("", []):
        record.cells.pop(column, None)
    else:
        record.cells[column] = value
