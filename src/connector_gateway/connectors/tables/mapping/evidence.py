"""Recognises what a write has made."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from connector_gateway.connectors.tables import casts, wire
from connector_gateway.connectors.tables.mapping.records import Kept, Values, read_cell

AUTHOR = "createdBy"


def contents(intent: Kept) -> list[Any]:
    """What each record of a request is to hold; equal where the records cannot be told apart."""
    return [[intent["table_id"], _told_apart(row)] for row in intent["rows"]]


def _told_apart(row: Kept) -> Values:
    return {
        field_id: casts.comparison.told_apart(value)
        for field_id, value in row.items()
        if not casts.comparison.is_empty(value)
    }


def tells_authors(table: wire.Table) -> bool:
    """Whether the records of a table say who made them."""
    return any(field.type == AUTHOR for field in table.fields)


def may_be_by(table: wire.Table, record: wire.Record, user_id: str) -> bool:
    """Whether a record may be ours: nothing in it names somebody else as its maker."""
    told = {field.id: record.fields.get(field.id) for field in table.fields if field.type == AUTHOR}
    authors = [read_cell(author, wire.User, field_id) for field_id, author in told.items() if author is not None]
    return all(author.id == user_id for author in authors)


def is_record(table: wire.Table, cells: wire.Cells, values: Kept, filled: Kept) -> bool:
    """Whether a record with these *cells* is exactly what *values* make.

    Fields that were not written must be empty, or hold what the table has filled in before. Computed fields do not
    count.
    """
    kinds = {field.id: field.type for field in table.fields if field.type in casts.to_vendor.CASTS}
    held = {field_id: value for field_id, value in cells.items() if field_id in kinds}
    more = {
        field_id: value
        for field_id, value in held.items()
        if field_id not in values and not casts.comparison.is_empty(value)
    }
    return bears(table, cells, values) and values.keys() <= kinds.keys() and more.items() <= filled.items()


def matching_records(table: wire.Table, intent: Kept, records: Iterable[wire.Record]) -> list[tuple[int, wire.Record]]:
    """The records that equal those of a request, oldest first, each with every place in the request that it may have.

    Empty if they are too few, since the vendor makes all records of a request or none.
    """
    aged = sorted(records, key=lambda record: record.created_time)
    found = [
        (slot, record)
        for slot, row in enumerate(intent["rows"])
        for record in aged
        if is_record(table, record.fields, row, intent["filled_in"])
    ]
    wanted, there = contents(intent), Counter(slot for slot, _ in found)
    is_whole = all(there[slot] >= wanted.count(content) for slot, content in enumerate(wanted))
    return found if is_whole else []


def bears(table: wire.Table, cells: wire.Cells, values: Kept) -> bool:
    """Whether *cells* hold *values*, both by field id."""
    kinds = {field.id: field.type for field in table.fields}
    return values.keys() <= kinds.keys() and all(
        casts.comparison.same(kinds[field_id], value, cells.get(field_id)) for field_id, value in values.items()
    )
