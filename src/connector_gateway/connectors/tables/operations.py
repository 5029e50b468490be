"""The five tables operations."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from connector_gateway.connectors.tables import mapping, wire
from connector_gateway.connectors.tables.client import TablesClient
from connector_gateway.connectors.tables.mapping import CASTING, REFUSED, Batch, Draft, Kept
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
from connector_gateway.kit.call import Call, LookUp, RemoteFile
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
    UpstreamForbidden,
    UpstreamUnexpected,
    UrlNotAllowed,
    UrlUnreachable,
    ViewNotFound,
)
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.shapes import Listing, Page
from connector_gateway.kit.writing import Found, Intent, Learned, Sent, Step

T = TypeVar("T")
TablesCall = Call[TablesClient]

SCHEMA_SECONDS = 60.0
REMEMBER_SECONDS = 24 * 60 * 60.0
"""How long is known where a record is, and whose token it is."""

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

FINAL = (*REFUSED, *MISSING, FileTooLarge, UpstreamForbidden, UpstreamUnexpected)
"""Refusals that a repeat would meet again: where records were made before, they are told of each of the others."""


# The steps that change something


async def _send_records(call: TablesCall, intent: Intent, _: str) -> Learned:
    """Create records, all of them or none."""
    base_id, table_id, rows = intent["base_id"], intent["table_id"], intent["rows"]
    made = await call.upstream.create_records(base_id, table_id, rows, typecast=intent["typecast"])
    if len(made) != len(rows):
        raise OutcomeUnknown("The application tells of another number of records than it was given.", doubt="garbled")
    call.memory.put(f"filled in {table_id}", mapping.filled_in(made[0], rows[0]), REMEMBER_SECONDS)
    return {"created": [row.id for row in made]}


async def _find_records(call: TablesCall, intent: Intent, sent: Sent) -> Sequence[Found]:
    """The records made since that hold what was written and nothing else, unless they say that another made them."""
    table = await _known_table(call, intent)
    since = datetime.fromtimestamp(sent.earliest, UTC)
    made = [item async for item in call.upstream.list_records_created_since(intent["base_id"], table.id, since)]
    if made and mapping.tells_authors(table):
        user = await call.recall(LookUp("user", REMEMBER_SECONDS, call.upstream.get_user))
        made = [item for item in made if mapping.may_be_by(table, item, user.id)]
    return [
        Found({"created": [item.id]}, item.id, item.created_time.timestamp(), slot)
        for slot, item in mapping.made_of(table, intent, made)
    ]


def _created(learned: Learned) -> Sequence[str]:
    return list(learned["created"])


def _joined(found: Sequence[Found]) -> Learned:
    return {"created": [item.object_id for item in found]}


async def _send_change(call: TablesCall, intent: Intent, _: str) -> Learned:
    row = await call.upstream.update_record(
        intent["base_id"], intent["table_id"], intent["record_id"], intent["values"]
    )
    return {"id": row.id, "updated_at": call.clock.now()}


async def _find_change(call: TablesCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The record, if it is as it should be."""
    table = await _known_table(call, intent)
    with suppress(RecordNotFound):
        row = await call.upstream.get_record(intent["base_id"], table.id, intent["record_id"])
        if mapping.bears(table, row.fields, intent["values"]):
            return [Found({"id": row.id, "updated_at": call.clock.now()})]
    return []


@dataclass
class AtHand:
    """What this attempt has read of a file and of the cell that it goes to; nothing if an earlier one planned it."""

    file: RemoteFile | None = None
    present: Sequence[str] | None = None
    """The attachments that are there."""


async def _send_file(at_hand: AtHand, call: TablesCall, intent: Intent, _: str) -> Learned:
    """Send a small file along, or add the address of a large one to the attachments that are there."""
    base_id, record_id = intent["base_id"], intent["record_id"]
    present = await _present(call, intent) if at_hand.present is None else at_hand.present
    if intent["digest"] is None:
        values = mapping.with_link(intent, present)
        row = await call.upstream.update_record(base_id, intent["table_id"], record_id, values)
    else:
        upload = mapping.upload(intent, await _content(call, intent, at_hand))
        row = await call.upstream.upload_attachment(base_id, record_id, intent["field"]["id"], upload)
    return mapping.kept_attachment(mapping.made_attachment(row, intent, present), intent)


async def _find_file(call: TablesCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The attachments in the cell that look like the file and were not there before."""
    with suppress(RecordNotFound):
        row = await call.upstream.get_record(intent["base_id"], intent["table_id"], intent["record_id"])
        alike = mapping.alike(row, intent, intent["before"])
        return [Found(mapping.kept_attachment(item, intent), item.id) for item in alike]
    return []


CREATE_RECORDS = Step(
    "create records",
    _send_records,
    _find_records,
    makes="record",
    contents=mapping.contents,
    object_ids=_created,
    joined=_joined,
    tells=lambda learned: {"created": learned["created"]},
)
UPDATE_RECORD = Step("update the record", _send_change, _find_change, tells=lambda kept: {"record_id": kept["id"]})


def attach_step(at_hand: AtHand) -> Step[TablesCall]:
    """The step that attaches a file."""
    return Step(
        "attach the file",
        partial(_send_file, at_hand),
        _find_file,
        makes="attachment",
        contents=lambda intent: [mapping.attachment_content(intent)],
        tells=mapping.told_attachment,
    )


# The operations


@reads("GET /records", errors=[*MISSING, ViewNotFound])
async def read_records(call: TablesCall, params: ReadRecords) -> Page[Record]:
    """Read records of a table or a view; a view's own filter and order apply.

    A cursor is good for as long as the application keeps the list, which is some minutes.
    """

    async def read(table: wire.Table) -> Page[Record]:
        found = await call.upstream.list_records(
            params.base_id,
            table.id,
            view_id=mapping.view_id(table, params.view),
            page_size=params.limit,
            offset=(call.position or {}).get("offset"),
        )
        for record in found.records:
            _see(call, record.id, params.base_id, table.id)
        return mapping.page(found)

    return await _with_table(call, params.base_id, params.table, read)


@writes("POST /records", errors=[*MISSING, TooManyRecords])
async def create_records(call: TablesCall, params: CreateRecords) -> CreatedRecords:
    """Create up to ten records, and report the success of each.

    Every record is checked against the table first; those that fit are created even if others fail.
    """
    if len(params.records) > MAX_RECORDS:
        raise TooManyRecords(
            f"{len(params.records)} records are more than a call takes.",
            {"parameter": "records", "count": len(params.records), "max": MAX_RECORDS},
        )
    batch = Batch(params)
    batch.follow(await call.plan(partial(_plan_records, call, params)))
    try:
        # Those that bring new options come last, since for them the vendor casts loosely.
        for new_options in (False, True):
            group = [draft for draft in batch.left if draft.new_options is new_options]
            if group:
                await _make_group(call, batch, group)
    except FINAL as refusal:
        if refusal.doubt is not None or not batch.created:
            raise
        for draft in batch.left:
            batch.refuse(draft, refusal)
    return batch.result()


@writes("PATCH /records/{record_id}", errors=[*MISSING, RecordNotFound, UpstreamConflict, *CASTING])
async def update_record(call: TablesCall, params: UpdateRecord) -> UpdatedRecord:
    """Update the named fields of one record.

    Values are cast to the type of their field; where that would lose something, nothing is written.
    Writes to one record through this service happen one after the other.
    """
    change = await call.plan(partial(_plan_change, call, params))
    async with call.exclusive(f"record {params.record_id}"):
        try:
            learned = await call.step(UPDATE_RECORD, change)
        except REFUSED as refusal:
            # The values may be cast by an outdated schema.
            change = await call.plan(partial(_plan_change_again, call, params, change, refusal))
            learned = await call.step(UPDATE_RECORD, change)
    _see(call, learned["id"], change["base_id"], change["table_id"])
    return UpdatedRecord(
        record_id=learned["id"], updated_fields=list(params.fields), updated_at=instant(learned["updated_at"])
    )


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
)
async def attach_file(call: TablesCall, params: AttachFile) -> AttachedFile:
    """Attach a file to a record from a public link.

    The link is fetched here, from public addresses only; a file of more than 5 MB is handed over by its address.
    """
    at_hand = AtHand()
    file = await call.plan(partial(_plan_file, call, params, at_hand))
    async with call.exclusive(f"record {params.record_id}"):
        before = await call.plan(partial(_plan_cell, call, file, at_hand))
        learned = await call.step(attach_step(at_hand), {**file, "before": before})
    return mapping.attached_file(learned, params.record_id, params.field)


@reads("GET /tables", errors=[BaseNotFound])
async def list_tables(call: TablesCall, params: ListTables) -> Listing[Table]:
    """List the tables of a base with their views and field types."""
    tables = await _tables(call, params.base_id)
    return Listing[Table](items=mapping.tables(tables, include_views=params.include_views))


# Bases and their schemas


async def _with_table(call: TablesCall, base_id: str, wanted: str, use: Callable[[wire.Table], Awaitable[T]]) -> T:
    """What *use* makes of the table; once more with a fresh schema if a remembered one may be outdated."""

    async def use_one(tables: Sequence[wire.Table]) -> T:
        return await use(mapping.find_table(tables, wanted))

    return await call.with_recalled(_schema(call, base_id), use_one, outdated=OUTDATED)


async def _tables(call: TablesCall, base_id: str) -> Sequence[wire.Table]:
    """The tables of a base as they are now."""
    return await call.renew(_schema(call, base_id))


async def _known_table(call: TablesCall, intent: Intent) -> wire.Table:
    """The table that a step is about."""

    def is_there(tables: Sequence[wire.Table]) -> bool:
        return any(table.id == intent["table_id"] for table in tables)

    return mapping.find_table(
        await call.recall(_schema(call, intent["base_id"]), suffices=is_there), intent["table_id"]
    )


def _schema(call: TablesCall, base_id: str) -> LookUp[Sequence[wire.Table]]:
    """The tables of a base with their fields and views."""

    async def find() -> Sequence[wire.Table]:
        return await call.upstream.get_base_schema(base_id)

    return LookUp(f"schema {base_id}", SCHEMA_SECONDS, find)


def _see(call: TablesCall, record_id: str, base_id: str, table_id: str) -> None:
    """Remember where a record is, for whoever attaches a file to it."""
    call.memory.put(f"record {record_id}", (base_id, table_id), REMEMBER_SECONDS)


# Creating


async def _plan_records(call: TablesCall, params: CreateRecords) -> Kept:
    """The records of a call, checked against the table as it is now before one of them is reported as failed."""

    async def check(tables: Sequence[wire.Table]) -> Kept:
        table = mapping.find_table(tables, params.table)
        return await _check(call, params, table, range(len(params.records)))

    schema = _schema(call, params.base_id)
    return await call.with_recalled(schema, check, outdated=OUTDATED, suspect=lambda plan: bool(plan["failed"]))


async def _plan_again(call: TablesCall, params: CreateRecords, table_id: str, indices: Collection[int]) -> Kept:
    """Some of the records, checked against the table as it is now."""
    table = mapping.find_table(await _tables(call, params.base_id), table_id)
    return await _check(call, params, table, indices)


async def _check(call: TablesCall, params: CreateRecords, table: wire.Table, indices: Collection[int]) -> Kept:
    """The plan of those of the records: which fit the table, and which do not."""
    drafts, failed = mapping.drafts(table, params.records, new_options=params.allow_new_options)
    wanted = [draft for draft in drafts if draft.index in indices]
    failed = [item for item in failed if item.index in indices]
    failed += await _astray(call, params.base_id, table, [draft for draft in wanted if draft.new_options])
    return mapping.batch(table, wanted, failed, call.memory.get(f"filled in {table.id}") or {})


async def _astray(call: TablesCall, base_id: str, table: wire.Table, group: Sequence[Draft]) -> list[FailedRecord]:
    """The links of *group* that lead nowhere; the vendor, casting loosely, would make records for them."""
    failed = []
    for draft in group:
        for name, (table_id, record_ids) in mapping.links(table, draft).items():
            there = await call.upstream.existing_records(base_id, table_id, record_ids)
            failed += mapping.astray(draft, name, record_ids, there)
    return failed


async def _make_group(call: TablesCall, batch: Batch, group: Sequence[Draft]) -> None:
    """Create *group* at once; where that is refused, nobody says for which record, check again and create singly."""
    try:
        await _make(call, batch, group)
    except REFUSED:
        await _make_singly(call, batch, {draft.index for draft in group})


async def _make_singly(call: TablesCall, batch: Batch, indices: Collection[int]) -> None:
    batch.follow(await call.plan(partial(_plan_again, call, batch.params, batch.table_id, indices)))
    for draft in [draft for draft in batch.left if draft.index in indices]:
        try:
            await _make(call, batch, [draft])
        except REFUSED as refusal:
            batch.refuse(draft, refusal)


async def _make(call: TablesCall, batch: Batch, group: Sequence[Draft]) -> None:
    """Create *group* with one request."""
    learned = await call.step(CREATE_RECORDS, batch.creation(group))
    for draft, record_id in zip(group, learned["created"], strict=True):
        batch.created[draft.index] = record_id
        _see(call, record_id, batch.params.base_id, batch.table_id)


# Updating


async def _plan_change(call: TablesCall, params: UpdateRecord) -> Kept:
    """A change, cast to the types of the table."""

    async def change(table: wire.Table) -> Kept:
        return mapping.change(table, params)

    return await _with_table(call, params.base_id, params.table, change)


async def _plan_change_again(call: TablesCall, params: UpdateRecord, refused: Kept, refusal: GatewayError) -> Kept:
    """The same by the table as it is now, after *refusal*; which stands if it comes to the same."""
    table = mapping.find_table(await _tables(call, params.base_id), refused["table_id"])
    change = mapping.change(table, params)
    if change == refused:
        raise refusal
    return change


# Attaching


async def _plan_file(call: TablesCall, params: AttachFile, at_hand: AtHand) -> Kept:
    """A file and where it is to go."""
    place = await _place(call, params)
    file = at_hand.file = await call.files.fetch(params.url, UPLOAD_BYTES)
    return mapping.planned_file(place, params.url, params.filename or file.name, file)


async def _plan_cell(call: TablesCall, place: Kept, at_hand: AtHand) -> Sequence[str]:
    """The attachments that are there already."""
    present = at_hand.present = await _present(call, place)
    return present


async def _present(call: TablesCall, place: Kept) -> Sequence[str]:
    """The attachments that are in the cell now."""
    row = await call.upstream.get_record(place["base_id"], place["table_id"], place["record_id"])
    return [item.id for item in mapping.attachments(row, place["field"])]


async def _content(call: TablesCall, intent: Intent, at_hand: AtHand) -> bytes:
    """The bytes of a file, fetched again unless this attempt has them; they must be those that were planned."""
    file = at_hand.file or await call.files.fetch(intent["url"], UPLOAD_BYTES)
    if file.content is None or mapping.digest_of(file.content) != intent["digest"]:
        raise UrlUnreachable(
            "The link leads to another file now than when this call was first made; nothing was attached.",
            {"parameter": "url"},
        )
    return file.content


async def _place(call: TablesCall, params: AttachFile) -> Kept:
    """The field of the record: where the record was seen, else wherever it is found."""
    seen = call.memory.get(f"record {params.record_id}")
    if seen is not None:
        with suppress(*MISSING):
            return await _place_in(call, params, *seen)
    return await _place_in(call, params, *await _home(call, params))


async def _place_in(call: TablesCall, params: AttachFile, base_id: str, table_id: str) -> Kept:
    async def place(table: wire.Table) -> Kept:
        cell = mapping.attachment_cell(table, params.field)
        return {"base_id": base_id, "table_id": table.id, "record_id": params.record_id, "field": cell}

    return await _with_table(call, base_id, table_id, place)


async def _home(call: TablesCall, params: AttachFile) -> tuple[str, str]:
    """The base and table of a record that was not seen yet: every base is asked, a few at a time."""
    base_ids = mapping.open_bases([base async for base in call.upstream.list_bases()])
    for start in range(0, len(base_ids), BASES_AT_ONCE):
        asked = (_home_in(call, params, base_id) for base_id in base_ids[start : start + BASES_AT_ONCE])
        for home in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(home, BaseException):
                raise home
            if home is not None:
                _see(call, params.record_id, *home)
                return home
    raise RecordNotFound(
        f"No base of this connection has the record {params.record_id}.",
        {"parameter": "record_id", "value": params.record_id},
    )


async def _home_in(call: TablesCall, params: AttachFile, base_id: str) -> tuple[str, str] | None:
    """The base and table of a record, if it is in that base."""
    try:
        tables = await _tables(call, base_id)
        if not tables:
            return None
        await call.upstream.get_record(base_id, tables[0].id, params.record_id)
    except NOT_HERE:
        return None
    for table_id in mapping.tables_with(tables, params.field):
        if await call.upstream.existing_records(base_id, table_id, [params.record_id]):
            return base_id, table_id
    raise mapping.no_attachment_field(f"The table of record {params.record_id}", params.field)
