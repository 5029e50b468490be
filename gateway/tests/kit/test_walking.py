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
    asked: list[str | None] = field(default_factory=list)

    async def fetch(self, cursor: str | None) -> tuple[Sequence[str], str | None]:
        self.asked.append(cursor)
        return self.pages[cursor]


class Endless:
    """One page after the other."""

    def __init__(self) -> None:
        self.asked = 0

    async def fetch(self, cursor: str | None) -> tuple[Sequence[str], str | None]:
        self.asked += 1
        return [f"item {self.asked}"], f"cursor {self.asked}"


THREE = {None: (["a", "b"], "2"), "2": (["c"], "3"), "3": (["d"], None)}
CIRCLE = {None: (["a"], "2"), "2": (["b"], "3"), "3": (["c"], "2")}


async def taken(items: AsyncIterator[str], into: list[str]) -> None:
    async for item in items:
        into.append(item)  # noqa: PERF401  # what came before the failure is looked at


async def test_every_item_of_every_page_comes_once_and_in_order() -> None:
    book = Book(THREE)

    assert ["a", "b", "c", "d"] == [item async for item in iter_items(book.fetch, max_pages=10)]
    assert [None, "2", "3"] == book.asked


async def test_a_listing_that_ends_with_the_last_page_that_is_read_is_whole() -> None:
    assert ["a", "b", "c", "d"] == [item async for item in iter_items(Book(THREE).fetch, max_pages=3)]


async def test_a_listing_of_one_page_more_than_is_read_is_an_error_after_what_was_read() -> None:
    found: list[str] = []
    with pytest.raises(UpstreamError, match="does not end: 2 pages were read"):
        await taken(iter_items(Book(THREE).fetch, max_pages=2), found)

    assert ["a", "b", "c"] == found


async def test_a_listing_that_never_ends_is_an_error() -> None:
    endless, found = Endless(), list[str]()
    with pytest.raises(UpstreamError, match="does not end: 200 pages were read"):
        await taken(iter_items(endless.fetch, max_pages=200), found)

    assert (200, 200) == (endless.asked, len(found))


async def test_a_listing_that_leads_back_is_not_followed_in_circles() -> None:
    book, found = Book(CIRCLE), list[str]()
    with pytest.raises(UpstreamError, match="does not end: 3 pages were read"):
        await taken(iter_items(book.fetch, max_pages=200), found)

    assert (["a", "b", "c"], [None, "2", "3"]) == (found, book.asked)


async def test_a_listing_that_leads_back_to_where_it_was_begun_is_not_followed() -> None:
    book, found = Book({"2": (["b"], "2")}), list[str]()
    with pytest.raises(UpstreamError):
        await taken(iter_items(book.fetch, max_pages=200, start="2"), found)

    assert (["b"], ["2"]) == (found, book.asked)


async def test_empty_pages_are_no_end() -> None:
    book = Book({None: ([], "2"), "2": ([], "3"), "3": (["d"], None)})

    assert ["d"] == [item async for item in iter_items(book.fetch, max_pages=10)]


async def test_an_empty_cursor_is_the_end() -> None:
    assert ["a"] == [item async for item in iter_items(Book({None: (["a"], "")}).fetch, max_pages=10)]


async def test_whole_pages_come_as_they_were_answered() -> None:
    assert [["a", "b"], ["c"], ["d"]] == [page async for page in iter_pages(Book(THREE).fetch, max_pages=3)]


async def test_a_bounded_look_ends_in_silence_and_tells_that_it_saw_a_part() -> None:
    pages = PageIterator(Endless().fetch, max_pages=2)

    assert [["item 1"], ["item 2"]] == [page async for page in pages]
    assert not pages.complete


async def test_a_bounded_look_tells_that_it_saw_all() -> None:
    pages = PageIterator(Book(THREE).fetch, max_pages=3)
    before = pages.complete
    found = [page async for page in pages]

    assert (False, 3, True) == (before, len(found), pages.complete)


async def test_a_look_that_is_left_at_the_last_page_saw_all() -> None:
    pages = PageIterator(Book({None: (["a"], None)}).fetch, max_pages=3)

    assert ["a"] == await anext(aiter(pages))
    assert pages.complete


def answering_up_to(most: int) -> tuple[list[int], Callable[[int], Awaitable[str]]]:
    """What was asked for, and a listing whose pages are too large above *most* items."""
    asked: list[int] = []

    async def fetch(size: int) -> str:
        asked.append(size)
        if size > most:
            raise ResponseTooLarge("too large")
        return f"{size} items"

    return asked, fetch


async def test_fewer_are_asked_for_where_a_page_is_too_large() -> None:
    asked, fetch = answering_up_to(10)

    page = await with_smaller_pages(fetch, 100)

    assert "6 items" == page
    assert [100, 25, 6] == asked


async def test_a_page_that_fits_is_asked_for_once() -> None:
    asked, fetch = answering_up_to(100)

    await with_smaller_pages(fetch, 100)

    assert [100] == asked


async def test_one_item_that_is_too_large_is_an_error() -> None:
    asked, fetch = answering_up_to(0)

    with pytest.raises(ResponseTooLarge):
        await with_smaller_pages(fetch, 5)
    assert [5, 1] == asked
