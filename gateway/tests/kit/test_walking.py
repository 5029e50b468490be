"""The walk over pages: to the end, or with a word that it was not reached."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from connector_gateway.kit.errors import ResponseTooLarge, UpstreamError
from connector_gateway.kit.pagination import PageIterator, iter_items, iter_pages, with_smaller_pages


@dataclass
class Book:
    """Pages by cursor, and the cursor that each leads to."""

    pages: Mapping[str | None, tuple[Sequence[str], str | None]]
    requested: list[str | None] = field(default_factory=list)

    async def fetch(self, cursor: str | None) -> tuple[Sequence[str], str | None]:
        self.requested.append(cursor)
        return self.pages[cursor]


class Endless:
    """One page after the other."""

    def __init__(self) -> None:
        self.requested = 0

    async def fetch(self, cursor: str | None) -> tuple[Sequence[str], str | None]:
        self.requested += 1
        return [f"item {self.requested}"], f"cursor {self.requested}"


THREE = {None: (["a", "b"], "2"), "2": (["c"], "3"), "3": (["d"], None)}
CIRCLE = {None: (["a"], "2"), "2": (["b"], "3"), "3": (["c"], "2")}


async def taken(items: AsyncIterator[str], into: list[str]) -> None:
    async for item in items:
        into.append(item)  # noqa: PERF401  # what came before the failure is looked at


async def test_every_item_of_every_page_comes_once_and_in_order() -> None:
    book = Book(THREE)

    assert ["a", "b", "c", "d"] == [item async for item in iter_items(book.fetch, max_pages=10)]
    assert [None, "2", "3"] == book.requested


async def test_a_listing_that_ends_with_the_last_allowed_page_is_complete() -> None:
    assert ["a", "b", "c", "d"] == [item async for item in iter_items(Book(THREE).fetch, max_pages=3)]


async def test_a_listing_of_one_page_more_than_is_read_is_an_error_after_what_was_read() -> None:
    items_read: list[str] = []
    with pytest.raises(UpstreamError, match="does not end: 2 pages were read"):
        await taken(iter_items(Book(THREE).fetch, max_pages=2), items_read)

    assert ["a", "b", "c"] == items_read


async def test_a_listing_that_never_ends_is_an_error() -> None:
    endless, items_read = Endless(), list[str]()
    with pytest.raises(UpstreamError, match="does not end: 200 pages were read"):
        await taken(iter_items(endless.fetch, max_pages=200), items_read)

    assert (200, 200) == (endless.requested, len(items_read))


async def test_a_listing_that_leads_back_is_not_followed_in_circles() -> None:
    book, items_read = Book(CIRCLE), list[str]()
    with pytest.raises(UpstreamError, match="does not end: 3 pages were read"):
        await taken(iter_items(book.fetch, max_pages=200), items_read)

    assert (["a", "b", "c"], [None, "2", "3"]) == (items_read, book.requested)


async def test_a_listing_that_leads_back_to_where_it_was_begun_is_not_followed() -> None:
    book, items_read = Book({"2": (["b"], "2")}), list[str]()
    with pytest.raises(UpstreamError):
        await taken(iter_items(book.fetch, max_pages=200, start="2"), items_read)

    assert (["b"], ["2"]) == (items_read, book.requested)


async def test_empty_pages_are_no_end() -> None:
    book = Book({None: ([], "2"), "2": ([], "3"), "3": (["d"], None)})

    assert ["d"] == [item async for item in iter_items(book.fetch, max_pages=10)]


async def test_an_empty_cursor_is_the_end() -> None:
    assert ["a"] == [item async for item in iter_items(Book({None: (["a"], "")}).fetch, max_pages=10)]


async def test_pages_are_returned_unchanged() -> None:
    assert [["a", "b"], ["c"], ["d"]] == [page async for page in iter_pages(Book(THREE).fetch, max_pages=3)]


async def test_a_bounded_search_ends_and_reports_incomplete() -> None:
    pages = PageIterator(Endless().fetch, max_pages=2)

    assert [["item 1"], ["item 2"]] == [page async for page in pages]
    assert not pages.complete


async def test_a_bounded_search_reports_complete() -> None:
    pages = PageIterator(Book(THREE).fetch, max_pages=3)
    before = pages.complete
    items_read = [page async for page in pages]

    assert (False, 3, True) == (before, len(items_read), pages.complete)


async def test_a_look_that_is_left_at_the_last_page_saw_all() -> None:
    pages = PageIterator(Book({None: (["a"], None)}).fetch, max_pages=3)

    assert ["a"] == await anext(aiter(pages))
    assert pages.complete


def answering_up_to(most: int) -> tuple[list[int], Callable[[int], Awaitable[str]]]:
    """What was asked for, and a listing whose pages are too large above *most* items."""
    requested: list[int] = []

    async def fetch(size: int) -> str:
        requested.append(size)
        if size > most:
            raise ResponseTooLarge("too large")
        return f"{size} items"

    return requested, fetch


async def test_a_too_large_page_is_requested_in_smaller_pages() -> None:
    requested, fetch = answering_up_to(10)

    page = await with_smaller_pages(fetch, 100)

    assert "6 items" == page
    assert [100, 25, 6] == requested


async def test_a_fitting_page_is_requested_once() -> None:
    requested, fetch = answering_up_to(100)

    await with_smaller_pages(fetch, 100)

    assert [100] == requested


async def test_one_item_that_is_too_large_is_an_error() -> None:
    requested, fetch = answering_up_to(0)

    with pytest.raises(ResponseTooLarge):
        await with_smaller_pages(fetch, 5)
    assert [5, 1] == requested
