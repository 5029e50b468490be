"""What was changed in a base, as the vendor's webhooks tell it: pictures of before and after, compared.

A picture costs a copy of every row, so one is taken of bases that somebody listens to only.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.tables import times
from workspace_sandbox.tables.state import Base, Cells, Field, Record, Table, find
from workspace_sandbox.tables.values import SHOWN, Reader

Names = dict[str, Any]
"""Members of a payload."""


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """A table at one moment; rows are as they were kept, by field id."""

    about: Names
    fields: Mapping[str, Names]
    records: Mapping[str, Cells]


def picture(base: Base) -> dict[str, TableSnapshot]:
    """All tables of *base* as they are now."""
    return {
        table.id: TableSnapshot(
            {"name": table.name, "description": table.description},
            {column.id: {"name": column.name, "type": column.type} for column in table.fields},
            {record.id: dict(record.cells) for record in table.records.values()},
        )
        for table in base.tables
    }


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a change a webhook asked for."""

    data_types: frozenset[str]
    change_types: frozenset[str]
    table: str | None
    """The only table that it looks at, if there is one."""

    data_fields: frozenset[str]
    """The only fields whose values it looks at; all if empty."""

    schema_fields: frozenset[str]
    """The only fields whose definitions it looks at; all if empty."""

    shown_fields: frozenset[str] | None
    """Fields that are told although they did not change; None for all."""

    previous_cells: bool
    previous_fields: bool

    def wants(self, kind: str, change: str) -> bool:
        """Whether it asked for changes of that kind."""
        return kind in self.data_types and change in self.change_types


@dataclass(frozen=True, slots=True)
class Comparison:
    """A base before and after a change."""

    reader: Reader
    before: Mapping[str, TableSnapshot]
    after: Mapping[str, TableSnapshot]

    def told(self, wanted: Wanted) -> Names:
        """What *wanted* sees of the change, as members of a payload; nothing where it sees nothing."""
        seen = [table for table in (*self.before, *self.after) if wanted.table in {None, table}]
        common = [table for table in self.before if table in self.after and table in seen]
        changed = {table: about for table in common if (about := _Table(self, wanted, table).changed())}
        return _full(
            changedTablesById=changed,
            createdTablesById=self._created(wanted, seen),
            destroyedTableIds=self._destroyed(wanted, seen),
        )

    def _created(self, wanted: Wanted, seen: Iterable[str]) -> Names:
        new = [table for table in self.after if table not in self.before and table in seen]
        return {table: _Table(self, wanted, table).created() for table in new if wanted.wants("tableMetadata", "add")}

    def _destroyed(self, wanted: Wanted, seen: Iterable[str]) -> list[str]:
        gone = [table for table in self.before if table not in self.after and table in seen]
        return gone if wanted.wants("tableMetadata", "remove") else []


class _Table:
    """One table of a comparison, as a webhook sees it."""

    def __init__(self, compared: Comparison, wanted: Wanted, table_id: str) -> None:
        self._reader = compared.reader
        self._wanted = wanted
        self._before = compared.before.get(table_id)
        self._after = compared.after[table_id]
        self._table = next(table for table in compared.reader.base.tables if table.id == table_id)

    def created(self) -> Names:
        """The table as it was made."""
        records = self._table.records.values() if self._wanted.wants("tableData", "add") else ()
        return {
            "metadata": {name: value for name, value in self._after.about.items() if value is not None},
            "fieldsById": dict(self._after.fields),
            "recordsById": {record.id: self._made(record) for record in records},
        }

    def changed(self) -> Names:
        """What changed in it."""
        return _full(**self._metadata(), **self._fields(), **self._records())

    def _metadata(self) -> Names:
        before, after = self._was.about, self._after.about
        if before == after or not self._wanted.wants("tableMetadata", "update"):
            return {}
        different = [name for name in after if after[name] != before[name]]
        pairs = (("current", after), ("previous", before))
        return {"changedMetadata": {which: {name: about[name] for name in different} for which, about in pairs}}

    def _fields(self) -> Names:
        before, after = self._was.fields, self._after.fields
        watched = self._wanted.schema_fields
        renamed = {
            column: self._field_change(before[column], after[column])
            for column in after
            if column in before and before[column] != after[column] and (not watched or column in watched)
        }
        told: dict[str, tuple[str, Any]] = {
            "createdFieldsById": ("add", {column: after[column] for column in after if column not in before}),
            "changedFieldsById": ("update", renamed),
            "destroyedFieldIds": ("remove", [column for column in before if column not in after]),
        }
        return {name: value for name, (kind, value) in told.items() if self._wanted.wants("tableFields", kind)}

    def _field_change(self, before: Names, after: Names) -> Names:
        different = [name for name in after if after[name] != before[name]]
        previous = {"previous": {name: before[name] for name in different}} if self._wanted.previous_fields else {}
        return {"current": {name: after[name] for name in different}, **previous}

    def _records(self) -> Names:
        before, after = self._was.records, self._after.records
        changed = (record for record in after if record in before and before[record] != after[record])
        told: dict[str, tuple[str, Any]] = {
            "createdRecordsById": (
                "add",
                {record: self._made(self._table.records[record]) for record in after if record not in before},
            ),
            "changedRecordsById": ("update", {record: seen for record in changed if (seen := self._edited(record))}),
            "destroyedRecordIds": ("remove", [record for record in before if record not in after]),
        }
        return {name: value for name, (kind, value) in told.items() if self._wanted.wants("tableData", kind)}

    def _made(self, record: Record) -> Names:
        return {
            "createdTime": times.written(record.created_at),
            **self._cells(self._after.records[record.id], [column.id for column in self._table.fields]),
        }

    def _edited(self, record: str) -> Names:
        before, after = self._was.records[record], self._after.records[record]
        watched = self._wanted.data_fields
        different = [
            column
            for column in dict.fromkeys((*before, *after))
            if before.get(column) != after.get(column) and (not watched or column in watched)
        ]
        if not different:
            return {}
        shown = self._wanted.shown_fields
        others = [
            column.id
            for column in self._table.fields
            if column.id not in different and (shown is None or column.id in shown)
        ]
        return {
            "current": self._cells(after, different, empty=True),
            **({"previous": self._cells(before, different, empty=True)} if self._wanted.previous_cells else {}),
            **({"unchanged": self._cells(after, others)} if others else {}),
        }

    def _cells(self, cells: Cells, columns: Iterable[str], *, empty: bool = False) -> Names:
        values = {column: self._value(column, cells.get(column)) for column in columns if column in self._after.fields}
        return {
            "cellValuesByFieldId": {column: value for column, value in values.items() if empty or value is not None}
        }

    def _value(self, column_id: str, value: Any) -> Any:
        column = find(self._table.fields, column_id)
        return None if column is None or value is None else cell_value(self._reader, column, value)

    @property
    def _was(self) -> TableSnapshot:
        return self._before or self._after


def cell_value(reader: Reader, column: Field, value: Any) -> Any:
    """A cell in the form of webhooks, in which options and linked records are objects."""
    if column.type == "singleSelect":
        return _option(column, value)
    if column.type == "multipleSelects":
        return [_option(column, name) for name in value]
    if column.type == "multipleRecordLinks":
        linked = find(reader.base.tables, column.option("linkedTableId"))
        return [_named(linked, identifier) for identifier in value]
    show = SHOWN.get(column.type)
    return value if show is None else show(reader, column, value)


def _option(column: Field, name: str) -> Names:
    return next((dict(choice) for choice in column.option("choices") if choice["name"] == name), {"name": name})


def _named(table: Table | None, identifier: str) -> Names:
    record = table.records.get(identifier) if table else None
    name = record.cells.get(table.primary.id, "") if table and record else ""
    return {"id": identifier, "name": str(name)}


def _full(**members: Any) -> Names:
    return {name: value for name, value in members.items() if value}
