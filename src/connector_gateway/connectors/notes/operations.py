"""The five notes operations."""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import unquote
from uuid import UUID

from connector_gateway.connectors.notes import casts, mapping
from connector_gateway.connectors.notes.client import NotesClient
from connector_gateway.connectors.notes.models import (
    CreatedPage,
    CreatePage,
    Database,
    Event,
    FoundPages,
    ListDatabases,
    ReadEvents,
    SearchPages,
    UpdatedPage,
    UpdatePage,
)
from connector_gateway.kit.call import Attempt, Call, LookUp
from connector_gateway.kit.errors import (
    AmbiguousDatabase,
    DatabaseNotShared,
    LossyCast,
    PageInTrash,
    PageModified,
    PageNotFound,
    PropertyNotFound,
    SelectOptionMissing,
    UnsupportedBlock,
    UpstreamConflict,
    UpstreamRefused,
)
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.shapes import Page

T = TypeVar("T")
NotesCall = Call[NotesClient]
Raw = Mapping[str, Any]

SCHEMA_SECONDS = 60.0
LISTING_SECONDS = 120.0
MADE_SECONDS = 24 * 60 * 60.0
CLOCK_SKEW_SECONDS = 120.0
"""How far the vendor's clock may be behind ours when a page of ours is looked for."""

OUTDATED = (PropertyNotFound, SelectOptionMissing, LossyCast, AmbiguousDatabase, UpstreamRefused)
"""Refusals that may be due to a schema remembered from before it was changed."""

CASTING = (PropertyNotFound, SelectOptionMissing, LossyCast)


@reads("GET /databases")
async def list_databases(call: NotesCall, params: ListDatabases) -> Page[Database]:
    """List the databases shared with the connection, newest first.

    The order is that of the last edit.
    """
    listing = call.memory.get("databases") if call.position else None
    if listing is None:
        sources = [raw async for raw in call.upstream.search_data_sources()]
        listing = mapping.databases(sources, await _titles(call, sources))
        call.memory.put("databases", listing, LISTING_SECONDS)
    wanted = (params.query or "").casefold()
    after = _position_of(call.position)
    found = [item for item in listing if wanted in item.title.casefold() and (after is None or _key(item) < after)]
    items = found[: params.limit]
    more = len(found) > params.limit
    return Page[Database](items=items, position={"after": _key(items[-1])} if more else None)


async def recover_created_page(call: NotesCall, params: CreatePage, attempt: Attempt) -> CreatedPage | None:
    """The page that an earlier attempt made, with its body completed; None if it made none."""
    source = mapping.choose_source(await call.renew(_sources(call, params.database_id)), params.properties)
    written, skipped = mapping.writable(source["properties"], params.properties)
    page_id = attempt.progress.get("page_id")
    raw = await call.upstream.retrieve_page(page_id) if page_id else await _made(call, source, written, attempt)
    if raw is None:
        return None
    call.memory.put(f"made {raw['id']}", value=True, seconds=MADE_SECONDS)
    _, *more = mapping.block_groups(params.children)
    if more:
        await call.notebook.note(page_id=raw["id"])
        await _append(call, raw["id"], await _missing(call, raw["id"], params.children))
    return mapping.created_page(raw, len(written), skipped)


@writes(
    "POST /pages",
    errors=[DatabaseNotShared, AmbiguousDatabase, UnsupportedBlock, *CASTING],
    recover=recover_created_page,
)
async def create_page(call: NotesCall, params: CreatePage) -> CreatedPage:
    """Create a page as a row of a database.

    Values are cast to the type of their property; where that would lose something, nothing is created.
    """
    first, *more = mapping.block_groups(params.children)

    async def create(source: Raw) -> tuple[Raw, CreatedPage]:
        written, skipped = mapping.writable(source["properties"], params.properties)
        raw = await call.upstream.create_page(source["id"], written, first)
        return raw, mapping.created_page(raw, len(written), skipped)

    raw, created = await _with_source(call, params.database_id, params.properties, create)
    call.memory.put(f"made {raw['id']}", value=True, seconds=MADE_SECONDS)
    if more:
        await call.notebook.note(page_id=raw["id"])
        await _append(call, raw["id"], more)
    return created


async def recover_updated_page(call: NotesCall, params: UpdatePage, attempt: Attempt) -> UpdatedPage | None:  # noqa: ARG001  # the page itself tells
    """The page, if it already is as it should be; otherwise None."""
    raw = await call.upstream.retrieve_page(params.page_id)
    written = mapping.writable(await _schema(call, raw), params.properties or {})[0]
    archived = raw["in_trash"] if params.archived is None else params.archived
    if raw["in_trash"] != archived or not mapping.bears(raw, written):
        return None
    return mapping.updated_page(raw, _names(raw, written))


@writes(
    "PATCH /pages/{page_id}",
    errors=[PageNotFound, PageModified, PageInTrash, UpstreamConflict, *CASTING],
    recover=recover_updated_page,
)
async def update_page(call: NotesCall, params: UpdatePage) -> UpdatedPage:
    """Update properties of a page, move it to the trash, or restore it.

    Writes to one page through this service happen one after the other.
    """
    async with call.exclusive(f"page {UUID(params.page_id)}"):
        raw = await call.upstream.retrieve_page(params.page_id)
        _require_unmodified(raw, params.if_unmodified_since)
        written = await _written(call, raw, params.properties or {})
        if written and raw["in_trash"] and params.archived is not False:
            raise PageInTrash(f"Page {params.page_id} is in the trash.", {"parameter": "archived"})
        for change in _changes(raw, written, archived=params.archived):
            raw = await call.upstream.update_page(params.page_id, change)
        return mapping.updated_page(raw, _names(raw, written))


@reads("POST /pages/search", errors=[DatabaseNotShared, AmbiguousDatabase, PropertyNotFound])
async def search_pages(call: NotesCall, params: SearchPages) -> FoundPages:
    """Find pages by a property value within one database; every match is returned."""

    async def search(source: Raw) -> FoundPages:
        described = source["properties"].get(params.property)
        if described is None:
            raise PropertyNotFound(
                f"The database has no property {params.property!r}.",
                {"property": params.property, "allowed": list(source["properties"])},
            )
        wanted = params.value.strip()
        found = []
        if not mapping.hopeless(described, wanted, params.match):
            condition = mapping.search_filter(described, wanted, params.match)
            async for rows in call.upstream.rows(source["id"], condition, _shown(source, described)):
                for raw in _required(rows):
                    value = await _whole(call, raw, described)
                    if value is not None and mapping.matches(value, wanted, params.match):
                        found.append(mapping.found_page(raw, params.property))
        return FoundPages(match_count=len(found), pages=found)

    return await _with_source(call, params.database_id, [params.property], search)


@reads("GET /events")
async def read_events(call: NotesCall, params: ReadEvents) -> Page[Event]:
    """Read the changes that were observed, oldest first.

    They are kept for 30 days, on the free plan for 7.
    A header ``Warning`` tells of times of which changes may be missing.
    """
    return await call.events.page(
        call.connection_id,
        Event,
        call.position,
        limit=params.limit,
        since=params.since,
        type=params.type,
        confirm=call.upstream.retrieve_me,
        heeds_looks=True,
    )


# Databases and their schemas


async def _titles(call: NotesCall, sources: Sequence[Raw]) -> Mapping[str, str]:
    """The titles of the databases that have several data sources, and so other titles than those."""
    owners = Counter(raw["parent"]["database_id"] for raw in sources if raw["object"] == "data_source")
    several = [database_id for database_id, count in owners.items() if count > 1]
    return {uid: casts.plain_text((await call.upstream.retrieve_database(uid))["title"]) for uid in several}


async def _with_source(
    call: NotesCall, database_id: str, names: Sequence[str] | Mapping[str, Any], use: Callable[[Raw], Awaitable[T]]
) -> T:
    """What *use* makes of the database's source; once more with a fresh schema if a remembered one may be outdated."""

    async def use_one(sources: Sequence[Raw]) -> T:
        return await use(mapping.choose_source(sources, names))

    return await call.with_recalled(_sources(call, database_id), use_one, outdated=OUTDATED)


def _sources(call: NotesCall, database_id: str) -> LookUp[Sequence[Raw]]:
    """The data sources of a database."""

    async def find() -> Sequence[Raw]:
        database = await call.upstream.retrieve_database(database_id)
        return [await call.upstream.retrieve_data_source(part["id"]) for part in database["data_sources"]]

    return LookUp(f"sources {database_id}", SCHEMA_SECONDS, find)


async def _schema(call: NotesCall, page: Raw) -> Raw:
    """The properties that a page can have now: those of its data source, else those it shows."""
    source_id = page["parent"].get("data_source_id")
    if source_id is None:
        return _shown_schema(page)
    schema: Raw = (await call.renew(_source(call, source_id)))["properties"]
    return schema


async def _written(call: NotesCall, page: Raw, properties: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values of a page in the vendor's form, cast by the properties that it can have."""
    source_id = page["parent"].get("data_source_id")
    if source_id is None:
        return mapping.writable(_shown_schema(page), properties)[0]

    async def cast(source: Raw) -> Mapping[str, Any]:
        return mapping.writable(source["properties"], properties)[0]

    return await call.with_recalled(_source(call, source_id), cast, outdated=CASTING)


def _source(call: NotesCall, source_id: str) -> LookUp[Raw]:
    """A data source."""

    async def find() -> Raw:
        return await call.upstream.retrieve_data_source(source_id)

    return LookUp(f"source {source_id}", SCHEMA_SECONDS, find)


def _shown_schema(page: Raw) -> Raw:
    """The properties that a page shows, which tells no more than their types."""
    return {name: {**value, "name": name} for name, value in page["properties"].items()}


# Creating


async def _append(call: NotesCall, page_id: str, groups: Sequence[Sequence[Raw]]) -> None:
    for group in groups:
        await call.upstream.append_block_children(page_id, [dict(block) for block in group])


async def _missing(call: NotesCall, page_id: str, children: Sequence[Any]) -> list[list[dict[str, Any]]]:
    """The groups of body blocks that the page does not have yet."""
    there = await call.upstream.count_block_children(page_id)
    return [group for group in mapping.block_groups(children[there:]) if group]


async def _made(call: NotesCall, source: Raw, written: Mapping[str, Any], attempt: Attempt) -> Raw | None:
    """The newest row that bears what was written, is ours, was made since, and is no other call's."""
    since = datetime.fromtimestamp(attempt.started_at - CLOCK_SKEW_SECONDS, UTC).replace(second=0, microsecond=0)
    me = await call.recall(LookUp("me", SCHEMA_SECONDS, call.upstream.retrieve_me))
    condition = {"timestamp": "created_time", "created_time": {"on_or_after": since.isoformat()}}
    async for rows in call.upstream.rows(source["id"], condition, newest_first=True):
        for raw in rows:
            ours = "incomplete" not in raw and raw["created_by"]["id"] == me["id"]
            if ours and mapping.bears(raw, written) and not call.memory.get(f"made {raw['id']}"):
                return raw
    return None


# Updating


def _require_unmodified(raw: Raw, since: datetime | None) -> None:
    edited_at = mapping.instant(raw["last_edited_time"])
    if since is not None and edited_at > since:
        raise PageModified(
            f"The page was changed at {edited_at.isoformat()}.", {"last_edited_at": edited_at.isoformat()}
        )


def _changes(raw: Raw, written: Mapping[str, Any], *, archived: bool | None) -> list[dict[str, Any]]:
    """The requests of an update: a page leaves the trash before it is written to, and enters it afterwards.

    What already is as it should be is not asked for: the vendor refuses to trash a page twice.
    """
    properties = [{"properties": written}] if written else []
    trash = [] if archived in {None, raw["in_trash"]} else [{"in_trash": archived}]
    return properties + trash if archived else trash + properties


def _names(raw: Raw, written: Mapping[str, Any]) -> list[str]:
    """The names of the properties written, in the order they were given."""
    by_id = {unquote(value["id"]): name for name, value in raw["properties"].items()}
    return [by_id[property_id] for property_id in written if property_id in by_id]


# Searching


def _shown(source: Raw, described: Raw) -> list[str]:
    """The properties that a search needs to see of a row: the title, and the one that is searched."""
    title = next(item for item in source["properties"].values() if item["type"] == "title")
    return list(dict.fromkeys([unquote(title["id"]), unquote(described["id"])]))


def _required(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """*rows*; ``UpstreamRefused`` where the vendor does not list all that there are."""
    if "incomplete" in rows[0]:
        raise UpstreamRefused("More pages were created within one minute than the application lists.")
    return rows


async def _whole(call: NotesCall, raw: Raw, described: Raw) -> Raw | None:
    """A page's value of a property, made whole where the vendor shows only part of it within a page."""
    value: Raw | None = mapping.by_id(raw).get(unquote(described["id"]))
    if value is None or not casts.truncated(value):
        return value
    items = [item async for item in call.upstream.retrieve_page_property(raw["id"], unquote(value["id"]))]
    return casts.completed(value, items)


# Paging


def _key(database: Database) -> list[Any]:
    """Where a database stands in the order of the listing."""
    return [database.last_edited_at.isoformat(), database.database_id]


def _position_of(position: Mapping[str, Any] | None) -> list[Any] | None:
    return None if position is None else list(position["after"])
