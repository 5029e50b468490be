"""Changes of a base as webhook payloads, computed from snapshots before and after.

A snapshot copies every row, so snapshots are only taken of bases with webhooks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.tables.data import dates
from workspace_sandbox.tables.data.cell_values import RENDERERS, Reader
from workspace_sandbox.tables.data.state import Base, Cells, Field, Record, Table, find

Members = dict[str, Any]
"""Members of a payload."""


@dataclass(frozen=True, slots=True)
class TableSnapshot:
    """A snapshot of a table. Rows have stored values by field id."""

    metadata: Members
    fields: Mapping[str, Members]
    records: Mapping[str, Cells]


def take_snapshot(base: Base) -> dict[str, TableSnapshot]:
    """Return a snapshot of all tables of *base*."""
    return {
        table.id: TableSnapshot(
            {"name": table.name, "description": table.description},
            {column.id: {"name": column.name, "type": column.type} for column in table.fields},
            {record.id: dict(record.cells) for record in table.records.values()},
        )
        for table in base.tables
    }


@dataclass(frozen=True, slots=True)
class ChangeFilter:
    """The changes that a webhook has requested."""

    data_types: frozenset[str]
    change_types: frozenset[str]
    table: str | None
    """The only table that is reported, or None for all."""

    data_fields: frozenset[str]
    """The only fields whose values are reported, or empty for all."""

    schema_fields: frozenset[str]
    """The only fields whose definitions are reported, or empty for all."""

    included_fields: frozenset[str] | None
    """Fields that are included although they did not change, or None for all."""

    previous_cells: bool
    previous_fields: bool

    def includes(self, kind: str, change: str) -> bool:
        """Return True if the webhook has requested that kind of change."""
        return kind in self.data_types and change in self.change_types


@dataclass(frozen=True, slots=True)
class Comparison:
    """A base before and after a change."""

    reader: Reader
    before: Mapping[str, TableSnapshot]
    after: Mapping[str, TableSnapshot]

    def payload(self, change_filter: ChangeFilter) -> Members:
        """Return the payload members for *change_filter*, empty if no requested change happened."""
        visible = [table for table in (*self.before, *self.after) if change_filter.table in {None, table}]
        common = [table for table in self.before if table in self.after and table in visible]
        changed = {table: change for table in common if (change := _Table(self, change_filter, table).changed())}
        return _without_empty(
            changedTablesById=changed,
            createdTablesById=self._created(change_filter, visible),
            destroyedTableIds=self._destroyed(change_filter, visible),
        )

    def _created(self, change_filter: ChangeFilter, visible: Iterable[str]) -> Members:
        created = [table for table in self.after if table not in self.before and table in visible]
        return {
            table: _Table(self, change_filter, table).created()
            for table in created
            if change_filter.includes("tableMetadata", "add")
        }

    def _destroyed(self, change_filter: ChangeFilter, visible: Iterable[str]) -> list[str]:
        destroyed = [table for table in self.before if table not in self.after and table in visible]
        return destroyed if change_filter.includes("tableMetadata", "remove") else []


class _Table:
    """A table of a comparison, filtered for one webhook."""

    def __init__(self, comparison: Comparison, change_filter: ChangeFilter, table_id: str) -> None:
        self._reader = comparison.reader
        self._filter = change_filter
        self._before = comparison.before.get(table_id)
        self._after = comparison.after[table_id]
        self._table = next(table for table in comparison.reader.base.tables if table.id == table_id)

    def created(self) -> Members:
        """Return the created table."""
        records = self._table.records.values() if self._filter.includes("tableData", "add") else ()
        return {
            "metadata": {name: value for name, value in self._after.metadata.items() if value is not None},
            "fieldsById": dict(self._after.fields),
            "recordsById": {record.id: self._created_record(record) for record in records},
        }

    def changed(self) -> Members:
        """Return the changes of the table."""
        return _without_empty(**self._metadata(), **self._fields(), **self._records())

    def _metadata(self) -> Members:
        before, after = self._old.metadata, self._after.metadata
        if before == after or not self._filter.includes("tableMetadata", "update"):
            return {}
        different = [name for name in after if after[name] != before[name]]
        pairs = (("current", after), ("previous", before))
        return {"changedMetadata": {key: {name: metadata[name] for name in different} for key, metadata in pairs}}

    def _fields(self) -> Members:
        before, after = self._old.fields, self._after.fields
        watched = self._filter.schema_fields
        renamed = {
            column: self._field_change(before[column], after[column])
            for column in after
            if column in before and before[column] != after[column] and (not watched or column in watched)
        }
        members: dict[str, tuple[str, Any]] = {
            "createdFieldsById": ("add", {column: after[column] for column in after if column not in before}),
            "changedFieldsById": ("update", renamed),
            "destroyedFieldIds": ("remove", [column for column in before if column not in after]),
        }
        return {name: value for name, (kind, value) in members.items() if self._filter.includes("tableFields", kind)}

    def _field_change(self, before: Members, after: Members) -> Members:
        different = [name for name in after if after[name] != before[name]]
        previous = {"previous": {name: before[name] for name in different}} if self._filter.previous_fields else {}
        return {"current": {name: after[name] for name in different}, **previous}

    def _records(self) -> Members:
        before, after = self._old.records, self._after.records
        changed = (record for record in after if record in before and before[record] != after[record])
        members: dict[str, tuple[str, Any]] = {
            "createdRecordsById": (
                "add",
                {record: self._created_record(self._table.records[record]) for record in after if record not in before},
            ),
            "changedRecordsById": (
                "update",
                {record: change for record in changed if (change := self._changed_record(record))},
            ),
            "destroyedRecordIds": ("remove", [record for record in before if record not in after]),
        }
        return {name: value for name, (kind, value) in members.items() if self._filter.includes("tableData", kind)}

    def _created_record(self, record: Record) -> Members:
        return {
            "createdTime": dates.format_time(record.created_at),
            **self._cells(self._after.records[record.id], [column.id for column in self._table.fields]),
        }

    def _changed_record(self, record: str) -> Members:
        before, after = self._old.records[record], self._after.records[record]
        watched = self._filter.data_fields
        different = [
            column
            for column in dict.fromkeys((*before, *after))
            if before.get(column) != after.get(column) and (not watched or column in watched)
        ]
        if not different:
            return {}
        included = self._filter.included_fields
        others = [
            column.id
            for column in self._table.fields
            if column.id not in different and (included is None or column.id in included)
        ]
        return {
            "current": self._cells(after, different, empty=True),
            **({"previous": self._cells(before, different, empty=True)} if self._filter.previous_cells else {}),
            **({"unchanged": self._cells(after, others)} if others else {}),
        }

    def _cells(self, cells: Cells, columns: Iterable[str], *, empty: bool = False) -> Members:
        values = {column: self._value(column, cells.get(column)) for column in columns if column in self._after.fields}
        return {
            "cellValuesByFieldId": {column: value for column, value in values.items() if empty or value is not None}
        }

    def _value(self, column_id: str, value: Any) -> Any:
        column = find(self._table.fields, column_id)
        return None if column is None or value is None else cell_value(self._reader, column, value)

    @property
    def _old(self) -> TableSnapshot:
        return self._before or self._after


def cell_value(reader: Reader, column: Field, value: Any) -> Any:
    """Return a cell in the format of webhooks, in which options and linked records are objects."""
    if column.type == "singleSelect":
        return _option(column, value)
    if column.type == "multipleSelects":
        return [_option(column, name) for name in value]
    if column.type == "multipleRecordLinks":
        linked = find(reader.base.tables, column.option("linkedTableId"))
        return [_linked_record(linked, identifier) for identifier in value]
    show = RENDERERS.get(column.type)
    return value if show is None else show(reader, column, value)


def _option(column: Field, name: str) -> Members:
    return next((dict(choice) for choice in column.option("choices") if choice["name"] == name), {"name": name})


def _linked_record(table: Table | None, identifier: str) -> Members:
    record = table.records.get(identifier) if table else None
    name = record.cells.get(table.primary.id, "") if table and record else ""
    return {"id": identifier, "name": str(name)}


def _without_empty(**members: Any) -> Members:
    return {name: value for name, value in members.items() if value}
