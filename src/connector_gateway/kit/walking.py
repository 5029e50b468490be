"""The one walk over the pages of a listing: it reaches the end, or says that it did not."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Generic, TypeVar

from connector_gateway.kit.errors import UpstreamError

P = TypeVar("P")
T = TypeVar("T")

Fetch = Callable[[str | None], Awaitable[tuple[P, str | None]]]
"""Asks for the page at a cursor (None: the first) and returns it with the cursor of the next; the last has none."""


class Pages(Generic[P]):
    """The pages of a listing, at most so many: a look that is bounded on purpose, and tells whether it saw all.

    Whoever takes these pages has to ask whether they are ``complete``; where nothing less will do, use ``walk``.
    A third party that leads back to a page it gave before is not followed in circles.
    """

    def __init__(self, fetch: Fetch[P], *, most: int, start: str | None = None) -> None:
        self._fetch = fetch
        self._most = most
        self._start = start
        self.complete = False
        """Whether the page that was taken last is the last one there is."""

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
    """Every page of a listing; ``UpstreamError`` where it does not end within *most*, or goes in circles."""
    pages, count = Pages(fetch, most=most, start=start), 0
    async for page in pages:
        count += 1
        yield page
    if not pages.complete:
        raise UpstreamError(f"The application's list does not end: {count} pages were read, and there are more.")


async def walk(fetch: Fetch[Iterable[T]], *, most: int, start: str | None = None) -> AsyncIterator[T]:
    """Every item of a listing whose pages are collections of items; it ends as ``walk_pages`` does."""
    async for page in walk_pages(fetch, most=most, start=start):
        for item in page:
            yield item
