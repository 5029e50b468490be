"""Creation and change of pages."""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from connector_gateway.connectors.notes import mapping, vendor_models
from connector_gateway.connectors.notes.client import MINUTE, REQUEST
from connector_gateway.connectors.notes.mapping.pages import StoredData
from connector_gateway.connectors.notes.mapping.properties import CASTING
from connector_gateway.connectors.notes.models import CreatedPage, CreatePage, UpdatedPage, UpdatePage
from connector_gateway.connectors.notes.operations.cached_lookups import (
    NotesCall,
    current_user,
    data_source,
    data_sources,
    referenced_users,
)
from connector_gateway.connectors.notes.operations.in_doubt_search import has_all_values, is_page, require_complete
from connector_gateway.kit import errors
from connector_gateway.kit.operation import writes
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

OUTDATED = (*CASTING, errors.AmbiguousDatabase)
"""Errors that an outdated cached schema may cause."""


# Write steps


async def _send_page(ctx: NotesCall, intent: StepInput, _: str) -> StepResult:
    created = await ctx.upstream.create_page(
        intent["source_id"], intent["properties"], intent["children"], intent.get("references", {})
    )
    return mapping.pages.stored_page(created)


async def _find_pages(ctx: NotesCall, intent: StepInput, sent: SentStep) -> Sequence[Match]:
    """Return the rows that this integration created and that match the intended values and body."""
    me = await current_user(ctx)
    earliest = datetime.fromtimestamp(sent.earliest, UTC).replace(second=0, microsecond=0)
    condition = {"timestamp": "created_time", "created_time": {"on_or_after": earliest.isoformat()}}
    return [
        Match(mapping.pages.stored_page(page), page.id, page.created_time.timestamp())
        async for rows in ctx.upstream.query_rows(intent["source_id"], condition)
        for page in require_complete(rows)
        if page.created_by.id == me and await is_page(ctx, page, intent, appended=sent.restored)
    ]


async def _send_blocks(ctx: NotesCall, intent: StepInput, _: str) -> StepResult:
    block_ids = await ctx.upstream.append_block_children(intent["page_id"], intent["children"])
    if len(block_ids) != len(intent["children"]):
        raise ValueError(f"the vendor reports {len(block_ids)} blocks, but {len(intent['children'])} were sent")
    return {"blocks": intent["start"] + len(block_ids)}


async def _find_blocks(ctx: NotesCall, intent: StepInput, _: SentStep) -> Sequence[Match]:
    """Return the blocks if the page has more of this integration's blocks than before. People's blocks are ignored."""
    me = await current_user(ctx)
    blocks = ctx.upstream.retrieve_block_children(intent["page_id"])
    ours = [mapping.in_doubt_matching.signature(block) async for block in blocks if block.created_by.id == me]
    done = mapping.in_doubt_matching.is_appended(ours, intent)
    return [Match({"blocks": intent["start"] + len(intent["children"])})] if done else []


async def _send_change(ctx: NotesCall, intent: StepInput, _: str) -> StepResult:
    if intent["since"] is not None:
        await _check_unchanged_by_others(ctx, intent)
    page = await ctx.upstream.update_page(intent["page_id"], intent["body"], intent.get("references", {}))
    return mapping.pages.stored_state(page) | {"told": intent["told"]}


async def _find_change(ctx: NotesCall, intent: StepInput, _: SentStep) -> Sequence[Match]:
    page, body = await ctx.upstream.retrieve_page(intent["page_id"]), intent["body"]
    done = page.in_trash == body.get("in_trash", page.in_trash)
    if done and await has_all_values(ctx, page, body.get("properties", {})):
        return [Match(mapping.pages.stored_state(page) | {"told": intent["told"]})]
    return []


CREATE_PAGE = WriteStep(
    "create the page",
    _send_page,
    _find_pages,
    object_kind="page",
    creation_precision_seconds=MINUTE.total_seconds(),
    public_result=mapping.pages.public_page,
    dry_run_result=mapping.pages.dry_run_page,
)

APPEND_BLOCKS = WriteStep("append blocks", _send_blocks, _find_blocks, dry_run_result=lambda _: {})
CHANGE_PAGE = WriteStep(
    "change the page",
    _send_change,
    _find_change,
    changes=lambda intent: [f"page {intent['page_id']}"],
    public_result=mapping.pages.public_change,
    dry_run_result=mapping.pages.dry_run_state,
)


# The operations


@writes(
    "POST /pages",
    errors=[errors.DatabaseNotShared, errors.AmbiguousDatabase, errors.PageNotFound, errors.UnsupportedBlock, *CASTING],
    targets=["database_id"],
    requests=TypicalRequests(3 * REQUEST, REQUEST, "database and data source, for types"),
    examples=[
        lambda one: {
            "database_id": one["database_id"],
            "properties": {"Name": "Northwind: renewal"},
            "children": ["First call went well.", {"type": "bulleted_list_item", "text": "Send the offer"}],
            "idempotency_key": "northwind-renewal",
        }
    ],
)
async def create_page(ctx: NotesCall, params: CreatePage) -> CreatedPage:
    """Create a page: add a row to a database, with its properties and a body.

    For an existing page, use ``notes_update_page``.

    Values are cast to the type of their property. If a cast would lose data, nothing is created.
    """
    groups = mapping.blocks.block_groups(params.children)
    plan = await ctx.plan(partial(_new_page, ctx, params, groups[0]))
    try:
        created = await ctx.step(CREATE_PAGE, plan["page"])
    except errors.UpstreamRefused:
        if not plan["remembered"]:
            raise
        plan = await ctx.plan(partial(_new_page_by_current_schema, ctx, params, groups[0]))
        created = await ctx.step(CREATE_PAGE, plan["page"])
    _warn_of_skipped(ctx, plan["skipped"])
    for blocks in mapping.blocks.append_steps(created["id"], groups):
        await ctx.step(APPEND_BLOCKS, blocks)
    stored = created if "url" in created else mapping.pages.stored_page(await ctx.upstream.retrieve_page(created["id"]))
    return mapping.pages.created_page(stored, plan)


@writes(
    "PATCH /pages/{page_id}",
    errors=[errors.PageNotFound, errors.PageModified, errors.PageInTrash, *CASTING],
    requests=TypicalRequests(3 * REQUEST, 2 * REQUEST, "the page, for its data source and last edit"),
    examples=[
        lambda one: {"page_id": one["page_id"], "properties": {"Name": "Acme GmbH: pilot, phase 2"}},
        lambda one: {"page_id": one["page_id"], "properties": {"Name": "Acme GmbH: contract"}},
    ],
)
async def update_page(ctx: NotesCall, params: UpdatePage) -> UpdatedPage:
    """Set properties of an existing page, move it to the trash, or restore it.

    The body of the page stays as it is.

    Concurrent updates of one page through this service are applied one after the other.
    """
    async with ctx.exclusive(f"page {UUID(params.page_id)}"):
        plan = await ctx.plan(partial(_update, ctx, params))
        _warn_of_skipped(ctx, plan.get("skipped"))
        page, guard = plan["page"], {"since": plan["since"], "ours": False}
        for change in plan["changes"]:
            page = await ctx.step(CHANGE_PAGE, {"page_id": page["id"], **change, **guard})
            since = None if "assumed" in page else guard["since"] and page["last_edited_time"]
            guard = {"since": since, "ours": True}
    return mapping.pages.updated_page(page, plan)


# Planning


async def _new_page(ctx: NotesCall, params: CreatePage, blocks: Sequence[StoredData]) -> StoredData:
    """Plan a page by the database's schema. Also return whether the schema was cached."""
    lookup = data_sources(ctx, params.database_id)
    cached = ctx.cache.get(lookup.name)

    async def cast(sources: Sequence[vendor_models.DataSource]) -> StoredData:
        source = mapping.databases.choose_source(sources, params.properties)
        users = await referenced_users(ctx, source.properties, params.properties)
        page = mapping.pages.new_page(source, params.properties, blocks, users)
        ctx.record_casts(
            partial(mapping.properties.cast_report, source.properties, params.properties, page["page"]["properties"])
        )
        return page | {"remembered": sources is cached}

    return await ctx.with_cache_retry(lookup, cast, outdated=OUTDATED)


async def _new_page_by_current_schema(ctx: NotesCall, params: CreatePage, blocks: Sequence[StoredData]) -> StoredData:
    """Plan a page by the current schema of the database."""
    sources = await ctx.reload(data_sources(ctx, params.database_id))
    source = mapping.databases.choose_source(sources, params.properties)
    users = await referenced_users(ctx, source.properties, params.properties)
    return mapping.pages.new_page(source, params.properties, blocks, users)


async def _update(ctx: NotesCall, params: UpdatePage) -> StoredData:
    """Plan an update of a page, unless it changed since the caller read it."""
    page = await ctx.upstream.retrieve_page(params.page_id)
    # The step checks again immediately before sending.
    if params.if_unmodified_since is not None and not ctx.restored:
        _require_unmodified(page, params.if_unmodified_since)
    written, skipped = await _convert_properties(ctx, page, params.properties or {})
    if written and page.in_trash and params.archived is not False and not ctx.restored:
        raise errors.PageInTrash(f"Page {params.page_id} is in the trash.", {"parameter": "archived"})
    return {
        "page": mapping.pages.stored_state(page),
        "changes": mapping.pages.updates(page, written, archived=params.archived),
        "names": mapping.properties.names(page, written),
        "since": params.if_unmodified_since,
        "skipped": skipped,
    }


async def _convert_properties(
    ctx: NotesCall, page: vendor_models.Page, properties: Mapping[str, Any]
) -> tuple[StoredData, Sequence[str]]:
    """Return the vendor's form of *properties*, and the names of those that are computed."""
    source_id = page.parent.data_source_id

    async def write(schema: mapping.properties.Schema) -> tuple[StoredData, Sequence[str]]:
        users = await referenced_users(ctx, schema, properties)
        written, skipped = mapping.properties.to_vendor_properties(schema, properties, users)
        ctx.record_casts(partial(mapping.properties.cast_report, schema, properties, written))
        return written, skipped

    if source_id is None:
        return await write(mapping.properties.schema_of_page(page))

    async def cast(source: vendor_models.DataSource) -> tuple[StoredData, Sequence[str]]:
        return await write(source.properties)

    return await ctx.with_cache_retry(data_source(ctx, source_id), cast, outdated=CASTING)


def _warn_of_skipped(ctx: NotesCall, names: Sequence[str] | None) -> None:
    if names:
        ctx.warn(mapping.properties.skipped_warning(names))


# Changes by others


def _require_unmodified(page: vendor_models.Page, since: datetime) -> None:
    edited_at = page.last_edited_time
    if edited_at > since:
        raise errors.PageModified(
            f"The page was changed at {mapping.pages.to_timestamp(edited_at)}.",
            {"last_edited_at": mapping.pages.to_timestamp(edited_at)},
        )


async def _check_unchanged_by_others(ctx: NotesCall, intent: StepInput) -> None:
    """Raise an error if the page was changed by others since the caller's guard or our own first change.

    The check precedes each sending, because the first one may be long ago when a step in doubt is resent.
    """
    page = await ctx.upstream.retrieve_page(intent["page_id"])
    _require_unmodified(page, mapping.pages.parse_timestamp(intent["since"]))
    if intent["ours"] and page.last_edited_by.id != await current_user(ctx):
        raise errors.PageModified(
            "Someone else changed the page after the first of these changes.",
            {"last_edited_at": mapping.pages.to_timestamp(page.last_edited_time)},
        )
