"""Reads the pages of a listing to the end, or raises an error if the end is not reached."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Generic, Self, TypeVar

from connector_gateway.kit.errors import ResponseTooLarge, UpstreamError

P = TypeVar("P")
T = TypeVar("T")

Fetch = Callable[[str | None], Awaitable[tuple[P, str | None]]]
"""Asks for the page at a cursor (None: the first) and returns it with the cursor of the next; the last has none."""


class PageIterator(Generic[P]):
    """The pages of a listing, limited to *most* pages on purpose; ``complete`` tells whether these were all.

    Check ``complete`` before you conclude anything from what is missing. Use ``walk`` if only the whole list will do.
    Iteration also ends when the third party leads back to a page that it gave before. Where the *whole* list is asked
    for, an end before its last page is an ``UpstreamError``.
    """

    # No generator: the event loop keeps account of each of those until it is closed, and rooms walk in layers. Two of
    # the three in a search were a fiftieth of it (decision 45).

    def __init__(self, fetch: Fetch[P], *, most: int, start: str | None = None, whole: bool = False) -> None:
        self._fetch = fetch
        self._whole = whole
        self._most = most
        self._start = start
        self._cursor = start
        self._followed: set[str | None] = set()
        self._ended = False
        self.read = 0
        """How many pages were read."""

        self.complete = False
        """Whether the last page that was read is the last one of the listing."""

    def __aiter__(self) -> Self:
        self._cursor, self._followed = self._start, {self._start}
        self._ended, self.read, self.complete = False, 0, False
        return self

    async def __anext__(self) -> P:
        if self._ended or self.read >= self._most:
            if self._whole and not self.complete:
                raise UpstreamError(
                    f"The application's list does not end: {self.read} pages were read, and there are more."
                )
            raise StopAsyncIteration
        page, cursor = await self._fetch(self._cursor)
        self.read += 1
        self.complete = not cursor
        # A listing that leads back to a page it gave before would never end (decision 25).
        self._ended = not cursor or cursor in self._followed
        self._followed.add(cursor)
        self._cursor = cursor
        return page


def iter_pages(fetch: Fetch[P], *, most: int, start: str | None = None) -> AsyncIterator[P]:
    """Every page of a listing; ``UpstreamError`` if it has more than *most* pages, or leads back to an earlier page."""
    return aiter(PageIterator(fetch, most=most, start=start, whole=True))


async def iter_items(fetch: Fetch[Iterable[T]], *, most: int, start: str | None = None) -> AsyncIterator[T]:
    """Every item of a listing whose pages are collections of items; it raises what ``walk_pages`` raises."""
    async for page in iter_pages(fetch, most=most, start=start):
        for item in page:
            yield item


async def with_smaller_pages(fetch: Callable[[int], Awaitable[P]], most: int) -> P:
    """What *fetch* gives for *most* items, or for fewer where that many are too large to be read (decision 48).

    ``AnswerTooLarge`` where a single item is. What *fetch* gives has to tell where the next page begins.
    """
    size = most
    while True:
        try:
            return await fetch(size)
        except ResponseTooLarge:
            if size == 1:
                raise
            size = max(1, size // 4)
