"""The routes of records: list, read, create, update and delete."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.tables import error_responses
from workspace_sandbox.tables.data import record_queries
from workspace_sandbox.tables.data.record_operations import MAX_MERGE_FIELDS, MAX_RECORDS, Row
from workspace_sandbox.tables.data.state import Field, Record, Table
from workspace_sandbox.tables.request import ApiRequest


def list_records(request: ApiRequest) -> dict[str, Any]:
    """List records."""
    return _page(request, record_queries.from_query(request.query))


def list_records_by_body(request: ApiRequest) -> dict[str, Any]:
    """List records with parameters in the body. The time zone and locale may be in the URL."""
    return _page(request, record_queries.from_body({**request.query, **request.body}))


def _page(request: ApiRequest, query: record_queries.ListQuery) -> dict[str, Any]:
    table, now = request.table(), request.reader.now
    columns = query.columns(table)
    if query.offset is None:
        # The order is fixed when the list begins. Later deletions are missing, and new records are not included.
        identifier, ids = (
            request.workspace.new_id("itr"),
            [row.id for row in record_queries.select(query, table, request.reader)],
        )
        request.iterators.begin(identifier, table, ids, now)
    else:
        seconds = float(request.workspace.context.knobs["offset_seconds"])
        identifier, ids = request.iterators.resume(query.offset, table, now, seconds)
    rows = [table.records[identifier] for identifier in ids[: query.page_size] if identifier in table.records]
    page: dict[str, Any] = {"records": [_record_json(request, query, table, row, columns) for row in rows]}
    return page if len(ids) <= query.page_size else page | {"offset": f"{identifier}/{ids[query.page_size]}"}


def _record_json(
    request: ApiRequest, query: record_queries.ListQuery, table: Table, row: Record, columns: list[Field] | None = None
) -> dict[str, Any]:
    fields = request.reader.record(table, row, by_id=query.by_id, only=columns, text=query.text)
    return fields | ({"commentCount": len(row.comments)} if query.comments else {})


def get_record(request: ApiRequest) -> dict[str, Any]:
    """Return a record, also one of another table in the base."""
    request.table()
    # As documented, records of other tables are returned too. A GET therefore proves nothing about the table.
    location = require(request.base.find_record(request.path["record"]), error_responses.not_found())
    query = record_queries.from_query(request.query)
    return _record_json(request, query, *location)


def create_records(request: ApiRequest) -> dict[str, Any]:
    """Create records, or one from a body without ``records``."""
    table, options = request.writable_table(), request.write_options()
    # The older form for a single record, which Airtable's JavaScript library still sends.
    if "records" not in request.body:
        (record,) = request.workspace.create(request.base, table, [_fields(request.body)], options)
        return request.record_json(table, record)
    rows = [_fields(row) for row in _rows(request.body, "create")]
    return {
        "records": [
            request.record_json(table, row) for row in request.workspace.create(request.base, table, rows, options)
        ]
    }


def update_record(request: ApiRequest) -> dict[str, Any]:
    """Update one record."""
    table = request.writable_table()
    row = (request.path_record(table).id, _fields(request.body))
    (record,) = request.workspace.update(request.base, table, [row], request.write_options())
    return request.record_json(table, record)


def update_records(request: ApiRequest) -> dict[str, Any]:
    """Update several records. With ``performUpsert``, missing ones are created."""
    table, upsert = request.writable_table(), request.body.get("performUpsert")
    rows = [_row(row, upsert=upsert is not None) for row in _rows(request.body, "update")]
    if upsert is None:
        updated = request.workspace.update(request.base, table, rows, request.write_options())
        return {"records": [request.record_json(table, row) for row in updated]}
    merged = request.workspace.merge(request.base, table, rows, _merge_fields(upsert), request.write_options())
    return {
        "createdRecords": merged.created,
        "updatedRecords": merged.updated,
        "records": [request.record_json(table, row) for row in merged.records],
    }


def delete_record(request: ApiRequest) -> dict[str, Any]:
    """Delete one record."""
    table = request.writable_table()
    record = request.path_record(table)
    request.workspace.delete(request.base, table, [record.id])
    return {"id": record.id, "deleted": True}


def delete_records(request: ApiRequest) -> dict[str, Any]:
    """Delete the records listed in the URL."""
    table, identifiers = request.writable_table(), record_queries.list_parameter(request.query, "records")
    _count(identifiers, "delete")
    request.workspace.delete(request.base, table, identifiers)
    return {"records": [{"id": identifier, "deleted": True} for identifier in identifiers]}


def _fields(row: Mapping[str, Any]) -> Mapping[str, Any]:
    if "fields" not in row:
        raise error_responses.missing("fields")
    if not isinstance(row["fields"], dict):
        raise error_responses.invalid_request()
    fields: Mapping[str, Any] = row["fields"]
    return fields


def _rows(body: Mapping[str, Any], verb: str) -> list[Mapping[str, Any]]:
    """Return the records of a body: one to ten objects."""
    if "records" not in body:
        raise error_responses.missing("records")
    rows = body["records"]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise error_responses.invalid_records("records must be an array of objects")
    _count(rows, verb)
    return rows


def _count(rows: list[Any], verb: str) -> None:
    if not 1 <= len(rows) <= MAX_RECORDS:
        raise error_responses.invalid_records(f"You can {verb} 1 to {MAX_RECORDS} records in one request")


def _row(row: Mapping[str, Any], *, upsert: bool) -> Row:
    identifier = row.get("id")
    if identifier is None and not upsert:
        raise error_responses.missing("id")
    if not isinstance(identifier, str | None):
        raise error_responses.invalid_request()
    return identifier, _fields(row)


def _merge_fields(upsert: Any) -> list[str]:
    names = upsert.get("fieldsToMergeOn") if isinstance(upsert, dict) else None
    if not isinstance(names, list) or not 1 <= len(names) <= MAX_MERGE_FIELDS:
        raise error_responses.invalid_request()
    if not all(isinstance(name, str) for name in names):
        raise error_responses.invalid_request()
    return names
