"""Records: listing and single changes."""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from connector_gateway.connectors.tables import mapping, vendor_models
from connector_gateway.connectors.tables.client import REQUEST
from connector_gateway.connectors.tables.mapping.records import CASTING, REJECTIONS, StoredData
from connector_gateway.connectors.tables.models import ReadRecords, Record, UpdatedRecord, UpdateRecord
from connector_gateway.connectors.tables.operations.bases import (
    MISSING,
    TablesCall,
    known_table,
    load_tables,
    record_name,
    remember_record_location,
    with_table,
)
from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.errors import GatewayError, RecordNotFound, ViewNotFound
from connector_gateway.kit.models import Page
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep


async def _send_change(ctx: TablesCall, intent: StepInput, _: str) -> StepResult:
    row = await ctx.upstream.update_record(intent["base_id"], intent["table_id"], intent["record_id"], intent["values"])
    return {"id": row.id, "updated_at": ctx.clock.now()}


async def _find_change(ctx: TablesCall, intent: StepInput, _: SentStep) -> Sequence[Match]:
    table = await known_table(ctx, intent)
    with suppress(RecordNotFound):
        row = await ctx.upstream.get_record(intent["base_id"], table.id, intent["record_id"])
        if mapping.in_doubt_matching.has_values(table, row.fields, intent["values"]):
            return [Match({"id": row.id, "updated_at": ctx.clock.now()})]
    return []


UPDATE_RECORD = WriteStep(
    "update the record",
    _send_change,
    _find_change,
    changes=lambda intent: [record_name(intent["base_id"], intent["record_id"])],
    public_result=lambda stored: {"record_id": stored["id"]},
)


@reads(
    "GET /records",
    errors=[*MISSING, ViewNotFound],
    requests=TypicalRequests(2 * REQUEST, REQUEST, "tables"),
    examples=[lambda one: {"base_id": one["base_id"], "table": one["table"], "view": one["view"], "limit": 1}],
)
async def read_records(ctx: TablesCall, params: ReadRecords) -> Page[Record]:
    """Read records (rows) of a table, or of a view with its own filter and order.

    For fields and views, use ``tables_list_tables``.

    A cursor is valid as long as the vendor stores the list, which is some minutes.
    """

    async def read(table: vendor_models.Table) -> Page[Record]:
        records = await ctx.upstream.list_records(
            params.base_id,
            table.id,
            view_id=mapping.schemas.view_id(table, params.view),
            page_size=params.limit,
            offset=(ctx.position or {}).get("offset"),
        )
        for record in records.records:
            remember_record_location(ctx, record.id, params.base_id, table.id)
        return mapping.records.page(records)

    return await with_table(ctx, params.base_id, params.table, read)


@writes(
    "PATCH /records/{record_id}",
    errors=[*MISSING, RecordNotFound, *CASTING],
    targets=["base_id", "table"],
    requests=TypicalRequests(2 * REQUEST, REQUEST, "tables, for types"),
    examples=[
        lambda one: {
            "record_id": one["record_id"],
            "base_id": one["base_id"],
            "table": one["table"],
            "fields": {one["select_field"]: "Won"},
        },
        lambda one: {
            "record_id": one["record_id"],
            "base_id": one["base_id"],
            "table": one["table"],
            "fields": {one["select_field"]: "Open"},
        },
    ],
)
async def update_record(ctx: TablesCall, params: UpdateRecord) -> UpdatedRecord:
    """Set fields of one existing record.

    For files, use ``tables_attach_file``. For new rows, use ``tables_create_records``.

    Values are cast to the type of their field. If a cast would lose data, nothing is written.
    Concurrent writes to one record through this service are applied one after the other.
    """
    change = await ctx.plan(partial(_plan_change, ctx, params))
    async with ctx.exclusive(f"record {params.record_id}"):
        try:
            learned = await ctx.step(UPDATE_RECORD, change)
        except REJECTIONS as error:
            # An outdated schema may have been used for the cast.
            change = await ctx.plan(partial(_plan_change_again, ctx, params, change, error))
            learned = await _retry_step(ctx, params, change)
    remember_record_location(ctx, learned["id"], change["base_id"], change["table_id"])
    return UpdatedRecord(
        record_id=learned["id"], updated_fields=list(params.fields), updated_at=utc_datetime(learned["updated_at"])
    )


async def _plan_change(ctx: TablesCall, params: UpdateRecord) -> StoredData:
    async def change(table: vendor_models.Table) -> StoredData:
        planned = mapping.records.change(table, params)
        ctx.record_casts(partial(mapping.records.cast_report, table, "fields", params.fields, planned["values"]))
        return planned

    return await with_table(ctx, params.base_id, params.table, change)


async def _plan_change_again(
    ctx: TablesCall, params: UpdateRecord, rejected: StoredData, error: GatewayError
) -> StoredData:
    """Plan the change again by the current table after *error*. Raises *error* if the cast is the same."""
    table = mapping.schemas.find_table(await load_tables(ctx, params.base_id), rejected["table_id"])
    change = mapping.records.change(table, params)
    if change == rejected:
        raise mapping.records.with_field(error, table, change, params.fields)
    return change


async def _retry_step(ctx: TablesCall, params: UpdateRecord, change: StoredData) -> StepResult:
    try:
        return await ctx.step(UPDATE_RECORD, change)
    except REJECTIONS as error:
        table = await known_table(ctx, change)
        raise mapping.records.with_field(error, table, change, params.fields) from error
