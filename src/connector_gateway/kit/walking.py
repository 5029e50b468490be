"""Reads the pages of a listing to the end, or raises an error if the end is not reached."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Generic, TypeVar

from connector_gateway.kit.errors import UpstreamError

P = TypeVar("P")
T = TypeVar("T")

Fetch = Callable[[str | None], Awaitable[tuple[P, str | None]]]
"""Asks for the page at a cursor (None: the first) and returns it with the cursor of the next; the last has none."""


class Pages(Generic[P]):
    """The pages of a listing, limited to *most* pages on purpose; ``complete`` tells whether these were all.

    Check ``complete`` before you conclude anything from what is missing. Use ``walk`` if only the whole list will do.
    Iteration also ends when the third party leads back to a page that it gave before.
    """

    def __init__(self, fetch: Fetch[P], *, most: int, start: str | None = None) -> None:
        self._fetch = fetch
        self._most = most
        self._start = start
        self.complete = False
        """Whether the last page that was read is the last one of the listing."""

    async def __aiter__(self) -> AsyncIterator[P]:
        self.complete = False
        cursor = self._start
        followed = {cursor}
        for _ in range(self._most):
            page, cursor = await self._fetch(cursor)
            self.complete = not cursor
            yield page
            # A listing that leads back to a page it gave before would never end (decision 25).
            if not cursor or cursor in followed:
                return
            followed.add(cursor)


async def walk_pages(fetch: Fetch[P], *, most: int, start: str | None = None) -> AsyncIterator[P]:
    """Every page of a listing; ``UpstreamError`` if it has more than *most* pages, or leads back to an earlier page."""
    pages, count = Pages(fetch, most=most, start=start), 0
    async for page in pages:
        count += 1
        yield page
    if not pages.complete:
        raise UpstreamError(f"The application's list does not end: {count} pages were read, and there are more.")


async def walk(fetch: Fetch[Iterable[T]], *, most: int, start: str | None = None) -> AsyncIterator[T]:
    """Every item of a listing whose pages are collections of items; it raises what ``walk_pages`` raises."""
    async for page in walk_pages(fetch, most=most, start=start):
        for item in page:
            yield item
