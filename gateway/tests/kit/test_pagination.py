"""Iteration over pages: to the end, or with an error if it is not reached."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from connector_gateway.kit.errors import ResponseTooLarge, UpstreamError
from connector_gateway.kit.pagination import PageIterator, iter_items, iter_pages, with_smaller_pages


@dataclass
class Listing:
    """Pages by cursor, each with the cursor of the next one."""

    pages: Mapping[str | None, tuple[Sequence[str], str | None]]
    requested: list[str | None] = field(default_factory=list)

    async def fetch(self, cursor: str | None) -> tuple[Sequence[str], str | None]:
        self.requested.append(cursor)
        return self.pages[cursor]


class EndlessListing:
    """A listing that never ends."""

    def __init__(self) -> None:
        self.requested = 0

    async def fetch(self, cursor: str | None) -> tuple[Sequence[str], str | None]:
        self.requested += 1
        return [f"item {self.requested}"], f"cursor {self.requested}"


THREE_PAGES = {None: (["a", "b"], "2"), "2": (["c"], "3"), "3": (["d"], None)}
CIRCULAR_PAGES = {None: (["a"], "2"), "2": (["b"], "3"), "3": (["c"], "2")}


async def collect(items: AsyncIterator[str], into: list[str]) -> None:
    async for item in items:
        into.append(item)  # noqa: PERF401  # the items before the failure are compared


async def test_every_item_is_returned_once_and_in_order() -> None:
    listing = Listing(THREE_PAGES)

    assert ["a", "b", "c", "d"] == [item async for item in iter_items(listing.fetch, max_pages=10)]
    assert [None, "2", "3"] == listing.requested


async def test_a_listing_that_ends_with_the_last_allowed_page_is_complete() -> None:
    assert ["a", "b", "c", "d"] == [item async for item in iter_items(Listing(THREE_PAGES).fetch, max_pages=3)]


async def test_a_listing_with_too_many_pages_is_an_error_after_its_items() -> None:
    items_read: list[str] = []
    with pytest.raises(UpstreamError, match="does not end: 2 pages were read"):
        await collect(iter_items(Listing(THREE_PAGES).fetch, max_pages=2), items_read)

    assert ["a", "b", "c"] == items_read


async def test_a_listing_that_never_ends_is_an_error() -> None:
    listing, items_read = EndlessListing(), list[str]()
    with pytest.raises(UpstreamError, match="does not end: 200 pages were read"):
        await collect(iter_items(listing.fetch, max_pages=200), items_read)

    assert (200, 200) == (listing.requested, len(items_read))


async def test_a_circular_listing_is_an_error() -> None:
    listing, items_read = Listing(CIRCULAR_PAGES), list[str]()
    with pytest.raises(UpstreamError, match="does not end: 3 pages were read"):
        await collect(iter_items(listing.fetch, max_pages=200), items_read)

    assert (["a", "b", "c"], [None, "2", "3"]) == (items_read, listing.requested)


async def test_a_listing_that_returns_to_its_start_is_an_error() -> None:
    listing, items_read = Listing({"2": (["b"], "2")}), list[str]()
    with pytest.raises(UpstreamError):
        await collect(iter_items(listing.fetch, max_pages=200, start="2"), items_read)

    assert (["b"], ["2"]) == (items_read, listing.requested)


async def test_an_empty_page_does_not_end_the_listing() -> None:
    listing = Listing({None: ([], "2"), "2": ([], "3"), "3": (["d"], None)})

    assert ["d"] == [item async for item in iter_items(listing.fetch, max_pages=10)]


async def test_an_empty_cursor_ends_the_listing() -> None:
    assert ["a"] == [item async for item in iter_items(Listing({None: (["a"], "")}).fetch, max_pages=10)]


async def test_pages_are_returned_unchanged() -> None:
    assert [["a", "b"], ["c"], ["d"]] == [page async for page in iter_pages(Listing(THREE_PAGES).fetch, max_pages=3)]


async def test_a_bounded_search_ends_and_reports_incomplete() -> None:
    pages = PageIterator(EndlessListing().fetch, max_pages=2)

    assert [["item 1"], ["item 2"]] == [page async for page in pages]
    assert not pages.complete


async def test_a_bounded_search_reports_complete() -> None:
    pages = PageIterator(Listing(THREE_PAGES).fetch, max_pages=3)
    before = pages.complete
    items_read = [page async for page in pages]

    assert (False, 3, True) == (before, len(items_read), pages.complete)


async def test_iteration_that_stops_at_the_last_page_is_complete() -> None:
    pages = PageIterator(Listing({None: (["a"], None)}).fetch, max_pages=3)

    assert ["a"] == await anext(aiter(pages))
    assert pages.complete


def create_limited_listing(max_items: int) -> tuple[list[int], Callable[[int], Awaitable[str]]]:
    """Return the requested sizes, and a listing whose pages are too large above *max_items* items."""
    requested: list[int] = []

    async def fetch(size: int) -> str:
        requested.append(size)
        if size > max_items:
            raise ResponseTooLarge("too large")
        return f"{size} items"

    return requested, fetch


async def test_a_too_large_page_is_requested_in_smaller_pages() -> None:
    requested, fetch = create_limited_listing(10)

    page = await with_smaller_pages(fetch, 100)

    assert "6 items" == page
    assert [100, 25, 6] == requested


async def test_a_page_within_the_limit_is_requested_once() -> None:
    requested, fetch = create_limited_listing(100)

    await with_smaller_pages(fetch, 100)

    assert [100] == requested


async def test_a_single_item_that_is_too_large_is_an_error() -> None:
    requested, fetch = create_limited_listing(0)

    with pytest.raises(ResponseTooLarge):
        await with_smaller_pages(fetch, 5)
    assert [5, 1] == requested
