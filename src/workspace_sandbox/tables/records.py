"""Records: listed, read, created, updated and deleted."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.tables import queries, wire
from workspace_sandbox.tables.call import Call
from workspace_sandbox.tables.state import Field, Record, Table
from workspace_sandbox.tables.workspace import MOST_MERGE_FIELDS, MOST_RECORDS, Row


def list_records(call: Call) -> dict[str, Any]:
    """A page of a table."""
    return _page(call, queries.from_query(call.query))


def list_records_by_body(call: Call) -> dict[str, Any]:
    """The same, asked in a body; the time zone and the locale may stay in the address."""
    return _page(call, queries.from_body({**call.query, **call.body}))


def _page(call: Call, query: queries.ListQuery) -> dict[str, Any]:
    table, now = call.table(), call.reader.now
    columns = query.columns(table)
    if query.offset is None:
        # The order is fixed when the list begins. What is deleted meanwhile is missing, what is new does not come.
        identifier, ids = call.workspace.new_id("itr"), [row.id for row in queries.select(query, table, call.reader)]
        call.iterators.begin(identifier, table, ids, now)
    else:
        seconds = float(call.workspace.stage.knobs["offset_seconds"])
        identifier, ids = call.iterators.resume(query.offset, table, now, seconds)
    rows = [table.records[identifier] for identifier in ids[: query.page_size] if identifier in table.records]
    page: dict[str, Any] = {"records": [_shown(call, query, table, row, columns) for row in rows]}
    return page if len(ids) <= query.page_size else page | {"offset": f"{identifier}/{ids[query.page_size]}"}


def _shown(
    call: Call, query: queries.ListQuery, table: Table, row: Record, columns: list[Field] | None = None
) -> dict[str, Any]:
    shown = call.reader.record(table, row, by_id=query.by_id, only=columns, text=query.text)
    return shown | ({"commentCount": len(row.comments)} if query.comments else {})


def get_record(call: Call) -> dict[str, Any]:
    """A record; one of another table of the base is found too."""
    call.table()
    # The reference says that a record of another table is found too. Hence a GET proves nothing about the table.
    home = require(call.base.home(call.path["record"]), wire.not_found())
    query = queries.from_query(call.query)
    return _shown(call, query, *home)


def create_records(call: Call) -> dict[str, Any]:
    """New records, or the one of a body without ``records``."""
    table, manner = call.written_table(), call.manner()
    # The older form for a single record, which Airtable's own library for JavaScript still sends.
    if "records" not in call.body:
        (record,) = call.workspace.create(call.base, table, [_fields(call.body)], manner)
        return call.shown(table, record)
    rows = [_fields(row) for row in _rows(call.body, "create")]
    return {"records": [call.shown(table, row) for row in call.workspace.create(call.base, table, rows, manner)]}


def update_record(call: Call) -> dict[str, Any]:
    """Change one record."""
    table = call.written_table()
    row = (call.own_record(table).id, _fields(call.body))
    (record,) = call.workspace.update(call.base, table, [row], call.manner())
    return call.shown(table, record)


def update_records(call: Call) -> dict[str, Any]:
    """Change several records, and with ``performUpsert`` make those that are not there."""
    table, upsert = call.written_table(), call.body.get("performUpsert")
    rows = [_row(row, upsert=upsert is not None) for row in _rows(call.body, "update")]
    if upsert is None:
        changed = call.workspace.update(call.base, table, rows, call.manner())
        return {"records": [call.shown(table, row) for row in changed]}
    merged = call.workspace.merge(call.base, table, rows, _merge_fields(upsert), call.manner())
    return {
        "createdRecords": merged.created,
        "updatedRecords": merged.updated,
        "records": [call.shown(table, row) for row in merged.records],
    }


def delete_record(call: Call) -> dict[str, Any]:
    """Delete one record."""
    table = call.written_table()
    record = call.own_record(table)
    call.workspace.delete(call.base, table, [record.id])
    return {"id": record.id, "deleted": True}


def delete_records(call: Call) -> dict[str, Any]:
    """Delete the records that the address lists."""
    table, identifiers = call.written_table(), queries.listed(call.query, "records")
    _count(identifiers, "delete")
    call.workspace.delete(call.base, table, identifiers)
    return {"records": [{"id": identifier, "deleted": True} for identifier in identifiers]}


def _fields(row: Mapping[str, Any]) -> Mapping[str, Any]:
    if "fields" not in row:
        raise wire.missing("fields")
    if not isinstance(row["fields"], dict):
        raise wire.invalid_request()
    fields: Mapping[str, Any] = row["fields"]
    return fields


def _rows(body: Mapping[str, Any], what: str) -> list[Mapping[str, Any]]:
    """The records of a body: one to ten objects."""
    if "records" not in body:
        raise wire.missing("records")
    rows = body["records"]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise wire.invalid_records("records must be an array of objects")
    _count(rows, what)
    return rows


def _count(rows: list[Any], what: str) -> None:
    if not 1 <= len(rows) <= MOST_RECORDS:
        raise wire.invalid_records(f"You can {what} 1 to {MOST_RECORDS} records in one request")


def _row(row: Mapping[str, Any], *, upsert: bool) -> Row:
    identifier = row.get("id")
    if identifier is None and not upsert:
        raise wire.missing("id")
    if not isinstance(identifier, str | None):
        raise wire.invalid_request()
    return identifier, _fields(row)


def _merge_fields(upsert: Any) -> list[str]:
    names = upsert.get("fieldsToMergeOn") if isinstance(upsert, dict) else None
    if not isinstance(names, list) or not 1 <= len(names) <= MOST_MERGE_FIELDS:
        raise wire.invalid_request()
    if not all(isinstance(name, str) for name in names):
        raise wire.invalid_request()
    return names
