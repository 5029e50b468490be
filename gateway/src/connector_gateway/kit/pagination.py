"""Iterators over the pages and items of a listing."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Generic, Self, TypeVar

from connector_gateway.kit.errors import ResponseTooLarge, UpstreamError

P = TypeVar("P")
T = TypeVar("T")

Fetch = Callable[[str | None], Awaitable[tuple[P, str | None]]]
"""A function that requests the page at a cursor (None for the first) and returns it with the next cursor, if any."""


class PageIterator(Generic[P]):
    """The pages of a listing, deliberately limited to a number of pages.

    Check ``complete`` before you conclude anything from a missing item. Use ``iter_pages`` if you need the complete
    list. Iteration also ends when the vendor returns a cursor that it returned before. With *must_be_complete*,
    an end before its last page raises ``UpstreamError``.
    """

    # This is not a generator: the event loop tracks each of those until it is closed, and connectors iterate in layers.
    # Two of the three generators in a search took a fiftieth of its time.

    def __init__(
        self, fetch: Fetch[P], *, max_pages: int, start: str | None = None, must_be_complete: bool = False
    ) -> None:
        self._fetch = fetch
        self._must_be_complete = must_be_complete
        self._max_pages = max_pages
        self._start = start
        self._cursor = start
        self._seen_cursors: set[str | None] = set()
        self._ended = False
        self.pages_read = 0
        """The number of pages read."""

        self.complete = False
        """Whether the last page that was read is the last page of the listing."""

    def __aiter__(self) -> Self:
        self._cursor, self._seen_cursors = self._start, {self._start}
        self._ended, self.pages_read, self.complete = False, 0, False
        return self

    async def __anext__(self) -> P:
        if self._ended or self.pages_read >= self._max_pages:
            if self._must_be_complete and not self.complete:
                raise UpstreamError(
                    f"The vendor's list does not end: {self.pages_read} pages were read, and there are more."
                )
            raise StopAsyncIteration
        page, cursor = await self._fetch(self._cursor)
        self.pages_read += 1
        self.complete = not cursor
        # A listing that returns an earlier cursor would never end.
        self._ended = not cursor or cursor in self._seen_cursors
        self._seen_cursors.add(cursor)
        self._cursor = cursor
        return page


def iter_pages(fetch: Fetch[P], *, max_pages: int, start: str | None = None) -> AsyncIterator[P]:
    """Iterate over every page of a listing.

    Raises ``UpstreamError`` if it has more than *max_pages* pages, or returns to an earlier page.
    """
    return aiter(PageIterator(fetch, max_pages=max_pages, start=start, must_be_complete=True))


async def iter_items(fetch: Fetch[Iterable[T]], *, max_pages: int, start: str | None = None) -> AsyncIterator[T]:
    """Iterate over every item of a listing whose pages are collections of items. Raises like ``iter_pages``."""
    async for page in iter_pages(fetch, max_pages=max_pages, start=start):
        for item in page:
            yield item


async def with_smaller_pages(fetch: Callable[[int], Awaitable[P]], max_items: int) -> P:
    """Fetch a page of *max_items* items, or of fewer if the response is too large.

    Raises ``ResponseTooLarge`` if a single item is too large. The result of *fetch* must include the next cursor.
    """
    size = max_items
    while True:
        try:
            return await fetch(size)
        except ResponseTooLarge:
            if size == 1:
                raise
            size = max(1, size // 4)
