"""Every listing that is read to its end reports an error if it does not end."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple, cast

import pytest
from pydantic_core import to_json

from connector_gateway.connectors import CONNECTORS
from connector_gateway.kit.errors import OutcomeUnknown, UpstreamError
from connector_gateway.kit.upstream.client import Timeouts, UpstreamClient, UpstreamLog, UpstreamService
from connector_gateway.kit.upstream.pool import UpstreamResponse
from harness.clocks import NOON, ManualClock
from harness.requirement import requirement

T = datetime.fromtimestamp(NOON, UTC)
TIME = T.isoformat()


class Listing(NamedTuple):
    """A listing of a connector: the function that reads it, and one that returns a page with a *cursor*."""

    connector: str
    read: Callable[[Any], Awaitable[Any]]
    page: Callable[[str], Any]


async def collect(items: AsyncIterator[Any]) -> list[Any]:
    return [item async for item in items]


def notes(cursor: str) -> Any:
    by = {"created_by": {"id": "u"}, "last_edited_by": {"id": "u"}}
    at = {"created_time": TIME, "last_edited_time": TIME}
    page = {"object": "page", "type": "paragraph", "id": f"of {cursor}", "url": "", "in_trash": False}
    return {"results": [{**page, **by, **at, "parent": {}, "properties": {}}], "next_cursor": cursor}


def boards(cursor: str) -> Any:
    return [{"id": cursor, "idList": "list", "date": TIME, "idMemberCreator": "member", "data": {}}] * 1000


def mail(cursor: str) -> Any:
    message = {"id": f"in {cursor}", "threadId": f"in {cursor}"}
    return {"drafts": [{"id": f"of {cursor}", "message": message}], "nextPageToken": cursor}


def chat(cursor: str) -> Any:
    return {"ok": True, "messages": [{"ts": f"{NOON:.6f}"}], "response_metadata": {"next_cursor": cursor}}


def crm(cursor: str) -> Any:
    created_at = "2026-11-02T08:00:00Z"
    record = {"id": cursor, "properties": {}, "archived": False, "createdAt": created_at, "updatedAt": created_at}
    return {"results": [record], "paging": {"next": {"after": cursor}}}


def links(cursor: str) -> Any:
    return {"results": [{"to": [{"toObjectId": cursor}], "paging": {"next": {"after": cursor}}}]}


def tables(cursor: str) -> Any:
    record = {"id": f"of {cursor}", "createdTime": TIME, "fields": {}}
    return {"bases": [], "records": [record], "offset": cursor}


LISTINGS = {
    "notes data sources": Listing("notes", lambda client: collect(client.search_data_sources()), notes),
    "notes pages": Listing("notes", lambda client: collect(client.search_pages()), notes),
    "notes rows": Listing("notes", lambda client: collect(client.query_rows("source")), notes),
    "notes values": Listing("notes", lambda client: collect(client.retrieve_page_property("page", "title")), notes),
    "notes blocks": Listing("notes", lambda client: collect(client.retrieve_block_children("page")), notes),
    "boards cards": Listing("boards", lambda client: client.get_board_cards("board"), boards),
    "boards list": Listing("boards", lambda client: client.get_list_actions("list", "createCard", NOON), boards),
    "boards card": Listing("boards", lambda client: client.get_card_actions("card", "commentCard", NOON), boards),
    "mail drafts": Listing("mail", lambda client: collect(client.list_drafts()), mail),
    "chat history": Listing("chat", lambda client: collect(client.history("C1", NOON)), chat),
    "chat thread": Listing("chat", lambda client: collect(client.replies("C1", "1.0", NOON)), chat),
    "crm owners": Listing("crm", lambda client: collect(client.list_owners()), crm),
    "crm records": Listing("crm", lambda client: client.search_all("deals", lambda after: {"after": after}), crm),
    "crm links": Listing("crm", lambda client: client.read_associations("contacts", "1", "deals"), links),
    "tables bases": Listing("tables", lambda client: collect(client.list_bases()), tables),
    "tables new records": Listing(
        "tables", lambda client: collect(client.list_records_created_since("app1", "tbl1", T)), tables
    ),
    "tables known records": Listing("tables", lambda client: client.existing_records("app1", "tbl1", ["rec1"]), tables),
}

every_listing = pytest.mark.parametrize("listing", LISTINGS.values(), ids=LISTINGS)


class Vendor:
    """Returns another page of one listing for every request. Replaces the pacer, the credentials and the transport."""

    def __init__(self, page: Callable[[str], Any], *, repeats_cursor: bool) -> None:
        self.request_count = 0
        self._page = page
        self._in_circles = repeats_cursor

    async def send(self, *_: Any, **__: Any) -> UpstreamResponse:
        self.request_count += 1
        cursor = "0" if self._in_circles else str(self.request_count)
        return UpstreamResponse(200, {}, to_json(self._page(cursor)))

    async def acquire(self, *_: Any) -> "Vendor":
        return self

    def record_end(self, *, responded: bool) -> None: ...

    def begin_sending(self) -> bool:
        return True

    async def credentials(self) -> dict[str, str]:
        return {"key": "key", "token": "token-of-listings"}


def client_of(name: str, vendor: Vendor) -> Any:
    connector, part = CONNECTORS[name], cast("Any", vendor)
    clock = ManualClock()
    service = UpstreamService(
        connector.base_urls, connector.auth_headers, connector.parse_throttle, part, clock, clock.now
    )
    return connector.client(UpstreamClient(service, part, part, Timeouts(), UpstreamLog()))


@requirement("common-6")
@every_listing
async def test_a_listing_that_does_not_end_is_an_error(listing: Listing) -> None:
    vendor = Vendor(listing.page, repeats_cursor=False)
    with pytest.raises((UpstreamError, OutcomeUnknown)):
        await listing.read(client_of(listing.connector, vendor))

    assert vendor.request_count >= 20


@requirement("common-6")
@every_listing
async def test_a_listing_with_a_repeated_cursor_is_an_error(listing: Listing) -> None:
    vendor = Vendor(listing.page, repeats_cursor=True)
    with pytest.raises((UpstreamError, OutcomeUnknown)):
        await listing.read(client_of(listing.connector, vendor))

    assert 2 == vendor.request_count
