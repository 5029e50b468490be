"""The vendor's API: one method per request, version 2026-03-11.

Sources of methods are below developers.notion.com/reference/, read 2026-11.
"""

from __future__ import annotations  # annotations of nested functions are not evaluated in each call

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self, TypeVar
from urllib.parse import quote, unquote

from connector_gateway.connectors.notes import vendor_models
from connector_gateway.connectors.notes.vendor_errors import Names, is_write_conflict, unwrap
from connector_gateway.kit.clock import clock_skew
from connector_gateway.kit.errors import DatabaseNotShared, PageNotFound
from connector_gateway.kit.pagination import iter_items, iter_pages, with_smaller_pages
from connector_gateway.kit.passthrough import Passthrough
from connector_gateway.kit.upstream.budget import Budget, Charge, Requests
from connector_gateway.kit.upstream.client import UpstreamClient, create_server_error, parse_retry_after
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.vendor_model import VendorModel

BASE_URL = "https://api.notion.com"
VERSION = "2026-03-11"

BUDGET = Budget(3, per_seconds=1)
"""Requests per integration. Fact notes.three-a-second."""

SETTLE_SECONDS = 60.0
"""Seconds after which a request cannot take effect. Fact notes.sixty-second-requests."""

CHARGE = Charge("integration")
REQUEST: Requests = ((CHARGE,),)
PASSTHROUGH = Passthrough(charges=lambda _: [CHARGE])

PAGE_SIZE = 100
MAX_PAGES = 200
"""Upstream pages after which a listing is considered endless."""

LISTS: Mapping[Any, Any] = {
    vendor_models.Page: vendor_models.Listing[vendor_models.Page],
    vendor_models.DataSource: vendor_models.Listing[vendor_models.DataSource],
    vendor_models.Raw: vendor_models.Listing[vendor_models.Raw],
}
"""The list shape for each kind of item."""

MINUTE = timedelta(minutes=1)
"""The precision of the vendor's times. Fact notes.minute-times."""

Body = dict[str, Any]
"""A request body."""

Query = Callable[[datetime | None], AsyncIterator[vendor_models.Listing[vendor_models.Page]]]
"""Queries the rows created from the given minute on."""

T = TypeVar("T", bound=VendorModel)


BLOCKED = "public_api_request_blocked"


W = TypeVar("W")


def authorise(credentials: Mapping[str, str]) -> Mapping[str, str]:
    """Return the headers of every request."""
    return {"Authorization": f"Bearer {credentials['token']}", "Notion-Version": VERSION}


def parse_throttle(response: UpstreamResponse) -> float | None:
    """Return the delay in seconds if the vendor throttles (429) or is overloaded (529). A block is not throttling."""
    if response.status not in {429, 529}:
        return None
    body = response.try_decode(vendor_models.Throttled)
    # A delay does not lift a block.
    if body and body.additional_data and body.additional_data.rate_limit_reason == BLOCKED:
        return None
    return parse_retry_after(response, 1.0)


class NotesClient:
    """The vendor's requests used by the operations."""

    def __init__(self, upstream: UpstreamClient) -> None:
        self._upstream = upstream

    async def search_data_sources(self) -> AsyncIterator[vendor_models.DataSource]:
        """Yield all data sources shared with the connection, last edited first. Source: post-search."""
        async for page in self.search_data_source_pages():
            for source in page.results:
                yield source

    def search_data_source_pages(self) -> AsyncIterator[vendor_models.Listing[vendor_models.DataSource]]:
        """Yield the upstream pages of ``search_data_sources``. Source: post-search."""
        return self._listed("/v1/search", _last_edited_first("data_source"), vendor_models.DataSource)

    async def search_pages(self) -> AsyncIterator[vendor_models.Page]:
        """Yield the pages shared with the connection, last edited first. The vendor's index lags behind.

        Source: post-search.
        """
        async for listing in self._listed("/v1/search", _last_edited_first("page"), vendor_models.Page):
            for page in listing.results:
                yield page

    async def retrieve_database(self, database_id: str) -> vendor_models.Database:
        """Return a database with its data sources. Source: retrieve-database."""
        return unwrap(await self._read(f"/v1/databases/{database_id}"), vendor_models.Database, DatabaseNotShared)

    async def retrieve_data_source(self, data_source_id: str) -> vendor_models.DataSource:
        """Return a data source with its schema. Source: retrieve-a-data-source."""
        return unwrap(
            await self._read(f"/v1/data_sources/{data_source_id}"), vendor_models.DataSource, DatabaseNotShared
        )

    def query_rows(
        self,
        data_source_id: str,
        condition: Body | None = None,
        property_ids: Sequence[str] = (),
        *,
        newest_first: bool = False,
        reached: datetime | None = None,
    ) -> AsyncIterator[Sequence[vendor_models.Page]]:
        """Yield the rows that match *condition*, each once, in order of creation, by upstream page.

        When the vendor's limit ends a query, another one starts at the minute *reached*.
        An empty page means that more rows were created in that minute than the vendor lists.
        Source: query-a-data-source.
        """
        path = f"/v1/data_sources/{data_source_id}/query"
        # The vendor returns identifiers percent-encoded but expects them plain here. It finds nothing for double
        # encoding.
        query_params = [("filter_properties", unquote(property_id)) for property_id in property_ids]

        def query(start: datetime | None) -> AsyncIterator[vendor_models.Listing[vendor_models.Page]]:
            return self._listed(
                path, _ordered_query(condition, start, newest_first=newest_first), vendor_models.Page, query_params
            )

        return _Rows(query, reached, -MINUTE if newest_first else MINUTE)

    async def create_page(
        self, data_source_id: str, properties: Mapping[str, Any], children: Sequence[Body], names: Names
    ) -> vendor_models.NewPage | vendor_models.Reference:
        """Create a row.

        Returns only the identifier if the vendor created the row but failed to return it.
        *names* maps the identifiers of pages and people in the row to the kind and name of their property.
        Source: post-page.
        """
        body = {
            "parent": {"type": "data_source_id", "data_source_id": data_source_id},
            "properties": properties,
            "children": children,
        }
        response = await self._write("POST", "/v1/pages", body)
        if response.status == 503:
            return vendor_models.Reference(
                id=_parse_saved(response, vendor_models.FailureWithPage).additional_data.committed_resource_id
            )
        return unwrap(response, vendor_models.NewPage, DatabaseNotShared, names)

    async def retrieve_page(self, page_id: str) -> vendor_models.Page:
        """Return a page. Source: retrieve-a-page."""
        return unwrap(await self._read(f"/v1/pages/{page_id}"), vendor_models.Page, PageNotFound)

    def retrieve_page_property(self, page_id: str, property_id: str) -> AsyncIterator[vendor_models.Item]:
        """Yield all items of a long property. Source: retrieve-a-page-property."""
        path = f"/v1/pages/{page_id}/properties/{quote(unquote(property_id), safe='')}"

        async def fetch(cursor: str | None) -> tuple[Sequence[vendor_models.Item], str | None]:
            items = unwrap(await self._read_page(path, cursor), vendor_models.Items, PageNotFound)
            return [items] if items.results is None else items.results, items.next_cursor

        return iter_items(fetch, max_pages=MAX_PAGES)

    async def update_page(self, page_id: str, body: Mapping[str, Any], names: Names) -> vendor_models.PageState:
        """Update a page and return it. *names* is as in ``create_page``. Source: patch-page."""
        response = await self._write("PATCH", f"/v1/pages/{page_id}", body)
        if response.status == 503:
            raise create_server_error(response, "edge")
        return unwrap(response, vendor_models.PageState, PageNotFound, names)

    async def append_block_children(self, block_id: str, children: Sequence[Body]) -> Sequence[str]:
        """Append blocks and return their identifiers. Source: patch-block-children."""
        body = {"children": children, "position": {"type": "end"}}
        response = await self._write("PATCH", f"/v1/blocks/{block_id}/children", body)
        if response.status == 503:
            return _parse_saved(response, vendor_models.FailureWithBlocks).additional_data.committed_child_ids
        return [block.id for block in unwrap(response, vendor_models.Appended, PageNotFound).results]

    def retrieve_block_children(self, block_id: str) -> AsyncIterator[vendor_models.Block]:
        """Yield all blocks of a page. Source: get-block-children."""

        async def fetch(cursor: str | None) -> tuple[Sequence[vendor_models.Block], str | None]:
            response = await self._read_page(f"/v1/blocks/{block_id}/children", cursor)
            blocks = unwrap(response, vendor_models.Blocks, PageNotFound)
            return blocks.results, blocks.next_cursor

        return iter_items(fetch, max_pages=MAX_PAGES)

    def list_users(self) -> AsyncIterator[vendor_models.User]:
        """Yield all users of the workspace except guests. Source: get-users."""

        async def fetch(cursor: str | None) -> tuple[Sequence[vendor_models.User], str | None]:
            users = unwrap(await self._read_page("/v1/users", cursor), vendor_models.Listing[vendor_models.User])
            return users.results, users.next_cursor

        return iter_items(fetch, max_pages=MAX_PAGES)

    async def retrieve_me(self) -> vendor_models.Me:
        """Return the integration's own user. Source: get-self."""
        me, _ = await self.introduce(0.0)
        return me

    async def introduce(self, now: float) -> tuple[vendor_models.Me, float]:
        """Return the integration's own user, and the vendor's clock skew in seconds relative to *now*.

        Source: get-self.
        """
        response = await self._read("/v1/users/me")
        return unwrap(response, vendor_models.Me), clock_skew(response.headers.get("Date"), now)

    def _listed(
        self, path: str, body: Mapping[str, Any], kind: type[T], query: Sequence[tuple[str, str]] = ()
    ) -> AsyncIterator[vendor_models.Listing[T]]:
        """Yield the pages of a list requested by POST, with the items of one kind."""

        async def request_page(cursor: str | None, size: int) -> UpstreamResponse:
            paged = {**body, **_page_at(cursor, size)}
            return await self._upstream.send("POST", path, CHARGE, writes=False, query=query, json=paged)

        async def fetch(cursor: str | None) -> tuple[vendor_models.Listing[T], str | None]:
            listing = _listing(await with_smaller_pages(partial(request_page, cursor), PAGE_SIZE), kind)
            return listing, listing.next_cursor

        return iter_pages(fetch, max_pages=MAX_PAGES)

    async def _read(self, path: str, query: Mapping[str, Any] | None = None) -> UpstreamResponse:
        return await self._upstream.send("GET", path, CHARGE, writes=False, query=query or {})

    async def _read_page(self, path: str, cursor: str | None) -> UpstreamResponse:
        """Read a page of a list, with the maximum number of items."""

        async def request_page(size: int) -> UpstreamResponse:
            return await self._read(path, _page_at(cursor, size))

        return await with_smaller_pages(request_page, PAGE_SIZE)

    async def _write(self, method: str, path: str, body: Mapping[str, Any]) -> UpstreamResponse:
        return await self._upstream.send(
            method, path, CHARGE, writes=True, json=body, expects={503}, is_conflict=is_write_conflict
        )


class _Rows:
    """The iterator of ``NotesClient.query_rows``. It is not a generator, for the reason given at ``PageIterator``."""

    def __init__(self, query: Query, start: datetime | None, step: timedelta) -> None:
        self._query = query
        self._start = self._last = start
        self._step = step
        """One minute in the direction of the rows' order."""

        self._pages: AsyncIterator[vendor_models.Listing[vendor_models.Page]] | None = query(start)
        self._incomplete = False
        self._seen: set[str] = set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[vendor_models.Page]:
        while self._pages is not None:
            try:
                listing = await anext(self._pages)
            except StopAsyncIteration:
                if self._query_again():
                    return []
                continue
            progress = listing.request_status
            self._incomplete = self._incomplete or (progress is not None and progress.type == "incomplete")
            # The next query starts at a full minute, so the rows of that minute are returned again.
            rows = [row for row in listing.results if row.id not in self._seen]
            if rows:
                self._seen.update([row.id for row in rows])
                self._last = rows[-1].created_time
                return rows
        raise StopAsyncIteration

    def _query_again(self) -> bool:
        """Query again from the minute reached if there is more. Returns whether rows of that minute are unreachable."""
        # One minute has more rows than a query lists (10,000), and no query can return the others.
        unreachable = self._incomplete and self._last == self._start
        if unreachable and self._last is not None:
            self._last += self._step
        self._start = self._last
        self._pages = self._query(self._start) if self._incomplete and self._start is not None else None
        self._incomplete = False
        return unreachable


def _listing(response: UpstreamResponse, kind: type[T]) -> vendor_models.Listing[T]:
    """Return a page of a list with the items of one kind."""
    listing: vendor_models.Listing[T] | None = response.try_decode(LISTS[kind]) if response.is_success else None
    if listing is not None:
        return listing
    # The vendor may mix kinds, so each item is decoded separately.
    mixed = unwrap(response, LISTS[vendor_models.Raw], DatabaseNotShared)
    parts = [
        UpstreamResponse(response.status, response.headers, bytes(raw), doubt=response.doubt) for raw in mixed.results
    ]
    results = [
        part.decode(kind) for part in parts if part.decode(vendor_models.Listed).object == kind.__struct_config__.tag
    ]
    return vendor_models.Listing(results=results, next_cursor=mixed.next_cursor, request_status=mixed.request_status)


def _page_at(cursor: str | None, size: int) -> Body:
    return {"page_size": size} | ({"start_cursor": cursor} if cursor else {})


def _last_edited_first(kind: str) -> Body:
    return {
        "filter": {"property": "object", "value": kind},
        "sort": {"timestamp": "last_edited_time", "direction": "descending"},
    }


def _ordered_query(condition: Body | None, start: datetime | None, *, newest_first: bool) -> Body:
    """Return a query in order of creation, starting at the minute *start* if given."""
    conditions = [] if condition is None else [condition]
    if start is not None:
        bound = {"before": (start + MINUTE).isoformat()} if newest_first else {"on_or_after": start.isoformat()}
        conditions.append({"timestamp": "created_time", "created_time": bound})
    direction = "descending" if newest_first else "ascending"
    body: Body = {"sorts": [{"timestamp": "created_time", "direction": direction}]}
    if conditions:
        body["filter"] = conditions[0] if len(conditions) == 1 else {"and": conditions}
    return body


def _parse_saved(response: UpstreamResponse, shape: type[W]) -> W:
    """Return the result that a 503 reports as saved. Raises the error if it reports none."""
    failure = response.try_decode(shape)
    if failure is None:
        raise create_server_error(response, "edge")
    return failure
