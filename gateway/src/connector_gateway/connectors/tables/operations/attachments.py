"""Attachment of files to records."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from connector_gateway.connectors.tables import mapping, vendor_models
from connector_gateway.connectors.tables.client import BASES_REQUEST, REQUEST
from connector_gateway.connectors.tables.mapping.records import StoredData
from connector_gateway.connectors.tables.models import AttachedFile, AttachFile
from connector_gateway.connectors.tables.operations.bases import (
    MISSING,
    TablesCall,
    load_tables,
    record_name,
    remember_record_location,
    with_table,
)
from connector_gateway.kit import errors
from connector_gateway.kit.context import RemoteFile
from connector_gateway.kit.operation import writes
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

UPLOAD_BYTES = 5_000_000
"""Maximum bytes of a file in a request. The vendor fetches larger ones itself.

Source: airtable.com/developers/web/api/upload-attachment.
"""

MAX_CONCURRENT_BASES = 10
"""Bases that are searched for a record concurrently. Each has its own budget."""

NOT_IN_BASE = (*MISSING, errors.RecordNotFound)


# Write step


@dataclass
class LoadedFile:
    """The file and the cell as loaded by this attempt. Empty if an earlier attempt planned them."""

    file: RemoteFile | None = None
    present: Sequence[str] | None = None
    """The existing attachments."""


async def _send_file(loaded: LoadedFile, ctx: TablesCall, intent: StepInput, _: str) -> StepResult:
    """Upload a small file, or add the URL of a large one to the existing attachments."""
    base_id, record_id = intent["base_id"], intent["record_id"]
    present = await _present(ctx, intent) if loaded.present is None else loaded.present
    if intent["digest"] is None:
        values = mapping.attachments.with_link(intent, present)
        row = await ctx.upstream.update_record(base_id, intent["table_id"], record_id, values)
    else:
        upload = mapping.attachments.upload(intent, await _content(ctx, intent, loaded))
        row = await ctx.upstream.upload_attachment(base_id, record_id, intent["field"]["id"], upload)
    return mapping.attachments.stored_attachment(mapping.attachments.created_attachment(row, intent, present), intent)


async def _find_file(ctx: TablesCall, intent: StepInput, sent: SentStep) -> Sequence[Match]:
    """Return the attachments in the cell that match the file and are not in the former list.

    After a restore the former list is unknown, and an attachment contains neither creation time nor creator.
    """
    with suppress(errors.RecordNotFound):
        row = await ctx.upstream.get_record(intent["base_id"], intent["table_id"], intent["record_id"])
        matches = mapping.attachments.matching_attachments(row, intent, () if sent.restored else intent["before"])
        if sent.restored and matches:
            raise errors.OutcomeUnknown(
                "The cell contains an equal file, but whether this call attached it is unknown.",
                *({"candidate": item.id} for item in matches),
            )
        return [Match(mapping.attachments.stored_attachment(item, intent), item.id) for item in matches]
    return []


def attach_step(loaded: LoadedFile) -> WriteStep[TablesCall]:
    """Return the step that attaches a file."""
    return WriteStep(
        "attach the file",
        partial(_send_file, loaded),
        _find_file,
        object_kind="attachment",
        changes=lambda intent: [record_name(intent["base_id"], intent["record_id"])],
        content_keys=lambda intent: [mapping.attachments.attachment_content(intent)],
        public_result=mapping.attachments.public_attachment,
        preview=mapping.attachments.preview,
    )


# The operation


@writes(
    "POST /attachments",
    errors=[
        errors.RecordNotFound,
        errors.FieldNotFound,
        errors.ReadOnlyField,
        errors.LossyCast,
        errors.UrlNotAllowed,
        errors.UrlUnreachable,
        errors.FileEmpty,
        errors.FileTooLarge,
    ],
    targets=["record_id", "field"],
    requests=TypicalRequests(BASES_REQUEST + 7 * REQUEST, 2 * REQUEST, "the record, without `base_id` in all bases"),
    examples=[lambda one: {"record_id": one["record_id"], "field": one["attachment_field"], "url": one["url"]}],
)
async def attach_file(ctx: TablesCall, params: AttachFile) -> AttachedFile:
    """Attach a file from a public link to a record, in an attachment field.

    Other files of the field remain.

    The gateway fetches the file, from public addresses only. The vendor fetches a file of more than 5 MB itself.
    """
    loaded = LoadedFile()
    file = await ctx.plan(partial(_plan_file, ctx, params, loaded))
    async with ctx.exclusive(f"record {params.record_id}"):
        before = await ctx.plan(partial(_plan_cell, ctx, file, loaded))
        learned = await ctx.step(attach_step(loaded), {**file, "before": before})
    return mapping.attachments.attached_file(learned, params.record_id, params.field)


# Planning


async def _plan_file(ctx: TablesCall, params: AttachFile, loaded: LoadedFile) -> StoredData:
    location = await _locate_cell(ctx, params)
    file = loaded.file = await ctx.fetch(params.url, UPLOAD_BYTES)
    return mapping.attachments.planned_file(location, params.url, params.filename or file.name, file)


async def _plan_cell(ctx: TablesCall, location: StoredData, loaded: LoadedFile) -> Sequence[str]:
    present = loaded.present = await _present(ctx, location)
    return present


async def _present(ctx: TablesCall, location: StoredData) -> Sequence[str]:
    row = await ctx.upstream.get_record(location["base_id"], location["table_id"], location["record_id"])
    return [item.id for item in mapping.attachments.attachments(row, location["field"])]


async def _content(ctx: TablesCall, intent: StepInput, loaded: LoadedFile) -> bytes:
    """Return the bytes of a file, fetched again if this attempt lacks them. They must equal the planned ones."""
    file = loaded.file or await ctx.fetch(intent["url"], UPLOAD_BYTES)
    if file.content is None or mapping.attachments.compute_digest(file.content) != intent["digest"]:
        raise errors.UrlUnreachable(
            "The file at the URL has changed since the first attempt of this call. Nothing was attached.",
            {"parameter": "url", "value": intent["url"], "reason": "file_changed"},
            remedy="Use a new {idempotency_key} to attach the current file.",
        )
    return file.content


async def _locate_cell(ctx: TablesCall, params: AttachFile) -> StoredData:
    """Return the field of the record, from the cached location of the record or by a search."""
    cached = ctx.cache.get(f"record {params.record_id}")
    if cached is not None:
        with suppress(*MISSING):
            return await _locate_cell_in(ctx, params, *cached)
    return await _locate_cell_in(ctx, params, *await _locate_record(ctx, params))


async def _locate_cell_in(ctx: TablesCall, params: AttachFile, base_id: str, table_id: str) -> StoredData:
    async def locate(table: vendor_models.Table) -> StoredData:
        cell = mapping.attachments.attachment_cell(table, params.field)
        return {"base_id": base_id, "table_id": table.id, "record_id": params.record_id, "field": cell}

    return await with_table(ctx, base_id, table_id, locate)


async def _locate_record(ctx: TablesCall, params: AttachFile) -> tuple[str, str]:
    """Return the base and table of a record without a cached location. All bases are searched, a few concurrently."""
    base_ids = mapping.schemas.open_bases([base async for base in ctx.upstream.list_bases()])
    for start in range(0, len(base_ids), MAX_CONCURRENT_BASES):
        searches = (_locate_in_base(ctx, params, base_id) for base_id in base_ids[start : start + MAX_CONCURRENT_BASES])
        # All are awaited, because abandoned ones would continue to send requests after the call has ended.
        for location in await asyncio.gather(*searches, return_exceptions=True):
            if isinstance(location, BaseException):
                raise location
            if location is not None:
                remember_record_location(ctx, params.record_id, *location)
                return location
    raise errors.RecordNotFound(
        f"No base of this connection has the record {params.record_id}.",
        {"parameter": "record_id", "value": params.record_id},
    )


async def _locate_in_base(ctx: TablesCall, params: AttachFile, base_id: str) -> tuple[str, str] | None:
    """Return the base and table of a record if it is in that base."""
    try:
        tables = await load_tables(ctx, base_id)
        if not tables:
            return None
        await ctx.upstream.get_record(base_id, tables[0].id, params.record_id)
    except NOT_IN_BASE:
        return None
    # The vendor finds a record under any table of its base, so its table has to be searched for.
    for table_id in mapping.attachments.tables_with(tables, params.field):
        if await ctx.upstream.existing_records(base_id, table_id, [params.record_id]):
            return base_id, table_id
    raise mapping.attachments.no_attachment_field(f"The table of record {params.record_id}", params.field)
