"""Listing of databases without duplicates."""

from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from connector_gateway.connectors.notes import mapping, value_casts, vendor_models
from connector_gateway.connectors.notes.client import REQUEST
from connector_gateway.connectors.notes.models import ListDatabases, NotesDatabase
from connector_gateway.connectors.notes.operations.cached_lookups import NotesCall
from connector_gateway.kit.context import CachedLookup
from connector_gateway.kit.errors import DatabaseNotShared, UpstreamError
from connector_gateway.kit.models import Page
from connector_gateway.kit.operation import reads
from connector_gateway.kit.upstream.budget import TypicalRequests

Sources = vendor_models.Listing[vendor_models.DataSource]
LISTING_SECONDS = 120.0
"""Lifetime of a cached listing, and of the titles of databases with several data sources."""

MAX_IN_CURSOR = 50
"""The maximum number of databases in a cursor. More are rarely edited within one minute."""

MAX_READS = 5
"""The maximum number of times that the start of a list is read because the list changes meanwhile."""

MAX_LOOK_UPS = 2
"""The maximum number of single look-ups. For more databases, the rest of the list takes no more requests."""

SINGLE = "databases with one source"
SINGLE_SECONDS = 3600.0
MAX_SINGLE = 8
"""Cache key, lifetime and size of the cache of databases that have one source only."""

SKEW_SECONDS = 180.0
"""Seconds by which the vendor's times may be behind ours: they are floored to the minute, and clocks differ."""


@reads(
    "GET /databases",
    errors=[DatabaseNotShared],
    requests=TypicalRequests(
        4 * REQUEST, 3 * REQUEST, "two pages, the first again as edits move databases to it; a title"
    ),
    examples=[lambda _: {"query": "lead", "limit": 2}, lambda _: {}],
)
async def list_databases(ctx: NotesCall, params: ListDatabases) -> Page[NotesDatabase]:
    """List the databases shared with the connection, last edited first.

    Use it to find a ``database_id`` and the names of properties. For the pages of a database, use
    ``notes_search_pages``.
    """
    if ctx.position is not None:
        return await _page(ctx, params, await _listing(ctx, ctx.position))
    pages = ctx.upstream.search_data_source_pages()
    first = await anext(pages)
    short = await _short_page(ctx, first, params.limit) if params.query is None else None
    return short or await _page(ctx, params, await _new_listing(ctx, _resume(first, pages)))


async def _page(ctx: NotesCall, params: ListDatabases, listing: "_Listing") -> Page[NotesDatabase]:
    items_after = listing.after(ctx.position)
    if params.query:
        query = params.query.casefold()
        items_after = [item for item in await _with_titles(ctx, listing, items_after) if query in item.title.casefold()]
    items = await _with_titles(ctx, listing, items_after[: params.limit])
    more = len(items_after) > params.limit
    return Page[NotesDatabase](items=items, position=listing.position(items[-1]) if more else None)


@dataclass(frozen=True, slots=True)
class _Listing:
    """The databases as one caller lists them, each once, regardless of concurrent listings and edits."""

    name: str
    items: Sequence[NotesDatabase]
    newest: str
    """Time of the last edit when the databases were listed."""

    several: frozenset[str]
    """Databases with several data sources, which have their own titles."""

    earlier_ids: Sequence[str] = ()
    """Databases on earlier pages, which are not among the items."""

    def after(self, position: Mapping[str, Any] | None) -> Sequence[NotesDatabase]:
        """Return the databases after the page that ended at *position*."""
        if position is None or position.get("listing") != self.name:
            return self.items
        return [item for item in self.items if _key(item) < position["after"]]

    def position(self, last: NotesDatabase) -> Mapping[str, Any]:
        """Return the end of a page, with all databases listed so far from the minute of the last edit."""
        after = _key(last)
        page_ids = [item.database_id for item in self.items if _key(item) >= after and _key(item)[0] == self.newest]
        return _position(self.name, after, self.newest, [*self.earlier_ids, *page_ids])


def _position(name: str, after: Sequence[str], newest: str, listed_ids: Sequence[str]) -> Mapping[str, Any]:
    return {"listing": name, "after": after, "newest": newest, "shown": listed_ids[:MAX_IN_CURSOR]}


# One upstream page


async def _short_page(ctx: NotesCall, first: Sources, limit: int) -> Page[NotesDatabase] | None:
    """Return a page if the first upstream page suffices, or None if it takes the rest of the list."""
    items = mapping.databases.databases(first.results)[:limit]
    # More databases that were edited in the same minute may follow.
    if not first.next_cursor or len(items) < limit or items[-1].last_edited_at <= first.results[-1].last_edited_time:
        return None
    unknown = [item.database_id for item in items if not _is_single(ctx, first, item.database_id)]
    titles = await _look_up_titles(ctx, first, unknown) if len(unknown) <= MAX_LOOK_UPS else None
    if titles is None:
        return None
    titled = [_with_title(item, titles.get(item.database_id)) for item in items]
    listed_ids = [item.database_id for item in items]
    return Page[NotesDatabase](items=titled, position=_position("", _key(items[-1]), _key(items[0])[0], listed_ids))


def _is_single(ctx: NotesCall, first: Sources, database_id: str) -> bool:
    """Return True if the database is known to have one data source, which is on the *first* upstream page.

    A data source added since would be on that page, which starts with the last edited ones.
    """
    known_at: float = (ctx.cache.get(SINGLE) or {}).get(database_id, 0.0)
    count = sum(mapping.databases.database_id(source) == database_id for source in first.results)
    return count == 1 and first.results[-1].last_edited_time.timestamp() < known_at - SKEW_SECONDS


async def _look_up_titles(ctx: NotesCall, first: Sources, database_ids: Sequence[str]) -> Mapping[str, str] | None:
    """Return the titles of databases that have several data sources.

    Returns None if one of them has a data source that is not on the *first* upstream page, or cannot be read.
    """
    titles: dict[str, str] = {}
    source_ids = {source.id for source in first.results}
    for database_id in database_ids:
        now = ctx.clock.now()
        try:
            database = await ctx.upstream.retrieve_database(database_id)
        except DatabaseNotShared:
            return None
        if not {source.id for source in database.data_sources} <= source_ids:
            return None
        if len(database.data_sources) == 1:
            single = list({**(ctx.cache.get(SINGLE) or {}), database_id: now}.items())
            ctx.cache.put(SINGLE, dict(single[-MAX_SINGLE:]), SINGLE_SECONDS)
        else:
            titles[database_id] = value_casts.from_vendor.plain_text(database.title)
    return titles


# The complete list


async def _listing(ctx: NotesCall, position: Mapping[str, Any]) -> _Listing:
    """Return the listing that a caller pages through.

    If it is no longer cached, list again the databases that were not on pages before *position*.
    Databases that were edited since are listed even if an earlier page may have included them.
    """
    cached: _Listing | None = ctx.cache.get(f"databases {position.get('listing')}")
    return cached or await _new_listing(ctx, ctx.upstream.search_data_source_pages(), position)


async def _new_listing(
    ctx: NotesCall, pages: AsyncIterator[Sources], position: Mapping[str, Any] | None = None
) -> _Listing:
    sources = await _sources(ctx, pages)
    owners = Counter(map(mapping.databases.database_id, sources))
    items = mapping.databases.databases(sources)
    newest = _key(items[0])[0] if items else ""
    earlier_ids: Sequence[str] = position.get("shown", ()) if position else ()
    if position is not None:
        items = [item for item in items if _may_be_unseen(item, position)]
    several = frozenset(database_id for database_id, count in owners.items() if count > 1)
    listing = _Listing(token_hex(8), items, newest, several, earlier_ids)
    ctx.cache.put(f"databases {listing.name}", listing, LISTING_SECONDS)
    return listing


def _may_be_unseen(item: NotesDatabase, position: Mapping[str, Any]) -> bool:
    edited_since = _key(item)[0] >= position.get("newest", "9") and item.database_id not in position.get("shown", ())
    return edited_since or _key(item) < position["after"]


async def _sources(ctx: NotesCall, pages: AsyncIterator[Sources]) -> Sequence[vendor_models.DataSource]:
    """Return all data sources, including those that move to an already read page because they are edited meanwhile."""
    sources: dict[str, vendor_models.DataSource] = {}
    since = None
    for _ in range(MAX_READS):
        count, newest, previous = 0, None, dict(sources)
        async for page in pages:
            count += 1
            sources.update({source.id: source for source in page.results})
            newest = newest or (page.results[0].last_edited_time if page.results else None)
            if since is not None and page.results and page.results[-1].last_edited_time < since:
                break
        # Two reads agree, so nothing moved to an already read page.
        if count <= 1 or sources == previous:
            return list(sources.values())
        since, pages = newest, ctx.upstream.search_data_source_pages()
    raise UpstreamError("The vendor's list of databases changes faster than it can be read.")


async def _resume(first: Sources, pages: AsyncIterator[Sources]) -> AsyncIterator[Sources]:
    """Yield the pages of a list whose *first* was read."""
    yield first
    # ``async for`` would restart the pages.
    while (page := await anext(pages, None)) is not None:
        yield page


async def _with_titles(ctx: NotesCall, listing: _Listing, items: Sequence[NotesDatabase]) -> Sequence[NotesDatabase]:
    """Return *items* with the own titles of databases that have several data sources."""
    return [
        _with_title(item, await _title(ctx, item.database_id)) if item.database_id in listing.several else item
        for item in items
    ]


async def _title(ctx: NotesCall, database_id: str) -> str:
    async def find() -> str:
        return value_casts.from_vendor.plain_text((await ctx.upstream.retrieve_database(database_id)).title)

    return await ctx.cached(CachedLookup(f"title {database_id}", LISTING_SECONDS, find))


def _with_title(item: NotesDatabase, title: str | None) -> NotesDatabase:
    return item if title is None else item.model_copy(update={"title": title})


def _key(database: NotesDatabase) -> list[str]:
    """Return the sort key of a database in the listing."""
    return [mapping.pages.to_timestamp(database.last_edited_at), database.database_id]
