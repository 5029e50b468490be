"""The five tables operations."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from connector_gateway.connectors.tables import mapping
from connector_gateway.connectors.tables.client import TablesClient
from connector_gateway.connectors.tables.mapping import CASTING, REFUSED, Draft
from connector_gateway.connectors.tables.models import (
    MAX_RECORDS,
    AttachedFile,
    AttachFile,
    CreatedRecords,
    CreateRecords,
    FailedRecord,
    ListTables,
    ReadRecords,
    Record,
    Table,
    UpdatedRecord,
    UpdateRecord,
)
from connector_gateway.kit.call import Attempt, Call, LookUp, RemoteFile
from connector_gateway.kit.clock import instant
from connector_gateway.kit.errors import (
    BaseNotFound,
    FieldNotFound,
    FileTooLarge,
    GatewayError,
    LossyCast,
    OutcomeUnknown,
    ReadOnlyField,
    RecordNotFound,
    TableNotFound,
    TooManyRecords,
    UpstreamConflict,
    UrlNotAllowed,
    UrlUnreachable,
    ViewNotFound,
)
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.shapes import Listing, Page

T = TypeVar("T")
TablesCall = Call[TablesClient]
Raw = Mapping[str, Any]

SCHEMA_SECONDS = 60.0
SEEN_SECONDS = 24 * 60 * 60.0
MADE_SECONDS = 24 * 60 * 60.0

CLOCK_SKEW_SECONDS = 120.0
"""How far the vendor's clock may be behind ours when records of ours are looked for."""

SETTLES_AFTER: Mapping[str, float] = {"silent": 60.0, "cut": 5.0, "interrupted": 5.0}
"""Seconds after which a request in doubt is either done or never will be, by why it is in doubt; others are at once."""

UPLOAD_BYTES = 5_000_000
"""The vendor takes files of up to 5 MB with a request; larger ones it fetches itself.

Source: airtable.com/developers/web/api/upload-attachment.
"""

BASES_AT_ONCE = 10
"""Bases that are asked for a record at the same time; each has a budget of its own."""

MISSING = (BaseNotFound, TableNotFound)
NOT_HERE = (*MISSING, RecordNotFound)

OUTDATED = (*REFUSED, TableNotFound, ViewNotFound)
"""Refusals that may be due to a schema remembered from before it was changed."""


@reads("GET /records", errors=[*MISSING, ViewNotFound])
async def read_records(call: TablesCall, params: ReadRecords) -> Page[Record]:
    """Read records of a table or a view; a view's own filter and order apply.

    A cursor is good for as long as the application keeps the list, which is some minutes.
    """

    async def read(table: Raw) -> Page[Record]:
        raw = await call.upstream.list_records(
            params.base_id,
            table["id"],
            view_id=mapping.view_id(table, params.view),
            page_size=params.limit,
            offset=(call.position or {}).get("offset"),
        )
        for record in raw["records"]:
            _see(call, record["id"], params.base_id, table["id"])
        return mapping.page(raw)

    return await _with_table(call, params.base_id, params.table, read)


async def recover_created_records(call: TablesCall, params: CreateRecords, attempt: Attempt) -> CreatedRecords | None:
    """The records that an earlier attempt made, with the missing ones added; None if it made none."""
    batch = _batch(params, mapping.find_table(await _tables(call, params.base_id), params.table))
    batch.resume(attempt.progress)
    await _find(call, batch, attempt)
    if batch.left and not batch.created:
        return None
    if batch.left:
        _require_settled(call, attempt)
        await _make(call, batch)
    return batch.result()


@writes("POST /records", errors=[*MISSING, TooManyRecords], recover=recover_created_records)
async def create_records(call: TablesCall, params: CreateRecords) -> CreatedRecords:
    """Create up to ten records, and report the success of each.

    Every record is checked against the table first; those that fit are created even if others fail.
    """
    if len(params.records) > MAX_RECORDS:
        raise TooManyRecords(
            f"{len(params.records)} records are more than a call takes.",
            {"parameter": "records", "count": len(params.records), "max": MAX_RECORDS},
        )

    batch = await _checked(call, params)
    await _make(call, batch)
    return batch.result()


async def recover_updated_record(call: TablesCall, params: UpdateRecord, attempt: Attempt) -> UpdatedRecord | None:  # noqa: ARG001  # the record itself tells
    """The record, if it already is as it should be; otherwise None."""
    table = mapping.find_table(await _tables(call, params.base_id), params.table)
    values = mapping.writable(table, params.fields)
    raw = await call.upstream.get_record(params.base_id, table["id"], params.record_id)
    if not mapping.bears(table, raw, values):
        return None
    return mapping.updated_record(raw, params.fields, instant(call.clock.now()))


@writes(
    "PATCH /records/{record_id}",
    errors=[*MISSING, RecordNotFound, UpstreamConflict, *CASTING],
    recover=recover_updated_record,
)
async def update_record(call: TablesCall, params: UpdateRecord) -> UpdatedRecord:
    """Update the named fields of one record.

    Values are cast to the type of their field; where that would lose something, nothing is written.
    Writes to one record through this service happen one after the other.
    """

    async def update(table: Raw) -> UpdatedRecord:
        values = mapping.writable(table, params.fields)
        async with call.exclusive(f"record {params.record_id}"):
            raw = await call.upstream.update_record(params.base_id, table["id"], params.record_id, values)
        _see(call, raw["id"], params.base_id, table["id"])
        return mapping.updated_record(raw, params.fields, instant(call.clock.now()))

    return await _with_table(call, params.base_id, params.table, update)


async def recover_attached_file(call: TablesCall, params: AttachFile, attempt: Attempt) -> AttachedFile | None:
    """The attachment that an earlier attempt made; None if it made none."""
    if "intent" not in attempt.progress:
        return None
    intent = Intent(**attempt.progress["intent"])
    raw = await call.upstream.get_record(intent.base_id, intent.table_id, params.record_id)
    item = mapping.alike(mapping.added(raw, intent.field, intent.before), intent.filename, intent.size_bytes)
    return None if item is None else mapping.attached_file(item, params.record_id, params.field, intent.size_bytes)


@writes(
    "POST /attachments",
    errors=[
        RecordNotFound,
        FieldNotFound,
        ReadOnlyField,
        LossyCast,
        UrlNotAllowed,
        UrlUnreachable,
        FileTooLarge,
        UpstreamConflict,
    ],
    recover=recover_attached_file,
)
async def attach_file(call: TablesCall, params: AttachFile) -> AttachedFile:
    """Attach a file to a record from a public link.

    The link is fetched here, from public addresses only; a file of more than 5 MB is handed over by its address.
    """
    base_id, table_id, cell = await _place(call, params)
    file = await call.files.fetch(params.url, UPLOAD_BYTES)
    name = params.filename or file.name
    async with call.exclusive(f"record {params.record_id}"):
        raw = await call.upstream.get_record(base_id, table_id, params.record_id)
        before = [item["id"] for item in mapping.attachments(raw, cell)]
        intent = Intent(base_id, table_id, cell, before, name, file.size_bytes)
        await call.notebook.intend(intent=asdict(intent))
        new = mapping.added(await _attach(call, params, intent, file), cell, before)
    if not new:
        raise OutcomeUnknown("The application took the file, but does not show it.", doubt="garbled")
    item = mapping.alike(new, name, file.size_bytes) or new[-1]
    return mapping.attached_file(item, params.record_id, params.field, file.size_bytes)


@reads("GET /tables", errors=[BaseNotFound])
async def list_tables(call: TablesCall, params: ListTables) -> Listing[Table]:
    """List the tables of a base with their views and field types."""
    raws = await _tables(call, params.base_id)
    return Listing[Table](items=mapping.tables(raws, include_views=params.include_views))


# Bases and their schemas


async def _with_table(call: TablesCall, base_id: str, wanted: str, use: Callable[[Raw], Awaitable[T]]) -> T:
    """What *use* makes of the table; once more with a fresh schema if a remembered one may be outdated."""

    async def use_one(tables: Sequence[Raw]) -> T:
        return await use(mapping.find_table(tables, wanted))

    return await call.with_recalled(_schema(call, base_id), use_one, outdated=OUTDATED)


async def _checked(call: TablesCall, params: CreateRecords) -> "Batch":
    """The records of a call, checked against the table as it is now before one of them is reported as failed."""

    async def check(tables: Sequence[Raw]) -> Batch:
        return _batch(params, mapping.find_table(tables, params.table))

    return await call.with_recalled(
        _schema(call, params.base_id), check, outdated=OUTDATED, suspect=lambda batch: bool(batch.failed)
    )


async def _tables(call: TablesCall, base_id: str) -> Sequence[Raw]:
    """The tables of a base as they are now."""
    return await call.renew(_schema(call, base_id))


def _schema(call: TablesCall, base_id: str) -> LookUp[Sequence[Raw]]:
    """The tables of a base with their fields and views."""

    async def find() -> Sequence[Raw]:
        return await call.upstream.get_base_schema(base_id)

    return LookUp(f"schema {base_id}", SCHEMA_SECONDS, find)


def _see(call: TablesCall, record_id: str, base_id: str, table_id: str) -> None:
    """Remember where a record is, for whoever attaches a file to it."""
    call.memory.put(f"record {record_id}", (base_id, table_id), SEEN_SECONDS)


# Creating


@dataclass
class Batch:
    """The records of one call: those that fit the table, and what became of each."""

    params: CreateRecords
    table: Raw
    drafts: Sequence[Draft]
    created: dict[int, str] = field(default_factory=dict)
    failed: dict[int, FailedRecord] = field(default_factory=dict)

    @property
    def left(self) -> list[Draft]:
        """The drafts that nothing has become of yet."""
        return [draft for draft in self.drafts if draft.index not in self.created | self.failed]

    @property
    def progress(self) -> dict[str, Any]:
        """What became of the records so far, for the notebook."""
        failed = [failed.model_dump(mode="json") for failed in self.failed.values()]
        return {"created": list(self.created.items()), "failed": failed}

    def resume(self, progress: Mapping[str, Any]) -> None:
        """Go on from what an earlier attempt noted."""
        self.created = dict(progress.get("created", []))
        if self.created:
            self.fail(*(FailedRecord.model_validate(failed) for failed in progress["failed"]))
        self.failed = {index: failed for index, failed in self.failed.items() if index not in self.created}

    def fail(self, *failed: FailedRecord) -> None:
        """Report records as not made."""
        self.failed |= {item.index: item for item in failed}

    def refuse(self, draft: Draft, refusal: GatewayError) -> None:
        """Report a record as not made because the application did not take it."""
        self.fail(mapping.refused_record(self.table, draft, self.params.records[draft.index], refusal))

    def result(self) -> CreatedRecords:
        """What the caller is told, in the order of the request."""
        return CreatedRecords(
            created=[self.created[index] for index in sorted(self.created)],
            failed=[self.failed[index] for index in sorted(self.failed)],
        )


def _batch(params: CreateRecords, table: Raw) -> Batch:
    """The records of a call, checked against the table."""
    drafts, failed = mapping.drafts(table, params.records, new_options=params.allow_new_options)
    return Batch(params, table, drafts, failed={item.index: item for item in failed})


async def _make(call: TablesCall, batch: Batch) -> None:
    """Create what is left of *batch*; those that bring new options last, since for them the vendor casts loosely.

    A refusal that comes after something was created is told per record, lest what is there be forgotten over it.
    """
    try:
        for new_options in (False, True):
            group = [draft for draft in batch.left if draft.new_options is new_options]
            if new_options:
                group = await _firmly_linked(call, batch, group)
            if group:
                await _make_group(call, batch, group)
    except GatewayError as failure:
        if failure.doubt or not batch.created:
            raise
        for draft in batch.left:
            batch.refuse(draft, failure)


async def _firmly_linked(call: TablesCall, batch: Batch, group: Sequence[Draft]) -> list[Draft]:
    """Those of *group* whose links lead somewhere; for the others the vendor, casting loosely, would make records."""
    for draft in group:
        for name, (table_id, record_ids) in mapping.links(batch.table, draft).items():
            there = await call.upstream.existing_records(batch.params.base_id, table_id, record_ids)
            absent = [record_id for record_id in record_ids if record_id not in there]
            if absent:
                batch.fail(FailedRecord(index=draft.index, error="upstream_refused", field=name, value=absent[0]))
                break
    return [draft for draft in group if draft.index not in batch.failed]


async def _make_group(call: TablesCall, batch: Batch, group: Sequence[Draft]) -> None:
    """Create *group* at once; where that is refused, nobody says for which record, check again and create singly."""
    try:
        await _send(call, batch, group)
    except REFUSED:
        await _make_singly(call, batch, {draft.index for draft in group})


async def _make_singly(call: TablesCall, batch: Batch, indices: Collection[int]) -> None:
    again = _batch(batch.params, mapping.find_table(await _tables(call, batch.params.base_id), batch.table["id"]))
    batch.fail(*(failed for index, failed in again.failed.items() if index in indices))
    for draft in again.drafts:
        if draft.index in indices:
            await _make_single(call, batch, draft)


async def _make_single(call: TablesCall, batch: Batch, draft: Draft) -> None:
    try:
        await _send(call, batch, [draft])
    except REFUSED as refusal:
        batch.refuse(draft, refusal)


async def _send(call: TablesCall, batch: Batch, group: Sequence[Draft]) -> None:
    """Create *group* with one request, and note that when others have to follow."""
    await call.notebook.intend(sending=[draft.index for draft in group])
    raws = await call.upstream.create_records(
        batch.params.base_id,
        batch.table["id"],
        [draft.values for draft in group],
        typecast=group[0].new_options,
    )
    for draft, raw in zip(group, raws, strict=True):
        _claim(call, batch, draft, raw["id"])
    if batch.left:
        await call.notebook.note(**batch.progress)


def _claim(call: TablesCall, batch: Batch, draft: Draft, record_id: str) -> None:
    """Take a record for the one that was made of *draft*, and for no other call's."""
    batch.created[draft.index] = record_id
    call.memory.put(f"made {record_id}", value=True, seconds=MADE_SECONDS)
    _see(call, record_id, batch.params.base_id, batch.table["id"])


async def _find(call: TablesCall, batch: Batch, attempt: Attempt) -> None:
    """Claim what the request in doubt has made: all of its records, or none."""
    sent = [draft for draft in batch.left if draft.index in attempt.progress.get("sending", ())]
    if not sent:
        return
    since = datetime.fromtimestamp(attempt.started_at - CLOCK_SKEW_SECONDS, UTC)
    field_ids = list(dict.fromkeys(field_id for draft in sent for field_id in draft.values))
    recent = call.upstream.list_records_created_since(batch.params.base_id, batch.table["id"], since, field_ids)
    raws = [raw async for raw in recent]
    free = [raw for raw in raws if not call.memory.get(f"made {raw['id']}")]
    found = mapping.matches(batch.table, sent, free)
    if 0 < len(found) < len(sent):
        raise OutcomeUnknown("Some of the records are there, which may have been made by others.", doubt=attempt.doubt)
    for draft, raw in found:
        _claim(call, batch, draft, raw["id"])


def _require_settled(call: TablesCall, attempt: Attempt) -> None:
    """Refuse to repeat a request while the earlier one may still be carried out."""
    wait = attempt.doubted_at + SETTLES_AFTER.get(attempt.doubt, 0.0) - call.clock.now()
    if wait > 0:
        raise OutcomeUnknown(
            "Some of the records may still be created by the application.", retry_after=wait, doubt=attempt.doubt
        )


# Attaching


Place = tuple[str, str, Raw]
"""Where a file is to be attached: base, table, and of the field identifier and name."""


@dataclass(frozen=True)
class Intent:
    """What is noted of an attachment before it is made."""

    base_id: str
    table_id: str
    field: Raw
    before: Sequence[str]
    """The attachments that are there already."""

    filename: str
    size_bytes: int


async def _attach(call: TablesCall, params: AttachFile, intent: Intent, file: RemoteFile) -> Raw:
    """The record after a small file was sent along, or the address of a large one was added to those that it has."""
    field_id = intent.field["id"]
    if file.content is not None:
        upload = mapping.upload(intent.filename, file.mime_type, file.content)
        return await call.upstream.upload_attachment(intent.base_id, params.record_id, field_id, upload)
    values = {field_id: mapping.with_link(intent.before, params.url, intent.filename)}
    return await call.upstream.update_record(intent.base_id, intent.table_id, params.record_id, values)


async def _place(call: TablesCall, params: AttachFile) -> Place:
    """The field of the record: where the record was seen, else wherever it is found."""
    seen = call.memory.get(f"record {params.record_id}")
    if seen is not None:
        with suppress(*MISSING):
            return await _place_in(call, params, *seen)
    return await _place_in(call, params, *await _home(call, params))


async def _place_in(call: TablesCall, params: AttachFile, base_id: str, table_id: str) -> Place:
    async def place(table: Raw) -> Place:
        described = mapping.attachment_field(table, params.field)
        return base_id, table["id"], {"id": described["id"], "name": described["name"]}

    return await _with_table(call, base_id, table_id, place)


async def _home(call: TablesCall, params: AttachFile) -> tuple[str, str]:
    """The base and table of a record that was not seen yet: every base is asked, a few at a time."""
    base_ids = mapping.open_bases([raw async for raw in call.upstream.list_bases()])
    for start in range(0, len(base_ids), BASES_AT_ONCE):
        asked = (_home_in(call, params, base_id) for base_id in base_ids[start : start + BASES_AT_ONCE])
        for home in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(home, BaseException):
                raise home
            if home is not None:
                _see(call, params.record_id, *home)
                return home
    raise RecordNotFound(f"No base of this connection has the record {params.record_id}.", {"parameter": "record_id"})


async def _home_in(call: TablesCall, params: AttachFile, base_id: str) -> tuple[str, str] | None:
    """The base and table of a record, if it is in that base."""
    try:
        tables = await _tables(call, base_id)
        await call.upstream.get_record(base_id, tables[0]["id"], params.record_id)
    except NOT_HERE:
        return None
    for table_id in mapping.tables_with(tables, params.field):
        if await call.upstream.existing_records(base_id, table_id, [params.record_id]):
            return base_id, table_id
    raise FieldNotFound(
        f"The table of record {params.record_id} has no field {params.field!r}.",
        {"parameter": "field", "field": params.field},
    )
