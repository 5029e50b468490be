"""How many calls, downloads, and requests of one account may be under way at the same time."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

from connector_gateway.kit.errors import Overloaded, UpstreamRateLimited

RETRY_AFTER_SECONDS = 1
"""A call that is under way ends soon, most of the time."""

DOWNLOAD_RETRY_AFTER_SECONDS = 5

MAX_PER_LINK = 4
MAX_PER_CONNECTION = 16
LARGE_SLOT_RATIO = 4
"""Of so many places one is for an answer that is read whole, so that others go on beside it.

With eight answers of 12 MiB at once a process grew by 300 MiB, and stood still for 60 ms.
"""

DOWNLOADS = 200
"""All together hold connections to third parties only so far that enough are left for calls."""


class ConcurrencyLimit:
    """Allows at most *most* calls inside at once; one more is refused with ``Overloaded`` at once."""

    def __init__(self, most: int) -> None:
        self._most = self._free = most

    @property
    def in_use(self) -> int:
        """How many calls are inside."""
        return self._most - self._free

    def __enter__(self) -> None:
        # Nobody queues here: those inside already wait for budgets, and a second queue would only hide that.
        if self._free <= 0:
            raise Overloaded("More calls are under way than this service takes.", retry_after=RETRY_AFTER_SECONDS)
        self._free -= 1

    def __exit__(self, *_: object) -> None:
        self._free += 1


class Downloads:
    """Lets in so many downloads of one link, of one connection, and altogether."""

    def __init__(self) -> None:
        self._under_way: Counter[str] = Counter()

    @contextmanager
    def one(self, link: str, connection_id: str) -> Iterator[None]:
        """Take a place for one download while inside; ``Overloaded`` where there is none."""
        limits = {"": DOWNLOADS, connection_id: MAX_PER_CONNECTION, link: MAX_PER_LINK}
        if any(self._under_way[name] >= most for name, most in limits.items()):
            raise Overloaded(
                "More downloads are under way than this service takes of one link, of one connection, or in all.",
                retry_after=DOWNLOAD_RETRY_AFTER_SECONDS,
            )
        self._under_way.update(limits.keys())
        try:
            yield
        finally:
            self._under_way.subtract(limits.keys())
            self._under_way = +self._under_way


class AccountSlots:
    """So many requests of one account at once; one more waits, in order."""

    def __init__(self, most: int) -> None:
        self._free = asyncio.Semaphore(most)
        self._large = asyncio.Semaphore(max(1, most // LARGE_SLOT_RATIO))

    def slot(self, seconds: float) -> AbstractAsyncContextManager[None]:
        """Take a place while inside; ``UpstreamRateLimited`` where none gets free for so long."""
        return _inside(self._free, seconds)

    @asynccontextmanager
    async def large_slot(self, seconds: float) -> AsyncIterator[None]:
        """Take a place for an answer that is read whole, of which there are few; raises as ``one`` does."""
        until = asyncio.get_running_loop().time() + seconds
        async with _inside(self._large, seconds), _inside(self._free, until - asyncio.get_running_loop().time()):
            yield


@asynccontextmanager
async def _inside(places: asyncio.Semaphore, seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            await places.acquire()
    except TimeoutError:
        raise UpstreamRateLimited(
            "The application works on as many requests of this account as it takes at once.",
            retry_after=RETRY_AFTER_SECONDS,
        ) from None
    try:
        yield
    finally:
        places.release()


class AccountSlotPool:
    """The places of each account of one third party, as long as somebody uses them; each process has its part."""

    def __init__(self, most: int, processes: Callable[[], int]) -> None:
        self._most = most
        self._processes = processes
        self._used: WeakValueDictionary[tuple[str, int], AccountSlots] = WeakValueDictionary()

    def of(self, account: str) -> AccountSlots:
        """Those of one account."""
        # By their number too: when processes come or go, calls that begin from then on have other places.
        most = max(1, self._most // max(1, self._processes()))
        places = self._used.get((account, most))
        if places is None:
            places = self._used[account, most] = AccountSlots(most)
        return places
