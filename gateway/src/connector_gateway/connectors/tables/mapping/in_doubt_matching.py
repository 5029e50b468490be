"""Recognition of the results of writes."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from connector_gateway.connectors.tables import value_casts, vendor_models
from connector_gateway.connectors.tables.mapping.records import StoredData, Values, read_cell

AUTHOR = "createdBy"


def comparison_keys(intent: StoredData) -> list[Any]:
    """Return the intended content of each record, equal for records that cannot be distinguished."""
    return [[intent["table_id"], _distinguishing_values(row)] for row in intent["rows"]]


def _distinguishing_values(row: StoredData) -> Values:
    return {
        field_id: value_casts.write_comparison.comparison_key(value)
        for field_id, value in row.items()
        if not value_casts.write_comparison.is_empty(value)
    }


def has_author_field(table: vendor_models.Table) -> bool:
    """Return True if the records of a table name their creators."""
    return any(field.type == AUTHOR for field in table.fields)


def may_be_by(table: vendor_models.Table, record: vendor_models.Record, user_id: str) -> bool:
    """Return True if a record may be ours: no field names another creator."""
    author_cells = {field.id: record.fields.get(field.id) for field in table.fields if field.type == AUTHOR}
    authors = [
        read_cell(author, vendor_models.User, field_id)
        for field_id, author in author_cells.items()
        if author is not None
    ]
    return all(author.id == user_id for author in authors)


def is_record(table: vendor_models.Table, cells: vendor_models.Cells, values: StoredData, filled: StoredData) -> bool:
    """Return True if a record with these *cells* has exactly *values*.

    Fields that were not written must be empty, or contain a default value of *filled*. Computed fields are ignored.
    """
    kinds = {field.id: field.type for field in table.fields if field.type in value_casts.to_vendor.CASTS}
    current = {field_id: value for field_id, value in cells.items() if field_id in kinds}
    more = {
        field_id: value
        for field_id, value in current.items()
        if field_id not in values and not value_casts.write_comparison.is_empty(value)
    }
    return has_values(table, cells, values) and values.keys() <= kinds.keys() and more.items() <= filled.items()


def matching_records(
    table: vendor_models.Table, intent: StoredData, records: Iterable[vendor_models.Record], *, restored: bool = False
) -> list[tuple[int, vendor_models.Record]]:
    """Return the records that equal those of a request, oldest first, each with its possible indices in the request.

    Returns none if there are too few, because the vendor creates all records of a request or none. A call whose journal
    is lost since the database was *restored* may also have created some of them with requests of their own.
    """
    aged = sorted(records, key=lambda record: record.created_time)
    candidates = [
        (slot, record)
        for slot, row in enumerate(intent["rows"])
        for record in aged
        if is_record(table, record.fields, row, intent["filled_in"])
    ]
    expected, slot_counts = comparison_keys(intent), Counter(slot for slot, _ in candidates)
    is_complete = all(slot_counts[slot] >= expected.count(content) for slot, content in enumerate(expected))
    return candidates if is_complete or restored else []


def has_values(table: vendor_models.Table, cells: vendor_models.Cells, values: StoredData) -> bool:
    """Return True if *cells* contain *values*, both by field id."""
    kinds = {field.id: field.type for field in table.fields}
    return values.keys() <= kinds.keys() and all(
        value_casts.write_comparison.equals_written(kinds[field_id], value, cells.get(field_id))
        for field_id, value in values.items()
    )
