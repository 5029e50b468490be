"""The vendor's requests, each with what it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from multidict import MultiMapping

from workspace_sandbox.tables import queries, refusals
from workspace_sandbox.tables.access import Access
from workspace_sandbox.tables.model import PERMISSIONS, Base, Field, Record, Table, find
from workspace_sandbox.tables.state import MOST_MERGE_FIELDS, MOST_RECORDS, Manner, Row, Workspace
from workspace_sandbox.tables.values import Reader


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was let in."""

    workspace: Workspace
    iterators: queries.Iterators
    access: Access
    path: Mapping[str, str]
    query: MultiMapping[str]
    body: Mapping[str, Any]
    reader: Reader
    """Shows what is in ``base``."""

    permission: Callable[[Base], str]
    """What the caller may do in a base."""

    replaces: bool
    """Whether it is a PUT."""

    @property
    def base(self) -> Base:
        """The base of the path."""
        return self.reader.base

    def table(self) -> Table:
        """The table of the path, by id or name."""
        table = find(self.base.tables, self.path["table"])
        if table is None:
            raise refusals.no_such_model()
        return table

    def written_table(self) -> Table:
        """The table of the path, if it takes writes."""
        table = self.table()
        if table.synced:
            raise refusals.forbidden()
        return table

    def own_record(self, table: Table) -> Record:
        """The record of the path, which must be one of *table*."""
        record = table.records.get(self.path["record"])
        if record is None:
            raise refusals.no_such_record(self.path["record"])
        return record

    def manner(self) -> Manner:
        """How it is to be written."""
        creates = PERMISSIONS.index(self.permission(self.base)) >= PERMISSIONS.index("create")
        return Manner(self.workspace.user, self.flag("typecast"), creates, self.replaces)

    def flag(self, name: str) -> bool:
        """A yes or no of the body; absent and null are no."""
        value = self.body.get(name)
        if value is not None and not isinstance(value, bool):
            raise refusals.invalid_request()
        return bool(value)

    def shown(self, table: Table, record: Record) -> dict[str, Any]:
        """A record that was written."""
        return self.reader.record(table, record, by_id=self.flag("returnFieldsByFieldId"))


def whoami(call: Call) -> dict[str, Any]:
    """Who the token is of; its scopes are told of OAuth tokens only."""
    email = {"email": call.workspace.user.email} if "user.email:read" in call.access.scopes else {}
    scopes = {"scopes": sorted(call.access.scopes)} if call.access.is_oauth else {}
    return {"id": call.workspace.user.id, **scopes, **email}


def list_bases(call: Call) -> dict[str, Any]:
    """A page of the bases that the token sees; the offset is the first base of the next page."""
    seen = [base for base in call.workspace.bases if call.permission(base) != "none"]
    ids = [f"itr{base.id[3:]}/{base.id}" for base in seen]
    offset = call.query.get("offset")
    if offset is not None and offset not in ids:
        raise refusals.expired_offset()
    start = ids.index(offset) if offset else 0
    end = start + int(call.workspace.stage.knobs["bases_per_page"])
    page = [{"id": base.id, "name": base.name, "permissionLevel": call.permission(base)} for base in seen[start:end]]
    return {"bases": page, **({"offset": ids[end]} if end < len(seen) else {})}


def get_base_schema(call: Call) -> dict[str, Any]:
    """All tables of a base."""
    visible = "visibleFieldIds" in queries.listed(call.query, "include")
    return {"tables": [table.shape(visible=visible) for table in call.base.tables]}


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
        identifier, ids = call.workspace.new_id("itr"), [row.id for row in queries.select(query, table, call.reader)]
        call.iterators.begin(identifier, table, ids, now)
    else:
        seconds = float(call.workspace.stage.knobs["offset_seconds"])
        identifier, ids = call.iterators.resume(query.offset, table, now, seconds)
    rows = [table.records[identifier] for identifier in ids[: query.page_size] if identifier in table.records]
    page = {
        "records": [call.reader.record(table, row, by_id=query.by_id, only=columns, text=query.text) for row in rows]
    }
    return page if len(ids) <= query.page_size else page | {"offset": f"{identifier}/{ids[query.page_size]}"}


def get_record(call: Call) -> dict[str, Any]:
    """A record; one of another table of the base is found too."""
    call.table()
    home = call.base.home(call.path["record"])
    if home is None:
        raise refusals.not_found()
    query = queries.from_query(call.query)
    return call.reader.record(*home, by_id=query.by_id, text=query.text)


def create_records(call: Call) -> dict[str, Any]:
    """New records, or the one of a body without ``records``."""
    table, manner = call.written_table(), call.manner()
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
    """Take one record away."""
    table = call.written_table()
    record = call.own_record(table)
    call.workspace.delete(call.base, table, [record.id])
    return {"id": record.id, "deleted": True}


def delete_records(call: Call) -> dict[str, Any]:
    """Take the records away that the address lists."""
    table, identifiers = call.written_table(), queries.listed(call.query, "records")
    _count(identifiers, "delete")
    call.workspace.delete(call.base, table, identifiers)
    return {"records": [{"id": identifier, "deleted": True} for identifier in identifiers]}


def upload_attachment(call: Call) -> dict[str, Any]:
    """Append a file to a cell, wherever in the base the record is; answered with field ids."""
    home = call.base.home(call.path["record"])
    if home is None:
        raise refusals.not_found()
    table, record = home
    if table.synced:
        raise refusals.forbidden()
    column = queries.column_of(table, call.path["field"])
    call.workspace.upload(call.base, table, record, column, call.body)
    return call.reader.record(table, record, by_id=True, only=[column])


def _fields(row: Mapping[str, Any]) -> Mapping[str, Any]:
    if "fields" not in row:
        raise refusals.missing("fields")
    if not isinstance(row["fields"], dict):
        raise refusals.invalid_request()
    fields: Mapping[str, Any] = row["fields"]
    return fields


def _rows(body: Mapping[str, Any], what: str) -> list[Mapping[str, Any]]:
    """The records of a body: one to ten objects."""
    if "records" not in body:
        raise refusals.missing("records")
    rows = body["records"]
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise refusals.invalid_records("records must be an array of objects")
    _count(rows, what)
    return rows


def _count(rows: list[Any], what: str) -> None:
    if not 1 <= len(rows) <= MOST_RECORDS:
        raise refusals.invalid_records(f"You can {what} 1 to {MOST_RECORDS} records in one request")


def _row(row: Mapping[str, Any], *, upsert: bool) -> Row:
    identifier = row.get("id")
    if identifier is None and not upsert:
        raise refusals.missing("id")
    if not isinstance(identifier, str | None):
        raise refusals.invalid_request()
    return identifier, _fields(row)


def _merge_fields(upsert: Any) -> list[str]:
    names = upsert.get("fieldsToMergeOn") if isinstance(upsert, dict) else None
    if not isinstance(names, list) or not 1 <= len(names) <= MOST_MERGE_FIELDS:
        raise refusals.invalid_request()
    if not all(isinstance(name, str) for name in names):
        raise refusals.invalid_request()
    return names


def renamed(table: Table, key: str, name: str) -> Field:
    """Give a field another name, as somebody does in the application."""
    column = queries.column_of(table, key)
    if not name.strip():
        raise refusals.invalid_request("A field must have a name")
    column.name = name
    return column
