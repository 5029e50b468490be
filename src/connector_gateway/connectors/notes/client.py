"""The vendor's wire: one method per request, version 2026-03-11.

Sources of methods stand below developers.notion.com/reference/, and were read 2026-11.
"""

from __future__ import annotations  # functions are made in each call (decision 45)

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self, TypeVar
from urllib.parse import quote, unquote

from connector_gateway.connectors.notes import wire
from connector_gateway.connectors.notes.errors import Names, collides, unwrap
from connector_gateway.kit.clock import clock_skew
from connector_gateway.kit.errors import DatabaseNotShared, PageNotFound
from connector_gateway.kit.pagination import iter_items, iter_pages, with_smaller_pages
from connector_gateway.kit.upstream.budget import Budget, Charge
from connector_gateway.kit.upstream.client import UpstreamClient, retry_after, server_error
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.wire import WireModel

ADDRESS = "https://api.notion.com"
VERSION = "2026-03-11"

BUDGET = Budget(3, per_seconds=1)
"""Three requests a second on average per integration. Source: developers.notion.com/reference/request-limits."""

SETTLE_SECONDS = 60.0
"""The vendor ends a request after 60 s, and stops writing after about 55.

Source: developers.notion.com/reference/request-limits, read 2026-11, as others quote it.
"""

CHARGE = Charge("integration")
PAGE_SIZE = 100
MAX_PAGES = 200
"""Upstream pages of one listing before it is given up as endless."""

LISTS: Mapping[Any, Any] = {
    wire.Page: wire.Listing[wire.Page],
    wire.DataSource: wire.Listing[wire.DataSource],
    wire.Raw: wire.Listing[wire.Raw],
}
"""A page of a list, by the kind of its items."""

MINUTE = timedelta(minutes=1)
"""How exactly the vendor tells times: whatever happened within a minute bears its beginning."""

Body = dict[str, Any]
"""What is sent."""

Query = Callable[[datetime | None], AsyncIterator[wire.Listing[wire.Page]]]
"""Asks for rows from a minute on."""

T = TypeVar("T", bound=WireModel)


BLOCKED = "public_api_request_blocked"


W = TypeVar("W")


def authorise(credentials: Mapping[str, str]) -> Mapping[str, str]:
    """The headers of every request."""
    return {"Authorization": f"Bearer {credentials['token']}", "Notion-Version": VERSION}


def throttled(answer: UpstreamResponse) -> float | None:
    """Seconds to wait when the vendor throttles (429) or is overloaded (529); a block is no throttling."""
    if answer.status not in {429, 529}:
        return None
    told = answer.try_decode(wire.Throttled)
    # Waiting does not lift a block.
    if told and told.additional_data and told.additional_data.rate_limit_reason == BLOCKED:
        return None
    return retry_after(answer, 1.0)


class NotesClient:
    """The vendor's requests that the operations are made of."""

    def __init__(self, upstream: UpstreamClient) -> None:
        self._upstream = upstream

    async def search_data_sources(self) -> AsyncIterator[wire.DataSource]:
        """Every data source shared with the connection, last edited first. Source: post-search."""
        async for page in self.search_data_source_pages():
            for source in page.results:
                yield source

    def search_data_source_pages(self) -> AsyncIterator[wire.Listing[wire.DataSource]]:
        """The same, one upstream page after the other. Source: as of the items."""
        return self._listed("/v1/search", _last_edited_first("data_source"), wire.DataSource)

    async def search_pages(self) -> AsyncIterator[wire.Page]:
        """The pages shared with the connection, last edited first, as far as the vendor's late index has come.

        Source: post-search.
        """
        async for listing in self._listed("/v1/search", _last_edited_first("page"), wire.Page):
            for page in listing.results:
                yield page

    async def retrieve_database(self, database_id: str) -> wire.Database:
        """A database with its data sources. Source: retrieve-database."""
        return unwrap(await self._read(f"/v1/databases/{database_id}"), wire.Database, DatabaseNotShared)

    async def retrieve_data_source(self, data_source_id: str) -> wire.DataSource:
        """A data source with its schema. Source: retrieve-a-data-source."""
        return unwrap(await self._read(f"/v1/data_sources/{data_source_id}"), wire.DataSource, DatabaseNotShared)

    def rows(
        self,
        data_source_id: str,
        condition: Body | None = None,
        property_ids: Sequence[str] = (),
        *,
        newest_first: bool = False,
        reached: datetime | None = None,
    ) -> AsyncIterator[Sequence[wire.Page]]:
        """Every row that *condition* lets through, once, in order of creation, one upstream page after the other.

        Where the vendor stops, another query begins at the minute that was *reached*.
        An empty page says that more rows were created in that minute than it lists.
        Source: query-a-data-source.
        """
        path = f"/v1/data_sources/{data_source_id}/query"
        # The vendor tells identifiers percent-encoded, and takes them plain here; encoded twice it finds none.
        shown = [("filter_properties", unquote(property_id)) for property_id in property_ids]

        def query(start: datetime | None) -> AsyncIterator[wire.Listing[wire.Page]]:
            return self._listed(path, _in_order(condition, start, newest_first=newest_first), wire.Page, shown)

        return _Rows(query, reached, -MINUTE if newest_first else MINUTE)

    async def create_page(
        self, data_source_id: str, properties: Mapping[str, Any], children: Sequence[Body], names: Names
    ) -> wire.NewPage | wire.Reference:
        """A new row; no more than its identifier where the vendor made it, and failed over telling it.

        *names* tells by which kind and name of property other pages and people are named in it.

        Source: post-page.
        """
        body = {
            "parent": {"type": "data_source_id", "data_source_id": data_source_id},
            "properties": properties,
            "children": children,
        }
        answer = await self._write("POST", "/v1/pages", body)
        if answer.status == 503:
            return wire.Reference(id=_saved(answer, wire.FailureWithPage).additional_data.committed_resource_id)
        return unwrap(answer, wire.NewPage, DatabaseNotShared, names)

    async def retrieve_page(self, page_id: str) -> wire.Page:
        """A page. Source: retrieve-a-page."""
        return unwrap(await self._read(f"/v1/pages/{page_id}"), wire.Page, PageNotFound)

    def retrieve_page_property(self, page_id: str, property_id: str) -> AsyncIterator[wire.Item]:
        """Every item of a long property. Source: retrieve-a-page-property."""
        path = f"/v1/pages/{page_id}/properties/{quote(unquote(property_id), safe='')}"

        async def fetch(cursor: str | None) -> tuple[Sequence[wire.Item], str | None]:
            items = unwrap(await self._read_page(path, cursor), wire.Items, PageNotFound)
            return [items] if items.results is None else items.results, items.next_cursor

        return iter_items(fetch, most=MAX_PAGES)

    async def update_page(self, page_id: str, body: Mapping[str, Any], names: Names) -> wire.PageState:
        """A page after a change, *names* as for a new one. Source: patch-page."""
        answer = await self._write("PATCH", f"/v1/pages/{page_id}", body)
        if answer.status == 503:
            raise server_error(answer, "edge")
        return unwrap(answer, wire.PageState, PageNotFound, names)

    async def append_block_children(self, block_id: str, children: Sequence[Body]) -> Sequence[str]:
        """Add blocks at the end; returns their identifiers. Source: patch-block-children."""
        body = {"children": children, "position": {"type": "end"}}
        answer = await self._write("PATCH", f"/v1/blocks/{block_id}/children", body)
        if answer.status == 503:
            return _saved(answer, wire.FailureWithBlocks).additional_data.committed_child_ids
        return [block.id for block in unwrap(answer, wire.Appended, PageNotFound).results]

    def retrieve_block_children(self, block_id: str) -> AsyncIterator[wire.Block]:
        """Every block of a page. Source: get-block-children."""

        async def fetch(cursor: str | None) -> tuple[Sequence[wire.Block], str | None]:
            answer = await self._read_page(f"/v1/blocks/{block_id}/children", cursor)
            blocks = unwrap(answer, wire.Blocks, PageNotFound)
            return blocks.results, blocks.next_cursor

        return iter_items(fetch, most=MAX_PAGES)

    def list_users(self) -> AsyncIterator[wire.User]:
        """Every user of the workspace but its guests. Source: get-users."""

        async def fetch(cursor: str | None) -> tuple[Sequence[wire.User], str | None]:
            users = unwrap(await self._read_page("/v1/users", cursor), wire.Listing[wire.User])
            return users.results, users.next_cursor

        return iter_items(fetch, most=MAX_PAGES)

    async def retrieve_me(self) -> wire.Me:
        """The integration's own user. Source: get-self."""
        me, _ = await self.introduce(0.0)
        return me

    async def introduce(self, now: float) -> tuple[wire.Me, float]:
        """The integration's own user, and how many seconds the vendor's clock is ahead of ours, by which it is *now*.

        Source: as of the user.
        """
        answer = await self._read("/v1/users/me")
        return unwrap(answer, wire.Me), clock_skew(answer.headers.get("Date"), now)

    def _listed(
        self, path: str, body: Mapping[str, Any], kind: type[T], query: Sequence[tuple[str, str]] = ()
    ) -> AsyncIterator[wire.Listing[T]]:
        """Every page of a list that is asked for by POST, with those of its items that are of one kind."""

        async def ask(cursor: str | None, size: int) -> UpstreamResponse:
            paged = {**body, **_page_at(cursor, size)}
            return await self._upstream.send("POST", path, CHARGE, writes=False, query=query, json=paged)

        async def fetch(cursor: str | None) -> tuple[wire.Listing[T], str | None]:
            listing = _listing(await with_smaller_pages(partial(ask, cursor), PAGE_SIZE), kind)
            return listing, listing.next_cursor

        return iter_pages(fetch, most=MAX_PAGES)

    async def _read(self, path: str, query: Mapping[str, Any] | None = None) -> UpstreamResponse:
        return await self._upstream.send("GET", path, CHARGE, writes=False, query=query or {})

    async def _read_page(self, path: str, cursor: str | None) -> UpstreamResponse:
        """A page of a list, with as many items as can be read at once."""

        async def ask(size: int) -> UpstreamResponse:
            return await self._read(path, _page_at(cursor, size))

        return await with_smaller_pages(ask, PAGE_SIZE)

    async def _write(self, method: str, path: str, body: Mapping[str, Any]) -> UpstreamResponse:
        return await self._upstream.send(method, path, CHARGE, writes=True, json=body, expects={503}, collides=collides)


class _Rows:
    """What ``NotesClient.rows`` gives; no generator, for which see ``Pages``."""

    def __init__(self, query: Query, start: datetime | None, step: timedelta) -> None:
        self._query = query
        self._start = self._last = start
        self._step = step
        """From one minute to the next, in the order of the rows."""

        self._pages: AsyncIterator[wire.Listing[wire.Page]] | None = query(start)
        self._incomplete = False
        self._seen: set[str] = set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[wire.Page]:
        while self._pages is not None:
            try:
                listing = await anext(self._pages)
            except StopAsyncIteration:
                if self._ask_again():
                    return []
                continue
            progress = listing.request_status
            self._incomplete = self._incomplete or (progress is not None and progress.type == "incomplete")
            # The next query begins at a whole minute, so that the rows of that minute come again.
            rows = [row for row in listing.results if row.id not in self._seen]
            if rows:
                self._seen.update([row.id for row in rows])
                self._last = rows[-1].created_time
                return rows
        raise StopAsyncIteration

    def _ask_again(self) -> bool:
        """Query again from the minute that was reached, if there is more; whether some rows of it cannot be had."""
        # More rows in one minute than a query lists (10,000): there is no way to ask for the others.
        stuck = self._incomplete and self._last == self._start
        if stuck and self._last is not None:
            self._last += self._step
        self._start = self._last
        self._pages = self._query(self._start) if self._incomplete and self._start is not None else None
        self._incomplete = False
        return stuck


def _listing(answer: UpstreamResponse, kind: type[T]) -> wire.Listing[T]:
    """A page of a list, with those of its items that are of one kind."""
    listing: wire.Listing[T] | None = answer.try_decode(LISTS[kind]) if answer.is_success else None
    if listing is not None:
        return listing
    # The vendor may mix kinds of which only some are wanted: then each item is read by itself.
    mixed = unwrap(answer, LISTS[wire.Raw], DatabaseNotShared)
    parts = [UpstreamResponse(answer.status, answer.headers, bytes(raw), doubt=answer.doubt) for raw in mixed.results]
    wanted = [part.decode(kind) for part in parts if part.decode(wire.Listed).object == kind.__struct_config__.tag]
    return wire.Listing(results=wanted, next_cursor=mixed.next_cursor, request_status=mixed.request_status)


def _page_at(cursor: str | None, size: int) -> Body:
    return {"page_size": size} | ({"start_cursor": cursor} if cursor else {})


def _last_edited_first(kind: str) -> Body:
    return {
        "filter": {"property": "object", "value": kind},
        "sort": {"timestamp": "last_edited_time", "direction": "descending"},
    }


def _in_order(condition: Body | None, start: datetime | None, *, newest_first: bool) -> Body:
    """A query in order of creation, beginning with the minute *start* if there is one."""
    conditions = [] if condition is None else [condition]
    if start is not None:
        bound = {"before": (start + MINUTE).isoformat()} if newest_first else {"on_or_after": start.isoformat()}
        conditions.append({"timestamp": "created_time", "created_time": bound})
    direction = "descending" if newest_first else "ascending"
    body: Body = {"sorts": [{"timestamp": "created_time", "direction": direction}]}
    if conditions:
        body["filter"] = conditions[0] if len(conditions) == 1 else {"and": conditions}
    return body


def _saved(answer: UpstreamResponse, shape: type[W]) -> W:
    """What a 503 says was done all the same; without it, the failure is raised."""
    told = answer.try_decode(shape)
    if told is None:
        raise server_error(answer, "edge")
    return told
