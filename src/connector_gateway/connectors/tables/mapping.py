"""Between the vendor's shapes and ours: pure functions."""

from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from typing import Any, TypeVar

from connector_gateway.connectors.tables import casts, wire
from connector_gateway.connectors.tables.models import (
    AttachedFile,
    CreatedRecords,
    CreateRecords,
    FailedRecord,
    Record,
    Table,
    TableField,
    UpdateRecord,
)
from connector_gateway.kit.call import RemoteFile
from connector_gateway.kit.errors import (
    FieldNotFound,
    GatewayError,
    LossyCast,
    OutcomeUnknown,
    ReadOnlyField,
    SelectOptionMissing,
    TableNotFound,
    UpstreamRefused,
    UpstreamUnexpected,
    ViewNotFound,
)
from connector_gateway.kit.faults import gathered
from connector_gateway.kit.shapes import Page
from connector_gateway.kit.wire import UnexpectedShape, converted

W = TypeVar("W")
Values = dict[str, Any]
"""Cells in the vendor's form, by field identifier."""

Kept = Mapping[str, Any]
"""What is planned or was learned: JSON of our own, kept until the call has ended."""

CASTING = (FieldNotFound, ReadOnlyField, LossyCast, SelectOptionMissing)
"""Why fields cannot be written as they were given."""

REFUSED = (UpstreamRefused, *CASTING)
"""What the application refuses values with; nothing of the request was done then."""

ATTACHMENTS = "multipleAttachments"
LINKS = "multipleRecordLinks"
AUTHOR = "createdBy"


# Tables


def tables(found: Iterable[wire.Table], *, include_views: bool) -> list[Table]:
    """The descriptions of tables."""
    return [table(one, include_views=include_views) for one in found]


def table(table: wire.Table, *, include_views: bool) -> Table:
    """The description of a table."""
    return Table(
        table=table.name,
        table_id=table.id,
        primary_field=_primary_field(table),
        fields=[TableField(name=field.name, type=field.type) for field in table.fields],
        views=[view.name for view in table.views] if include_views else None,
    )


def _primary_field(table: wire.Table) -> str:
    found = next((field.name for field in table.fields if field.id == table.primary_field_id), None)
    if found is None:
        raise UpstreamUnexpected("The application names a primary field that the table lacks.", {"place": table.id})
    return found


def find_table(tables: Sequence[wire.Table], wanted: str) -> wire.Table:
    """The table of that identifier, else of exactly that name."""
    by_id = (table for table in tables if table.id == wanted)
    by_name = (table for table in tables if table.name == wanted)
    found = next(by_id, None) or next(by_name, None)
    if found is None:
        raise TableNotFound(
            f'The base has no table "{wanted}".',
            {"parameter": "table", "value": wanted, "allowed": [table.name for table in tables]},
        )
    return found


def view_id(table: wire.Table, wanted: str | None) -> str | None:
    """The identifier of the view so identified or named; None for no view."""
    if wanted is None:
        return None
    by_id = (view for view in table.views if view.id == wanted)
    by_name = (view for view in table.views if view.name == wanted)
    found = next(by_id, None) or next(by_name, None)
    if found is None:
        raise ViewNotFound(
            f'Table "{table.name}" has no view "{wanted}".',
            {"parameter": "view", "value": wanted, "allowed": [view.name for view in table.views]},
        )
    return found.id


# Reading records


def page(records: wire.Records) -> Page[Record]:
    """A page of records."""
    position = {"offset": records.offset} if records.offset else None
    return Page[Record](items=[record(item) for item in records.records], position=position)


def record(record: wire.Record) -> Record:
    """A record."""
    return Record(record_id=record.id, fields=dict(record.fields), created_at=record.created_time)


# Casting what was given


def writable(table: wire.Table, fields: Mapping[str, Any]) -> Values:
    """The vendor's form of *fields*; where something does not fit, one error that tells of everything."""
    values, faults = fitted(table, fields, new_options=False)
    if faults:
        raise gathered(faults)
    return values


def fitted(table: wire.Table, fields: Mapping[str, Any], *, new_options: bool) -> tuple[Values, list[GatewayError]]:
    """The vendor's form of *fields*, as far as they fit, and what does not, in the order given.

    Selects may name options they lack if *new_options* are allowed.
    """
    known = {field.name: field for field in table.fields}
    values: Values = {}
    faults: list[GatewayError] = []
    for name, value in fields.items():
        try:
            field = _writable_field(table, known, name, value)
            values[field.id] = casts.cast(field, value)
        except CASTING as fault:
            faults.append(fault)
        else:
            faults += casts.option_faults(field, values[field.id], new_options=new_options)
    return values, faults


def _writable_field(table: wire.Table, known: Mapping[str, wire.Field], name: str, value: Any) -> wire.Field:
    """The field of that name; ``FieldNotFound`` or ``ReadOnlyField`` for one that cannot be written."""
    field, shown = known.get(name), casts.plain(value)
    if field is None:
        about = {"field": name, "value": shown, "allowed": list(known)}
        raise FieldNotFound(f'Table "{table.name}" has no field "{name}".', about)
    if field.type not in casts.CASTS:
        raise ReadOnlyField(f'"{name}" cannot be written.', {"field": name, "type": field.type, "value": shown})
    return field


def change(table: wire.Table, params: UpdateRecord) -> Kept:
    """What is planned for a change of a record."""
    place = {"base_id": params.base_id, "table_id": table.id, "record_id": params.record_id}
    return {**place, "values": writable(table, params.fields)}


# Creating records


@dataclass(frozen=True)
class Draft:
    """A record that can be made: its place in the request, its values by field id, and whether it brings options."""

    index: int
    values: Values
    new_options: bool


@dataclass
class Batch:
    """The records of one call: those that fit the table, and what became of each."""

    params: CreateRecords
    table_id: str = ""
    names: dict[str, str] = field(default_factory=dict)
    """The names of the fields that are written, by identifier."""

    filled_in: Kept = field(default_factory=dict)
    """What fields were seen to hold by themselves, by identifier."""

    drafts: dict[int, Draft] = field(default_factory=dict)
    created: dict[int, str] = field(default_factory=dict)
    failed: dict[int, list[FailedRecord]] = field(default_factory=dict)

    @property
    def left(self) -> list[Draft]:
        """The drafts that were neither made nor refused yet."""
        return [draft for index, draft in sorted(self.drafts.items()) if index not in {*self.created, *self.failed}]

    def follow(self, plan: Kept) -> None:
        """Take over a plan: of all records, or a later one of some."""
        self.table_id = plan["table_id"]
        self.names |= plan["names"]
        self.filled_in = plan["filled_in"]
        self.drafts |= {draft["index"]: Draft(**draft) for draft in plan["drafts"]}
        failed = defaultdict(list)
        for item in plan["failed"]:
            failed[item["index"]].append(FailedRecord.model_validate(item))
        self.failed |= failed

    def creation(self, group: Sequence[Draft]) -> Kept:
        """A request for records, all of them with new options or none."""
        return {
            "base_id": self.params.base_id,
            "table_id": self.table_id,
            "rows": [draft.values for draft in group],
            "typecast": group[0].new_options,
            "filled_in": self.filled_in,
        }

    def refuse(self, draft: Draft, refusal: GatewayError) -> None:
        """Report a record as not made because the application did not take it."""
        self.failed[draft.index] = [refused_record(self.names, draft, self.params.records[draft.index], refusal)]

    def result(self) -> CreatedRecords:
        """What the caller is told, in the order of the request."""
        return CreatedRecords(
            created=[self.created[index] for index in sorted(self.created)],
            failed=[item for index in sorted(self.failed) for item in self.failed[index]],
        )


def drafts(
    table: wire.Table, records: Sequence[Mapping[str, Any]], *, new_options: bool
) -> tuple[list[Draft], list[FailedRecord]]:
    """Those of *records* that fit the table, and everything that is wrong with the others."""
    fit: list[Draft] = []
    failed: list[FailedRecord] = []
    for index, fields in enumerate(records):
        values, faults = fitted(table, fields, new_options=new_options)
        failed += [failed_record(index, fault) for fault in faults]
        if not faults:
            fit.append(Draft(index, values, _brings_options(table, values)))
    return fit, failed


def _brings_options(table: wire.Table, values: Values) -> bool:
    return any(casts.missing_options(field, values.get(field.id)) for field in table.fields)


def failed_record(index: int, fault: GatewayError) -> FailedRecord:
    """The entry for one fault of a record."""
    (detail,) = fault.details
    return FailedRecord(index=index, error=fault.code, field=detail["field"], value=detail["value"])


def refused_record(
    names: Mapping[str, str], draft: Draft, fields: Mapping[str, Any], refusal: GatewayError
) -> FailedRecord:
    """The entry of a record that the application refused, with the field that it speaks of, if that can be told.

    *names* are those of the fields, by identifier.
    """
    name = _blamed(names, draft, fields, refusal.private) if isinstance(refusal, REFUSED) else None
    return FailedRecord(
        index=draft.index,
        error=refusal.code if isinstance(refusal, CASTING) and name else "upstream_refused",
        field=name,
        value=casts.plain(fields[name]) if name else None,
        vendor_code=_told(refusal, "vendor_code"),
        vendor_message=_told(refusal, "vendor_message"),
    )


def _told(refusal: GatewayError, what: str) -> str | None:
    """What the application gave as its reason, if it did."""
    return next((detail[what] for detail in refusal.details if what in detail), None)


def _blamed(names: Mapping[str, str], draft: Draft, fields: Mapping[str, Any], text: str) -> str | None:
    """The field that a refusal is about: the only one there is, the one it names, or the one whose value it names."""
    written = {names[field_id]: value for field_id, value in draft.values.items()}
    named = [name for name in written if f'"{name}"' in text]
    valued = [name for name, value in written.items() if any(_speaks_of(text, word) for word in _words(value))]
    return next((found[0] for found in (list(fields), named, valued) if len(found) == 1), None)


def _speaks_of(text: str, word: str) -> bool:
    return f'"{word}"' in text or (casts.RECORD_ID.fullmatch(word) is not None and word in text)


def _words(value: Any) -> list[str]:
    parts = value if isinstance(value, list) else [value]
    return [part for part in parts if isinstance(part, str) and part]


def links(table: wire.Table, draft: Draft) -> dict[str, tuple[str, list[str]]]:
    """The links of a draft: by field name, the identifiers of the linked table and of the records."""
    return {
        field.name: (_linked_table(field), draft.values[field.id])
        for field in table.fields
        if field.type == LINKS and draft.values.get(field.id)
    }


def _linked_table(field: wire.Field) -> str:
    linked = field.options().linked_table_id
    if not linked:
        raise UpstreamUnexpected("The application does not tell where a field links to.", {"place": field.id})
    return linked


def astray(draft: Draft, field: str, linked: Sequence[str], there: Collection[str]) -> list[FailedRecord]:
    """The entries of a field's links to records that are not *there*."""
    return [
        FailedRecord(index=draft.index, error="upstream_refused", field=field, value=record_id)
        for record_id in linked
        if record_id not in there
    ]


def batch(table: wire.Table, drafts: Sequence[Draft], failed: Sequence[FailedRecord], filled_in: Kept) -> Kept:
    """What is planned for the records of a call; records with an entry in *failed* are not made.

    *filled_in* is what the table is known to fill in by itself.
    """
    unfit = {item.index for item in failed}
    fit = [draft for draft in drafts if draft.index not in unfit]
    written = {field_id for draft in fit for field_id in draft.values}
    writable = {field.id for field in table.fields if field.type in casts.CASTS}
    return {
        "table_id": table.id,
        "names": {field.id: field.name for field in table.fields if field.id in written},
        "drafts": [asdict(draft) for draft in fit],
        "failed": [item.model_dump(mode="json") for item in failed],
        "filled_in": {field_id: value for field_id, value in filled_in.items() if field_id in writable},
    }


def filled_in(row: wire.Row, written: Kept) -> Values:
    """The values of a new record that were not written: computed ones, and defaults, which no schema tells."""
    return {field_id: value for field_id, value in row.fields.items() if field_id not in written}


# Recognising what a write has made


def contents(intent: Kept) -> list[Any]:
    """What each record of a request is to hold; equal where the records cannot be told apart."""
    return [[intent["table_id"], _told_apart(row)] for row in intent["rows"]]


def _told_apart(row: Kept) -> Values:
    return {field_id: casts.told_apart(value) for field_id, value in row.items() if not casts.is_empty(value)}


def tells_authors(table: wire.Table) -> bool:
    """Whether the records of a table say who made them."""
    return any(field.type == AUTHOR for field in table.fields)


def may_be_by(table: wire.Table, record: wire.Record, user_id: str) -> bool:
    """Whether a record may be ours: nothing in it names somebody else as its maker."""
    told = {field.id: record.fields.get(field.id) for field in table.fields if field.type == AUTHOR}
    authors = [_cell(author, wire.User, field_id) for field_id, author in told.items() if author is not None]
    return all(author.id == user_id for author in authors)


def is_record(table: wire.Table, cells: wire.Cells, values: Kept, filled: Kept) -> bool:
    """Whether a record with these *cells* is exactly what *values* make.

    Fields that were not written must be empty, or hold what the table has filled in before. Computed fields do not
    count.
    """
    kinds = {field.id: field.type for field in table.fields if field.type in casts.CASTS}
    held = {field_id: value for field_id, value in cells.items() if field_id in kinds}
    more = {field_id: value for field_id, value in held.items() if field_id not in values and not casts.is_empty(value)}
    return bears(table, cells, values) and values.keys() <= kinds.keys() and more.items() <= filled.items()


def made_of(table: wire.Table, intent: Kept, records: Iterable[wire.Record]) -> list[tuple[int, wire.Record]]:
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
        casts.same(kinds[field_id], value, cells.get(field_id)) for field_id, value in values.items()
    )


# Attachments


def attachment_cell(table: wire.Table, name: str) -> Kept:
    """Identifier and name of the attachment field of that name."""
    field = next((field for field in table.fields if field.name == name), None)
    if field is None:
        allowed = [field.name for field in table.fields if field.type == ATTACHMENTS]
        raise no_attachment_field(f'Table "{table.name}"', name, allowed=allowed)
    about = {"parameter": "field", "field": name, "value": name, "type": field.type}
    if field.type not in casts.CASTS:
        raise gathered([ReadOnlyField(f'"{name}" cannot be written.', about)])
    if field.type != ATTACHMENTS:
        raise gathered([LossyCast(f'"{name}" is of type {field.type}, which holds no files.', about)])
    return {"id": field.id, "name": field.name}


def no_attachment_field(table: str, name: str, **more: list[str]) -> GatewayError:
    """The error for a field that *table*, in words, lacks."""
    about = {"parameter": "field", "field": name, "value": name, **more}
    return gathered([FieldNotFound(f'{table} has no field "{name}".', about)])


def upload(intent: Kept, content: bytes) -> Values:
    """The vendor's form of a file that is sent along."""
    file = b64encode(content).decode()
    return {"contentType": intent["mime_type"], "filename": intent["filename"], "file": file}


def with_link(intent: Kept, attachment_ids: Iterable[str]) -> Values:
    """The vendor's form of a cell that keeps its attachments and gains one that the vendor is to fetch."""
    there = [{"id": attachment_id} for attachment_id in attachment_ids]
    return {intent["field"]["id"]: [*there, {"url": intent["url"], "filename": intent["filename"]}]}


def tables_with(tables: Iterable[wire.Table], field: str) -> list[str]:
    """The identifiers of the tables that have a field of that name."""
    return [table.id for table in tables if any(described.name == field for described in table.fields)]


def open_bases(bases: Iterable[wire.Base]) -> list[str]:
    """The identifiers of the bases whose records the account may see."""
    return [base.id for base in bases if base.permission_level != "none"]


def attachments(row: wire.Row, cell: Kept) -> Sequence[wire.Attachment]:
    """The attachments in a cell, whichever way its field is named."""
    held = row.fields.get(cell["id"]) or row.fields.get(cell["name"]) or []
    return _cell(held, list[wire.Attachment], cell["id"])


def _cell(value: Any, shape: type[W], field_id: str) -> W:
    """The value of a cell as *shape*; ``UpstreamUnexpected`` if it has another one."""
    try:
        return converted(value, shape)
    except UnexpectedShape as fault:
        where = f"fields.{field_id}{fault.place}"
        raise UpstreamUnexpected(
            "The application answered in an unknown shape.", {"place": where}, private=f"{fault}, in {where}"
        ) from fault


def planned_file(place: Kept, url: str, filename: str, file: RemoteFile) -> Kept:
    """A file that is to be attached at a *place*; large ones have no digest, since the vendor fetches them itself."""
    digest = None if file.content is None else digest_of(file.content)
    about = {"filename": filename, "mime_type": file.mime_type, "size_bytes": file.size_bytes, "digest": digest}
    return {**place, "url": url, **about}


def digest_of(content: bytes) -> str:
    """What tells a file from another one."""
    return sha256(content).hexdigest()


def attachment_content(intent: Kept) -> Kept:
    """What identifies an attachment; the size of a file that the vendor fetches is known only to the vendor."""
    known = ("base_id", "record_id", "field", "filename") + (() if intent["digest"] is None else ("size_bytes",))
    return {name: intent[name] for name in known}


def added(row: wire.Row, intent: Kept, before: Collection[str]) -> list[wire.Attachment]:
    """The attachments in a cell that were not there *before*."""
    return [item for item in attachments(row, intent["field"]) if item.id not in before]


def alike(row: wire.Row, intent: Kept, before: Collection[str]) -> list[wire.Attachment]:
    """The new attachments that look like the one to be made."""
    return [item for item in added(row, intent, before) if is_attachment(item, intent)]


def is_attachment(item: wire.Attachment, intent: Kept) -> bool:
    """Whether an attachment looks like the one that was to be made."""
    is_size = intent["digest"] is None or item.size == intent["size_bytes"]
    return item.filename == intent["filename"] and is_size


def made_attachment(row: wire.Row, intent: Kept, before: Collection[str]) -> wire.Attachment:
    """The attachment that a request has made; ``OutcomeUnknown`` if its answer does not show one."""
    try:
        new = alike(row, intent, before) or added(row, intent, before)
    except UpstreamUnexpected as fault:
        raise OutcomeUnknown(fault.message, *fault.details, private=fault.private, doubt="garbled") from fault
    if not new:
        raise OutcomeUnknown("The application took the file, but does not show it.", doubt="garbled")
    return new[-1]


def kept_attachment(item: wire.Attachment, intent: Kept) -> Values:
    """What is kept of an attachment that was made; the vendor knows its size only once it has fetched it."""
    size_bytes = item.size or intent["size_bytes"]
    return {"id": item.id, "filename": item.filename or intent["filename"], "size_bytes": size_bytes}


def told_attachment(kept: Kept) -> Values:
    """What callers are told of an attachment when something else fails."""
    return {"attachment_id": kept["id"]}


def attached_file(kept: Kept, record_id: str, field: str) -> AttachedFile:
    """The result of an attachment."""
    return AttachedFile(
        record_id=record_id,
        field=field,
        attachment_id=kept["id"],
        filename=kept["filename"],
        size_bytes=kept["size_bytes"],
    )
