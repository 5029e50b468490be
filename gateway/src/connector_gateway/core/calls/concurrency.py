"""Limits on concurrent calls, downloads, and requests per account."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

from connector_gateway.kit.errors import Overloaded, UpstreamRateLimited

RETRY_AFTER_SECONDS = 1
"""Seconds after which a rejected call can be retried. Most running calls end sooner."""

DOWNLOAD_RETRY_AFTER_SECONDS = 5

MAX_PER_LINK = 4
MAX_PER_CONNECTION = 16
LARGE_SLOT_RATIO = 4
"""Slots per slot for a large response that is read completely, so that small responses continue alongside.

With eight simultaneous responses of 12 MiB a process grew by 300 MiB, and was blocked for 60 ms.
"""

DOWNLOADS = 200
"""Maximum downloads of a process. It leaves enough connections to vendors for calls."""


class ConcurrencyLimit:
    """Context manager that admits at most *maximum* concurrent calls. One more immediately raises ``Overloaded``."""

    def __init__(self, maximum: int) -> None:
        self._max = self._free = maximum

    @property
    def in_use(self) -> int:
        """The number of running calls."""
        return self._max - self._free

    def __enter__(self) -> None:
        # No queue: running calls already wait for rate-limit budgets, and a second queue would only hide that.
        if self._free <= 0:
            raise Overloaded("This service is processing its maximum number of calls.", retry_after=RETRY_AFTER_SECONDS)
        self._free -= 1

    def __exit__(self, *_: object) -> None:
        self._free += 1


class Downloads:
    """Limits concurrent downloads per link, per connection and in total."""

    def __init__(self) -> None:
        self._active: Counter[str] = Counter()

    @contextmanager
    def slot(self, link: str, connection_id: str) -> Iterator[None]:
        """Occupy a slot for one download. Raises ``Overloaded`` if none is free."""
        limits = {"": DOWNLOADS, connection_id: MAX_PER_CONNECTION, link: MAX_PER_LINK}
        if any(self._active[name] >= maximum for name, maximum in limits.items()):
            raise Overloaded(
                "The maximum number of downloads of this link, its connection or this service is in progress.",
                retry_after=DOWNLOAD_RETRY_AFTER_SECONDS,
            )
        self._active.update(limits.keys())
        try:
            yield
        finally:
            self._active.subtract(limits.keys())
            self._active = +self._active


class AccountSlots:
    """Slots for at most *maximum* concurrent requests of one account. Further requests wait in order."""

    def __init__(self, maximum: int) -> None:
        self._free = asyncio.Semaphore(maximum)
        self._large = asyncio.Semaphore(max(1, maximum // LARGE_SLOT_RATIO))

    def slot(self, seconds: float) -> AbstractAsyncContextManager[None]:
        """Occupy a slot. Raises ``UpstreamRateLimited`` if none becomes free within *seconds*."""
        return _occupy(self._free, seconds)

    @asynccontextmanager
    async def large_slot(self, seconds: float) -> AsyncIterator[None]:
        """Occupy one of the few slots for a response that is read completely. Raises like ``slot``."""
        deadline = asyncio.get_running_loop().time() + seconds
        async with _occupy(self._large, seconds), _occupy(self._free, deadline - asyncio.get_running_loop().time()):
            yield


@asynccontextmanager
async def _occupy(semaphore: asyncio.Semaphore, seconds: float) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            await semaphore.acquire()
    except TimeoutError:
        raise UpstreamRateLimited(
            "The vendor is processing its maximum number of concurrent requests for this account.",
            retry_after=RETRY_AFTER_SECONDS,
        ) from None
    try:
        yield
    finally:
        semaphore.release()


class AccountSlotPool:
    """The slots of each account of one vendor, while they are in use. Each process has its share."""

    def __init__(self, maximum: int, processes: Callable[[], int]) -> None:
        self._max = maximum
        self._processes = processes
        self._slots: WeakValueDictionary[tuple[str, int], AccountSlots] = WeakValueDictionary()

    def for_account(self, account: str) -> AccountSlots:
        """Return the slots of one account."""
        # The key includes the limit: after processes start or stop, new calls use slots with the new limit.
        share = max(1, self._max // max(1, self._processes()))
        slots = self._slots.get((account, share))
        if slots is None:
            slots = self._slots[account, share] = AccountSlots(share)
        return slots
