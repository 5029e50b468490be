"""Creation of records in batches."""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from functools import partial

from connector_gateway.connectors.tables import mapping, vendor_models
from connector_gateway.connectors.tables.client import REQUEST
from connector_gateway.connectors.tables.mapping.batches import Batch, Draft
from connector_gateway.connectors.tables.mapping.records import REJECTIONS, StoredData
from connector_gateway.connectors.tables.models import MAX_RECORDS, CreatedRecords, CreateRecords, FailedRecord
from connector_gateway.connectors.tables.operations.bases import (
    MISSING,
    OUTDATED,
    REMEMBER_SECONDS,
    TablesCall,
    known_table,
    load_tables,
    remember_record_location,
    schema_lookup,
)
from connector_gateway.kit import errors
from connector_gateway.kit.context import CachedLookup
from connector_gateway.kit.operation import writes
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

MAX_WARNINGS = 10

PERMANENT_ERRORS = (*REJECTIONS, *MISSING, errors.FileTooLarge, errors.UpstreamForbidden, errors.UpstreamUnexpected)
"""Errors that a retry would get again. If some records were created, the others are reported with it."""


# Write step


async def _send_records(ctx: TablesCall, intent: StepInput, _: str) -> StepResult:
    """Create records, all of them or none."""
    base_id, table_id, rows = intent["base_id"], intent["table_id"], intent["rows"]
    created = await ctx.upstream.create_records(base_id, table_id, rows, typecast=intent["typecast"])
    if len(created) != len(rows):
        raise errors.OutcomeUnknown("The vendor returned another number of records than it was sent.", doubt="garbled")
    ctx.cache.put(f"filled in {table_id}", mapping.batches.unwritten_values(created[0], rows[0]), REMEMBER_SECONDS)
    return {"created": [row.id for row in created]}


async def _find_records(ctx: TablesCall, intent: StepInput, sent: SentStep) -> Sequence[Match]:
    """Return the later records with exactly the written values, unless they name another creator."""
    table = await known_table(ctx, intent)
    since = datetime.fromtimestamp(sent.earliest, UTC)
    later = [item async for item in ctx.upstream.list_records_created_since(intent["base_id"], table.id, since)]
    if later and mapping.in_doubt_matching.has_author_field(table):
        user = await ctx.cached(CachedLookup("user", REMEMBER_SECONDS, ctx.upstream.get_user))
        later = [item for item in later if mapping.in_doubt_matching.may_be_by(table, item, user.id)]
    matching = mapping.in_doubt_matching.matching_records(table, intent, later, restored=sent.restored)
    return [Match({"created": [item.id]}, item.id, item.created_time.timestamp(), slot) for slot, item in matching]


CREATE_RECORDS = WriteStep(
    "create records",
    _send_records,
    _find_records,
    object_kind="record",
    content_keys=mapping.in_doubt_matching.comparison_keys,
    object_ids=lambda learned: list(learned["created"]),
    merge_matches=lambda matches: {"created": [item.object_id for item in matches]},
    public_result=lambda learned: {"created": learned["created"]},
    dry_run_result=mapping.batches.dry_run_records,
)


# The operation


@writes(
    "POST /records",
    errors=[*MISSING, errors.TooManyRecords],
    targets=["base_id", "table"],
    requests=TypicalRequests(2 * REQUEST, REQUEST, "tables, for types"),
    examples=[lambda one: {"base_id": one["base_id"], "table": one["table"], "records": [{"Name": "Northwind"}]}],
)
async def create_records(ctx: TablesCall, params: CreateRecords) -> CreatedRecords:
    """Add up to ten new records (rows) to a table, and report the success of each.

    For changes, use ``tables_update_record``.

    Every record is checked against the table first. Valid records are created even if others fail.
    """
    if len(params.records) > MAX_RECORDS:
        raise errors.TooManyRecords(
            f"{len(params.records)} records exceed the maximum per call.",
            {"parameter": "records", "count": len(params.records), "max": MAX_RECORDS},
        )
    batch = Batch(params)
    batch.adopt_plan(await ctx.plan(partial(_plan_records, ctx, params)))
    try:
        # Records with new options come last, because the vendor casts them loosely.
        for new_options in (False, True):
            group = [draft for draft in batch.pending if draft.new_options is new_options]
            if group:
                await _create_group(ctx, batch, group)
    except PERMANENT_ERRORS as error:
        if error.doubt is not None or not batch.created:
            raise
        for draft in batch.pending:
            batch.record_rejection(draft, error)
    result = batch.result()
    for item in result.failed[:MAX_WARNINGS]:
        ctx.warn(mapping.batches.error_of(item))
    return result


# Planning


async def _plan_records(ctx: TablesCall, params: CreateRecords) -> StoredData:
    """Plan the records of a call. Before one is reported as failed, the current table is read."""

    async def check(tables: Sequence[vendor_models.Table]) -> StoredData:
        table = mapping.schemas.find_table(tables, params.table)
        return await _check(ctx, params, table, range(len(params.records)))

    schema = schema_lookup(ctx, params.base_id)
    return await ctx.with_cache_retry(schema, check, outdated=OUTDATED, suspect=lambda plan: bool(plan["failed"]))


async def _plan_again(ctx: TablesCall, params: CreateRecords, table_id: str, indices: Collection[int]) -> StoredData:
    """Plan some of the records again, checked against the current table."""
    table = mapping.schemas.find_table(await load_tables(ctx, params.base_id), table_id)
    return await _check(ctx, params, table, indices)


async def _check(
    ctx: TablesCall, params: CreateRecords, table: vendor_models.Table, indices: Collection[int]
) -> StoredData:
    """Plan these records: the valid ones, and the errors of the others."""
    drafts, failed = mapping.batches.drafts(table, params.records, new_options=params.allow_new_options)
    selected = [draft for draft in drafts if draft.index in indices]
    failed = [item for item in failed if item.index in indices]
    ctx.record_casts(partial(mapping.batches.cast_reports, table, selected, params.records))
    failed += await _find_dangling_links(ctx, params.base_id, table, [draft for draft in selected if draft.new_options])
    return mapping.batches.batch(table, selected, failed, ctx.cache.get(f"filled in {table.id}") or {})


async def _find_dangling_links(
    ctx: TablesCall, base_id: str, table: vendor_models.Table, group: Sequence[Draft]
) -> list[FailedRecord]:
    """Return the links of *group* to missing records, which the vendor would create with ``typecast``."""
    failed = []
    for draft in group:
        for name, (table_id, record_ids) in mapping.batches.links(table, draft).items():
            existing = await ctx.upstream.existing_records(base_id, table_id, record_ids)
            failed += mapping.batches.dangling_links(draft, name, record_ids, existing)
    return failed


# Execution


async def _create_group(ctx: TablesCall, batch: Batch, group: Sequence[Draft]) -> None:
    """Create *group* with one request. If it is rejected, check the records again and create each alone."""
    try:
        await _create(ctx, batch, group)
    except REJECTIONS:
        await _create_singly(ctx, batch, {draft.index for draft in group})


async def _create_singly(ctx: TablesCall, batch: Batch, indices: Collection[int]) -> None:
    batch.adopt_plan(await ctx.plan(partial(_plan_again, ctx, batch.params, batch.table_id, indices)))
    for draft in [draft for draft in batch.pending if draft.index in indices]:
        try:
            await _create(ctx, batch, [draft])
        except REJECTIONS as error:
            batch.record_rejection(draft, error)


async def _create(ctx: TablesCall, batch: Batch, group: Sequence[Draft]) -> None:
    learned = await ctx.step(CREATE_RECORDS, batch.creation(group))
    for draft, record_id in zip(group, learned["created"], strict=True):
        batch.created[draft.index] = record_id
        remember_record_location(ctx, record_id, batch.params.base_id, batch.table_id)
