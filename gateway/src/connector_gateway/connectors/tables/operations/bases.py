"""Bases and their tables, with cached schemas."""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from connector_gateway.connectors.tables import mapping, vendor_models
from connector_gateway.connectors.tables.client import REQUEST, TablesClient
from connector_gateway.connectors.tables.mapping.records import REJECTIONS
from connector_gateway.connectors.tables.models import ListTables, Table
from connector_gateway.kit.context import CachedLookup, OperationContext
from connector_gateway.kit.errors import BaseNotFound, TableNotFound, ViewNotFound
from connector_gateway.kit.models import Listing
from connector_gateway.kit.operation import reads
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import StepInput

T = TypeVar("T")
TablesCall = OperationContext[TablesClient]

SCHEMA_SECONDS = 60.0
REMEMBER_SECONDS = 24 * 60 * 60.0
"""Seconds for which the location of a record and the owner of a token are cached."""

MISSING = (BaseNotFound, TableNotFound)

OUTDATED = (*REJECTIONS, TableNotFound, ViewNotFound)
"""Errors that an outdated cached schema may cause."""


@reads(
    "GET /tables",
    errors=[BaseNotFound],
    requests=TypicalRequests(REQUEST, REQUEST),
    examples=[lambda one: {"base_id": one["base_id"]}],
)
async def list_tables(ctx: TablesCall, params: ListTables) -> Listing[Table]:
    """List the tables of a base with their fields (columns), field types and views.

    Use it before reading or writing records. For records, use
    ``tables_read_records``.
    """
    tables = await load_tables(ctx, params.base_id)
    return Listing[Table](items=mapping.schemas.tables(tables, include_views=params.include_views))


async def with_table(ctx: TablesCall, base_id: str, name: str, use: Callable[[vendor_models.Table], Awaitable[T]]) -> T:
    """Return the result of *use* for the table. Calls it again with a new schema if the cached one may be outdated."""

    async def use_one(tables: Sequence[vendor_models.Table]) -> T:
        return await use(mapping.schemas.find_table(tables, name))

    return await ctx.with_cache_retry(schema_lookup(ctx, base_id), use_one, outdated=OUTDATED)


async def load_tables(ctx: TablesCall, base_id: str) -> Sequence[vendor_models.Table]:
    """Return the current tables of a base."""
    return await ctx.reload(schema_lookup(ctx, base_id))


async def known_table(ctx: TablesCall, intent: StepInput) -> vendor_models.Table:
    """Return the table of a step."""

    def is_there(tables: Sequence[vendor_models.Table]) -> bool:
        return any(table.id == intent["table_id"] for table in tables)

    return mapping.schemas.find_table(
        await ctx.cached(schema_lookup(ctx, intent["base_id"]), suffices=is_there), intent["table_id"]
    )


def schema_lookup(ctx: TablesCall, base_id: str) -> CachedLookup[Sequence[vendor_models.Table]]:
    """Return the look-up of a base's tables with their fields and views."""
    return CachedLookup(f"schema {base_id}", SCHEMA_SECONDS, partial(ctx.upstream.get_base_schema, base_id))


def record_name(base_id: str, record_id: str) -> str:
    """Return the name of a record for the core. Copies of a base have records with the same identifiers."""
    return f"record {base_id} {record_id}"


def remember_record_location(ctx: TablesCall, record_id: str, base_id: str, table_id: str) -> None:
    """Cache the location of a record for later attachments."""
    ctx.cache.put(f"record {record_id}", (base_id, table_id), REMEMBER_SECONDS)
