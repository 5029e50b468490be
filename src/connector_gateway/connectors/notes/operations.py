"""The five notes operations."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from secrets import token_hex
from typing import Any
from uuid import UUID

from connector_gateway.connectors.notes import casts, mapping, wire
from connector_gateway.connectors.notes.client import MINUTE, NotesClient
from connector_gateway.connectors.notes.models import (
    CreatedPage,
    CreatePage,
    FoundPage,
    FoundPages,
    ListDatabases,
    NotesDatabase,
    NotesEvent,
    ReadNotesEvents,
    SearchPages,
    UpdatedPage,
    UpdatePage,
)
from connector_gateway.kit.call import Call, LookUp
from connector_gateway.kit.errors import (
    AmbiguousDatabase,
    DatabaseNotShared,
    LossyCast,
    OutcomeUnknown,
    PageInTrash,
    PageModified,
    PageNotFound,
    PropertyNotFound,
    SelectOptionMissing,
    UnsupportedBlock,
    UpstreamConflict,
    UpstreamError,
    UpstreamRefused,
)
from connector_gateway.kit.operation import reads, writes
from connector_gateway.kit.shapes import Page
from connector_gateway.kit.writing import Found, Intent, Learned, Sent, Step

NotesCall = Call[NotesClient]
Kept = mapping.Kept

SCHEMA_SECONDS = 60.0
LISTING_SECONDS = 120.0
MAX_SHOWN = 50
"""The most databases that a cursor names; more are rarely edited within one minute."""

MAX_READINGS = 5
"""How often the beginning of a list is read again if the list changes while it is read."""

CASTING = (PropertyNotFound, SelectOptionMissing, LossyCast)

OUTDATED = (*CASTING, AmbiguousDatabase)
"""Refusals that may be due to a schema remembered from before it was changed."""


# The steps that change something


async def _send_page(call: NotesCall, intent: Intent, _: str) -> Learned:
    made = await call.upstream.create_page(
        intent["source_id"], intent["properties"], intent["children"], intent.get("references", {})
    )
    return mapping.kept_page(made)


async def _find_pages(call: NotesCall, intent: Intent, sent: Sent) -> Sequence[Found]:
    """The rows that this integration made, and that are what was to be made, in their values and their bodies."""
    me = await _me(call)
    earliest = datetime.fromtimestamp(sent.earliest, UTC).replace(second=0, microsecond=0)
    condition = {"timestamp": "created_time", "created_time": {"on_or_after": earliest.isoformat()}}
    return [
        Found(mapping.kept_page(page), page.id, page.created_time.timestamp())
        async for rows in call.upstream.rows(intent["source_id"], condition)
        for page in _told_apart(rows)
        if page.created_by.id == me and await _is_page(call, page, intent)
    ]


async def _send_blocks(call: NotesCall, intent: Intent, _: str) -> Learned:
    block_ids = await call.upstream.append_block_children(intent["page_id"], intent["children"])
    if len(block_ids) != len(intent["children"]):
        raise ValueError(f"{len(block_ids)} blocks are told to be there, {len(intent['children'])} were sent")
    return {"blocks": intent["start"] + len(block_ids)}


async def _find_blocks(call: NotesCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The blocks, if this integration put more on the page than was there before; people's are disregarded."""
    me = await _me(call)
    blocks = call.upstream.retrieve_block_children(intent["page_id"])
    ours = [mapping.signature(block) async for block in blocks if block.created_by.id == me]
    done = mapping.is_appended(ours, intent)
    return [Found({"blocks": intent["start"] + len(intent["children"])})] if done else []


async def _send_change(call: NotesCall, intent: Intent, _: str) -> Learned:
    if intent["since"] is not None:
        await _require_left_alone(call, intent)
    page = await call.upstream.update_page(intent["page_id"], intent["body"], intent.get("references", {}))
    return mapping.kept_state(page) | {"told": intent["told"]}


async def _find_change(call: NotesCall, intent: Intent, _: Sent) -> Sequence[Found]:
    """The page, if it is as it was to become."""
    page, body = await call.upstream.retrieve_page(intent["page_id"]), intent["body"]
    done = page.in_trash == body.get("in_trash", page.in_trash)
    if done and await _bears(call, page, body.get("properties", {})):
        return [Found(mapping.kept_state(page) | {"told": intent["told"]})]
    return []


CREATE_PAGE = Step(
    "create the page",
    _send_page,
    _find_pages,
    makes="page",
    made_within_seconds=MINUTE.total_seconds(),
    tells=mapping.told_page,
)
APPEND_BLOCKS = Step("append blocks", _send_blocks, _find_blocks)
CHANGE_PAGE = Step("change the page", _send_change, _find_change, tells=mapping.told_change)


# The operations


@reads("GET /databases")
async def list_databases(call: NotesCall, params: ListDatabases) -> Page[NotesDatabase]:
    """List the databases shared with the connection, newest first.

    The order is that of the last edit.
    """
    listing = await _listing(call)
    wanted = (params.query or "").casefold()
    found = [item for item in listing.after(call.position) if wanted in item.title.casefold()]
    items = found[: params.limit]
    more = len(found) > params.limit
    return Page[NotesDatabase](items=items, position=listing.position(items[-1]) if more else None)


@writes("POST /pages", errors=[DatabaseNotShared, AmbiguousDatabase, PageNotFound, UnsupportedBlock, *CASTING])
async def create_page(call: NotesCall, params: CreatePage) -> CreatedPage:
    """Create a page as a row of a database.

    Values are cast to the type of their property; where that would lose something, nothing is created.
    """
    groups = mapping.block_groups(params.children)
    plan = await call.plan(partial(_new_page, call, params, groups[0]))
    try:
        made = await call.step(CREATE_PAGE, plan["page"])
    except UpstreamRefused:
        if not plan["remembered"]:
            raise
        plan = await call.plan(partial(_page_of_today, call, params, groups[0]))
        made = await call.step(CREATE_PAGE, plan["page"])
    for blocks in mapping.appended(made["id"], groups):
        await call.step(APPEND_BLOCKS, blocks)
    kept = made if "url" in made else mapping.kept_page(await call.upstream.retrieve_page(made["id"]))
    return mapping.created_page(kept, plan)


@writes("PATCH /pages/{page_id}", errors=[PageNotFound, PageModified, PageInTrash, UpstreamConflict, *CASTING])
async def update_page(call: NotesCall, params: UpdatePage) -> UpdatedPage:
    """Update properties of a page, move it to the trash, or restore it.

    Writes to one page through this service happen one after the other.
    """
    async with call.exclusive(f"page {UUID(params.page_id)}"):
        plan = await call.plan(partial(_update, call, params))
        page, guard = plan["page"], {"since": plan["since"], "ours": False}
        for change in plan["changes"]:
            page = await call.step(CHANGE_PAGE, {"page_id": page["id"], **change, **guard})
            guard = {"since": guard["since"] and page["last_edited_time"], "ours": True}
    return mapping.updated_page(page, plan)


@reads("POST /pages/search", errors=[DatabaseNotShared, PropertyNotFound])
async def search_pages(call: NotesCall, params: SearchPages) -> FoundPages:
    """Find pages by a property value within one database; every match is returned."""

    async def search(sources: Sequence[wire.DataSource]) -> FoundPages:
        found: list[FoundPage] = []
        for source in mapping.sources_with(sources, params.property):
            found += await _matches(call, source, params)
        return FoundPages(match_count=len(found), pages=found)

    sources = _sources(call, params.database_id)
    return await call.with_recalled(sources, search, outdated=(PropertyNotFound, UpstreamRefused))


@reads("GET /events")
async def read_events(call: NotesCall, params: ReadNotesEvents) -> Page[NotesEvent]:
    """Read the changes that were observed, oldest first.

    They are kept for 30 days, on the free plan for 7.
    A header ``Warning`` tells of times of which changes may be missing.
    """
    return await call.events.page(
        call.connection_id,
        NotesEvent,
        call.position,
        limit=params.limit,
        since=params.since,
        type=params.type,
        confirm=call.upstream.retrieve_me,
        heeds_polls=True,
    )


# Planning


async def _new_page(call: NotesCall, params: CreatePage, blocks: Sequence[Kept]) -> Kept:
    """What a page is to be, cast by the database's schema, and whether that was a remembered one."""
    wanted = _sources(call, params.database_id)
    remembered = call.memory.get(wanted.name)

    async def cast(sources: Sequence[wire.DataSource]) -> Kept:
        source = mapping.choose_source(sources, params.properties)
        return mapping.new_page(source, params.properties, blocks) | {"remembered": sources is remembered}

    return await call.with_recalled(wanted, cast, outdated=OUTDATED)


async def _page_of_today(call: NotesCall, params: CreatePage, blocks: Sequence[Kept]) -> Kept:
    """The same by the schema that the database has now."""
    sources = await call.renew(_sources(call, params.database_id))
    return mapping.new_page(mapping.choose_source(sources, params.properties), params.properties, blocks)


async def _update(call: NotesCall, params: UpdatePage) -> Kept:
    """The page as it is, unless it was changed since, and what is to be changed of it."""
    page = await call.upstream.retrieve_page(params.page_id)
    if params.if_unmodified_since is not None:
        _require_unmodified(page, params.if_unmodified_since)
    written = await _written(call, page, params.properties or {})
    if written and page.in_trash and params.archived is not False:
        raise PageInTrash(f"Page {params.page_id} is in the trash.", {"parameter": "archived"})
    return {
        "page": mapping.kept_state(page),
        "changes": mapping.updates(page, written, archived=params.archived),
        "names": mapping.names(page, written),
        "since": params.if_unmodified_since,
    }


# Databases and their schemas


async def _titles(call: NotesCall, sources: Sequence[wire.DataSource]) -> Mapping[str, str]:
    """The titles of the databases that have several data sources, and so other titles than those."""
    owners = Counter(mapping.database_id(source) for source in sources)
    several = [database_id for database_id, count in owners.items() if count > 1]
    return {uid: casts.plain_text((await call.upstream.retrieve_database(uid)).title) for uid in several}


def _sources(call: NotesCall, database_id: str) -> LookUp[Sequence[wire.DataSource]]:
    """The data sources of a database."""

    async def find() -> Sequence[wire.DataSource]:
        database = await call.upstream.retrieve_database(database_id)
        return [await call.upstream.retrieve_data_source(part.id) for part in database.data_sources]

    return LookUp(f"sources {database_id}", SCHEMA_SECONDS, find)


async def _written(call: NotesCall, page: wire.Page, properties: Mapping[str, Any]) -> Kept:
    """The values of a page in the vendor's form, cast by the properties that it can have."""
    source_id = page.parent.data_source_id
    if source_id is None:
        return mapping.writable(mapping.shown_schema(page), properties)[0]

    async def cast(source: wire.DataSource) -> Kept:
        return mapping.writable(source.properties, properties)[0]

    return await call.with_recalled(_source(call, source_id), cast, outdated=CASTING)


def _source(call: NotesCall, source_id: str) -> LookUp[wire.DataSource]:
    """A data source."""

    async def find() -> wire.DataSource:
        return await call.upstream.retrieve_data_source(source_id)

    return LookUp(f"source {source_id}", SCHEMA_SECONDS, find)


# Recognising what a write has made


async def _me(call: NotesCall) -> str:
    """The integration's own user, who is the author of what it makes."""
    return (await call.recall(LookUp("me", SCHEMA_SECONDS, call.upstream.retrieve_me))).id


async def _is_page(call: NotesCall, page: wire.Page, intent: Intent) -> bool:
    """Whether a page is what was to be made, with its first blocks and without others."""
    if not mapping.is_new_page(page, intent) or not await _bears(call, page, intent["properties"]):
        return False
    blocks = [block async for block in call.upstream.retrieve_block_children(page.id)]
    return mapping.is_body(blocks, intent["children"])


async def _bears(call: NotesCall, page: wire.Page, written: Mapping[str, Any]) -> bool:
    """Whether a page holds every value of *written*; those that it shows in part are read whole."""
    if not mapping.bears(page, written):
        return False
    held = mapping.by_id(page)
    for property_id, payload in written.items():
        for kind, content in payload.items():
            if casts.truncated(held[property_id]):
                whole = await _whole(call, page, property_id)
                if whole is None or not casts.holds(whole, kind, content):
                    return False
    return True


def _told_apart(rows: Sequence[wire.Page]) -> Sequence[wire.Page]:
    """*rows*; ``OutcomeUnknown`` where the vendor does not list all that there are."""
    if not rows:
        raise OutcomeUnknown(
            "More pages were created within one minute than the application lists; which is this call's cannot be told."
        )
    return rows


# Updating


def _require_unmodified(page: wire.Page, since: datetime) -> None:
    edited_at = page.last_edited_time
    if edited_at > since:
        raise PageModified(
            f"The page was changed at {mapping.stamp(edited_at)}.", {"last_edited_at": mapping.stamp(edited_at)}
        )


async def _require_left_alone(call: NotesCall, intent: Intent) -> None:
    """Refuse to write over somebody else's change, made since the instant of the guard or since our own first change.

    It is looked right before each sending: the first may be long ago when a step in doubt is sent again.
    """
    page = await call.upstream.retrieve_page(intent["page_id"])
    _require_unmodified(page, mapping.instant(intent["since"]))
    if intent["ours"] and page.last_edited_by.id != await _me(call):
        raise PageModified(
            "Somebody changed the page after the first of these changes.",
            {"last_edited_at": mapping.stamp(page.last_edited_time)},
        )


# Searching


async def _matches(call: NotesCall, source: wire.DataSource, params: SearchPages) -> list[FoundPage]:
    """The rows of one data source that match."""
    described, wanted = source.properties[params.property], params.value.strip()
    if mapping.hopeless(described, wanted, params.match):
        return []
    found = []
    condition = mapping.search_filter(described, wanted, params.match)
    async for rows in call.upstream.rows(source.id, condition, _shown(source, described)):
        for page in _required(rows):
            value = await _whole(call, page, described.id)
            if value is not None and mapping.matches(value, wanted, params.match):
                found.append(mapping.found_page(page, params.property))
    return found


def _shown(source: wire.DataSource, described: wire.Property) -> list[str]:
    """The properties that a search needs to see of a row: the title, and the one that is searched."""
    titles = [item.id for item in source.properties.values() if item.type == "title"]
    return list(dict.fromkeys([*titles, described.id]))


def _required(rows: Sequence[wire.Page]) -> Sequence[wire.Page]:
    """*rows*; ``UpstreamRefused`` where the vendor does not list all that there are."""
    if not rows:
        raise UpstreamRefused("More pages were created within one minute than the application lists.")
    return rows


async def _whole(call: NotesCall, page: wire.Page, property_id: str) -> wire.Value | None:
    """A page's value of a property, made whole where the vendor shows only part of it within a page."""
    value = mapping.by_id(page).get(property_id)
    if value is None or not casts.truncated(value):
        return value
    items = [item async for item in call.upstream.retrieve_page_property(page.id, value.id)]
    return casts.completed(value, items)


# Listing databases


@dataclass(frozen=True, slots=True)
class _Listing:
    """The databases as one caller lists them, who gets each once whatever others list or edit meanwhile."""

    name: str
    items: Sequence[NotesDatabase]
    newest: str
    """The last edit of all when they were listed."""

    def after(self, position: Mapping[str, Any] | None) -> Sequence[NotesDatabase]:
        """The databases that come after a page that ended there."""
        if position is None or position.get("listing") != self.name:
            return self.items
        return [item for item in self.items if _key(item) < position["after"]]

    def position(self, last: NotesDatabase) -> Mapping[str, Any]:
        """Where a page ended, and what it and those before have shown of the minute of the last edit."""
        after = _key(last)
        shown = [item.database_id for item in self.items if _key(item) >= after and _key(item)[0] == self.newest]
        return {"listing": self.name, "after": after, "newest": self.newest, "shown": shown[:MAX_SHOWN]}


async def _listing(call: NotesCall) -> _Listing:
    """The listing that a caller pages through, or a new one."""
    position = call.position
    kept: _Listing | None = call.memory.get(f"databases {position.get('listing')}") if position else None
    return kept or await _new_listing(call, position)


async def _new_listing(call: NotesCall, position: Mapping[str, Any] | None) -> _Listing:
    """A listing of what was not shown before the *position* of one that is forgotten.

    Of databases that were edited since, nobody knows whether they were shown; they are listed.
    """
    found = await _databases(call)
    newest = _key(found[0])[0] if found else ""
    if position is not None:
        found = [item for item in found if _may_be_unseen(item, position)]
    made = _Listing(token_hex(8), found, newest)
    call.memory.put(f"databases {made.name}", made, LISTING_SECONDS)
    return made


def _may_be_unseen(item: NotesDatabase, position: Mapping[str, Any]) -> bool:
    edited_since = _key(item)[0] >= position.get("newest", "9") and item.database_id not in position.get("shown", ())
    return edited_since or _key(item) < position["after"]


async def _databases(call: NotesCall) -> Sequence[NotesDatabase]:
    """All databases, those included that are edited while they are listed, and so move to where was read before."""
    found: dict[str, wire.DataSource] = {}
    since = None
    for _ in range(MAX_READINGS):
        pages, newest, known = 0, None, dict(found)
        async for sources in call.upstream.search_data_source_pages():
            pages += 1
            found.update({source.id: source for source in sources})
            newest = newest or (sources[0].last_edited_time if sources else None)
            if since is not None and sources and sources[-1].last_edited_time < since:
                break
        if pages <= 1 or found == known:
            return mapping.databases(found.values(), await _titles(call, list(found.values())))
        since = newest
    raise UpstreamError("The application's list of databases changes faster than it can be read.")


def _key(database: NotesDatabase) -> list[str]:
    """Where a database stands in the order of the listing."""
    return [mapping.stamp(database.last_edited_at), database.database_id]
