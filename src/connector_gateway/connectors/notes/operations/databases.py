"""Databases: listed so that each comes once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from secrets import token_hex
from typing import Any

from connector_gateway.connectors.notes import casts, mapping, wire
from connector_gateway.connectors.notes.models import ListDatabases, NotesDatabase
from connector_gateway.connectors.notes.operations.reading import NotesCall
from connector_gateway.kit.errors import DatabaseNotShared, UpstreamError
from connector_gateway.kit.operation import reads
from connector_gateway.kit.shapes import Page

LISTING_SECONDS = 120.0

MAX_SHOWN = 50
"""The most databases that a cursor names; more are rarely edited within one minute."""

MAX_READINGS = 5
"""How often the beginning of a list is read again if the list changes while it is read."""


@reads("GET /databases", errors=[DatabaseNotShared])
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
        # Two readings that agree: nothing moved to where had been read already.
        if pages <= 1 or found == known:
            return mapping.databases.databases(found.values(), await _titles(call, list(found.values())))
        since = newest
    raise UpstreamError("The application's list of databases changes faster than it can be read.")


async def _titles(call: NotesCall, sources: Sequence[wire.DataSource]) -> Mapping[str, str]:
    """The titles of the databases that have several data sources, and so other titles than those."""
    owners = Counter(mapping.databases.database_id(source) for source in sources)
    # The title of the only data source is that of its database, which saves a request for each.
    several = [database_id for database_id, count in owners.items() if count > 1]
    return {uid: casts.reading.plain_text((await call.upstream.retrieve_database(uid)).title) for uid in several}


def _key(database: NotesDatabase) -> list[str]:
    """Where a database stands in the order of the listing."""
    return [mapping.pages.stamp(database.last_edited_at), database.database_id]
