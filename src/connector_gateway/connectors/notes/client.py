"""The vendor's wire: one method per request, version 2026-03-11."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote
from uuid import UUID

from connector_gateway.kit.budget import Budget, Charge
from connector_gateway.kit.clock import ahead
from connector_gateway.kit.errors import (
    ConnectionRevoked,
    DatabaseNotShared,
    GatewayError,
    PageNotFound,
    UpstreamConflict,
    UpstreamError,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamUnexpected,
)
from connector_gateway.kit.transport import Answer
from connector_gateway.kit.upstream import Upstream, failed, retry_after
from connector_gateway.kit.walking import walk, walk_pages

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

MINUTE = timedelta(minutes=1)
"""How exactly the vendor tells times: whatever happened within a minute bears its beginning."""

Raw = dict[str, Any]

REFUSALS: Mapping[int, type[GatewayError]] = {
    400: UpstreamRefused,
    401: ConnectionRevoked,
    403: UpstreamForbidden,
    409: UpstreamConflict,
    413: UpstreamRefused,
    429: UpstreamForbidden,
}
"""What a refusal means; 404 depends on what was asked for, and a 429 that gets here says "blocked", not "later"."""

MESSAGES: Mapping[type[GatewayError], str] = {
    ConnectionRevoked: "The authorisation of this connection was withdrawn.",
    DatabaseNotShared: "The database does not exist or is not shared with this connection.",
    PageNotFound: "The page does not exist or is not shared with this connection.",
    UpstreamConflict: "The application refused the change because another one was being saved.",
    UpstreamForbidden: "The application does not allow this connection to do that.",
    UpstreamRefused: "The application refused the values.",
    UpstreamUnexpected: "The application refused in an unknown way.",
}


def authorise(credentials: Mapping[str, str]) -> Mapping[str, str]:
    """The headers of every request."""
    return {"Authorization": f"Bearer {credentials['token']}", "Notion-Version": VERSION}


def throttled(answer: Answer) -> float | None:
    """Seconds to wait when the vendor throttles (429) or is overloaded (529); a block is no throttling."""
    if answer.status not in {429, 529}:
        return None
    details = answer.raw.get("additional_data") or {} if isinstance(answer.raw, dict) else {}
    if details.get("rate_limit_reason") == "public_api_request_blocked":
        return None
    return retry_after(answer, 1.0)


def unwrap(answer: Answer, missing: type[GatewayError] = UpstreamUnexpected) -> Raw:
    """The JSON of an accepted request; a refused one raises its catalogue error, *missing* if that is a 404."""
    if answer.accepted:
        raw: Raw = answer.json()
        return raw
    if answer.raw is None:
        raise UpstreamError("The application's doorkeeper turned the request away.", private=answer.text)
    refusal = missing if answer.status == 404 else REFUSALS.get(answer.status, UpstreamUnexpected)
    raise refusal(MESSAGES[refusal], private=answer.text)


class NotesClient:
    """The vendor's requests that the operations are made of."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def search_data_sources(self) -> AsyncIterator[Raw]:
        """Every data source shared with the connection, last edited first.

        Source: developers.notion.com/reference/post-search, read 2026-11.
        """
        async for raw in self._walk("/v1/search", _last_edited_first("data_source")):
            yield raw

    async def search_pages(self) -> AsyncIterator[Raw]:
        """The pages shared with the connection, last edited first, as far as the vendor's late index has come.

        Source: developers.notion.com/reference/post-search, read 2026-11.
        """
        async for raw in self._walk("/v1/search", _last_edited_first("page")):
            yield raw

    async def retrieve_database(self, database_id: str) -> Raw:
        """A database with its data sources. Source: developers.notion.com/reference/retrieve-database, 2026-11."""
        return unwrap(await self._read(f"/v1/databases/{database_id}"), DatabaseNotShared)

    async def retrieve_data_source(self, data_source_id: str) -> Raw:
        """A data source with its schema. Source: developers.notion.com/reference/retrieve-a-data-source, 2026-11."""
        return unwrap(await self._read(f"/v1/data_sources/{data_source_id}"), DatabaseNotShared)

    async def rows(
        self,
        data_source_id: str,
        condition: Raw | None = None,
        property_ids: Sequence[str] = (),
        *,
        newest_first: bool = False,
        reached: str | None = None,
    ) -> AsyncIterator[list[Raw]]:
        """Every row that *condition* lets through, once, in order of creation, one upstream page after the other.

        Where the vendor stops, another query begins at the minute that was *reached*.
        A page that is only ``{"incomplete": True}`` says that more rows were created in that minute than it lists.
        Source: developers.notion.com/reference/query-a-data-source, read 2026-11.
        """
        path = f"/v1/data_sources/{data_source_id}/query"
        query = [("filter_properties", property_id) for property_id in property_ids]
        seen: set[str] = set()
        start = None if reached is None else datetime.fromisoformat(reached)
        while True:
            incomplete, last = False, start
            async for raw in self._pages(path, _in_order(condition, start, newest_first=newest_first), query):
                incomplete = incomplete or (raw.get("request_status") or {}).get("type") == "incomplete"
                rows = [row for row in raw["results"] if row["object"] == "page" and row["id"] not in seen]
                if rows:
                    seen.update(row["id"] for row in rows)
                    last = datetime.fromisoformat(rows[-1]["created_time"])
                    yield rows
            if not incomplete:
                return
            if last == start:
                yield [{"incomplete": True}]
                last = start and start + (-MINUTE if newest_first else MINUTE)
            if last is None:
                return
            start = last

    async def create_page(self, data_source_id: str, properties: Mapping[str, Any], children: Sequence[Raw]) -> Raw:
        """A new row; no more than its identifier where the vendor made it, and failed over telling it.

        Source: developers.notion.com/reference/post-page, read 2026-11.
        """
        body = {
            "parent": {"type": "data_source_id", "data_source_id": data_source_id},
            "properties": properties,
            "children": children,
        }
        answer = await self._write("POST", "/v1/pages", body)
        if answer.status == 503:
            return {"id": str(UUID(_committed(answer, "committed_resource_id")))}
        return unwrap(answer, DatabaseNotShared)

    async def retrieve_page(self, page_id: str) -> Raw:
        """A page. Source: developers.notion.com/reference/retrieve-a-page, read 2026-11."""
        return unwrap(await self._read(f"/v1/pages/{page_id}"), PageNotFound)

    async def retrieve_page_property(self, page_id: str, property_id: str) -> AsyncIterator[Raw]:
        """Every item of a long property. Source: developers.notion.com/reference/retrieve-a-page-property, 2026-11."""
        path = f"/v1/pages/{page_id}/properties/{quote(property_id, safe='')}"
        async for item in self._parts(path):
            yield item

    async def update_page(self, page_id: str, body: Mapping[str, Any]) -> Raw:
        """A page after a change. Source: developers.notion.com/reference/patch-page, read 2026-11."""
        answer = await self._write("PATCH", f"/v1/pages/{page_id}", body)
        if answer.status == 503:
            raise failed(answer, writes=True)
        return unwrap(answer, PageNotFound)

    async def append_block_children(self, block_id: str, children: Sequence[Raw]) -> list[str]:
        """Add blocks at the end; returns their identifiers.

        Source: developers.notion.com/reference/patch-block-children, read 2026-11.
        """
        body = {"children": children, "position": {"type": "end"}}
        answer = await self._write("PATCH", f"/v1/blocks/{block_id}/children", body)
        if answer.status == 503:
            return list(_committed(answer, "committed_child_ids"))
        return [block["id"] for block in unwrap(answer, PageNotFound)["results"]]

    async def retrieve_block_children(self, block_id: str) -> AsyncIterator[Raw]:
        """Every block of a page. Source: developers.notion.com/reference/get-block-children, read 2026-11."""
        async for block in self._parts(f"/v1/blocks/{block_id}/children"):
            yield block

    async def retrieve_me(self) -> Raw:
        """The integration's own user. Source: developers.notion.com/reference/get-self, read 2026-11."""
        raw, _ = await self.introduce(0.0)
        return raw

    async def introduce(self, now: float) -> tuple[Raw, float]:
        """The integration's own user, and how many seconds the vendor's clock is ahead of ours, by which it is *now*.

        Source: as of the user.
        """
        answer = await self._read("/v1/users/me")
        return unwrap(answer), ahead(answer.headers.get("Date"), now)

    async def _walk(self, path: str, body: Mapping[str, Any]) -> AsyncIterator[Raw]:
        """The items of every page of a list that is asked for by POST."""
        async for raw in self._pages(path, body):
            for item in raw["results"]:
                yield item

    def _pages(self, path: str, body: Mapping[str, Any], query: Sequence[tuple[str, str]] = ()) -> AsyncIterator[Raw]:
        """Every page of a list that is asked for by POST."""

        async def fetch(cursor: str | None) -> tuple[Raw, str | None]:
            paged = {**body, **_page_at(cursor)}
            answer = await self._upstream.send("POST", path, CHARGE, writes=False, query=query, json=paged)
            raw = unwrap(answer, DatabaseNotShared)
            return raw, raw.get("next_cursor")

        return walk_pages(fetch, most=MAX_PAGES)

    def _parts(self, path: str) -> AsyncIterator[Raw]:
        """Every item of a list that belongs to a page; a list of one comes without its frame."""

        async def fetch(cursor: str | None) -> tuple[Sequence[Raw], str | None]:
            raw = unwrap(await self._read(path, _page_at(cursor)), PageNotFound)
            return raw.get("results", [raw]), raw.get("next_cursor")

        return walk(fetch, most=MAX_PAGES)

    async def _read(self, path: str, query: Mapping[str, Any] | None = None) -> Answer:
        return await self._upstream.send("GET", path, CHARGE, writes=False, query=query or {})

    async def _write(self, method: str, path: str, body: Mapping[str, Any]) -> Answer:
        return await self._upstream.send(method, path, CHARGE, writes=True, json=body, expects={503}, resends={409})


def _page_at(cursor: str | None) -> Raw:
    """Which page of a list is asked for."""
    return {"page_size": PAGE_SIZE} | ({"start_cursor": cursor} if cursor else {})


def _last_edited_first(kind: str) -> Raw:
    return {
        "filter": {"property": "object", "value": kind},
        "sort": {"timestamp": "last_edited_time", "direction": "descending"},
    }


def _in_order(condition: Raw | None, start: datetime | None, *, newest_first: bool) -> Raw:
    """A query in order of creation, beginning with the minute *start* if there is one."""
    conditions = [] if condition is None else [condition]
    if start is not None:
        bound = {"before": (start + MINUTE).isoformat()} if newest_first else {"on_or_after": start.isoformat()}
        conditions.append({"timestamp": "created_time", "created_time": bound})
    direction = "descending" if newest_first else "ascending"
    body: Raw = {"sorts": [{"timestamp": "created_time", "direction": direction}]}
    if conditions:
        body["filter"] = conditions[0] if len(conditions) == 1 else {"and": conditions}
    return body


def _committed(answer: Answer, name: str) -> Any:
    """What a 503 says was done all the same; without it, the failure is raised."""
    raw = answer.raw if isinstance(answer.raw, dict) else {}
    committed = (raw.get("additional_data") or {}).get(name)
    if not committed:
        raise failed(answer, writes=True)
    return committed
