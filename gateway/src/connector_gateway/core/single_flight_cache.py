"""A single-flight cache: concurrent callers share one look-up, whose result is cached for a while.

It caches keys and connections from the database, and vendor data per connection.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from connector_gateway.kit.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
D = TypeVar("D")

_MISSING: Any = object()
"""Distinguishes a missing value from None."""

CACHE_SECONDS = 3.0
"""Seconds for which a database look-up is cached, from its start. Changes of other processes are visible after them."""

MAX_ROWS = 10_000
"""Maximum cached rows of one kind. The least recently used are dropped."""


@dataclass(slots=True, eq=False)
class _Flight(Generic[V]):
    """A look-up in progress, and its start time by the cache's clock."""

    began: float
    task: asyncio.Task[V]


class SingleFlight(Generic[K, V]):
    """Up to *max_values* values by key, each with an expiry time. The least recently used value is dropped first.

    With *from_start*, the lifetime of a value counts from the start of its look-up. A later caller does not share a
    look-up that is older than the lifetime. Otherwise the lifetime counts from the end of the look-up, and every caller
    shares the look-up in progress.
    """

    def __init__(self, clock: Clock, max_values: int, *, from_start: bool = False) -> None:
        self._clock = clock
        self._max = max_values
        self._from_start = from_start
        self._values: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._flights: dict[K, _Flight[V]] = {}
        self._tasks: set[asyncio.Task[V]] = set()

    def peek(self, key: K, default: D | None = None) -> V | D | None:
        """Return the cached value, or *default*, without a look-up."""
        entry = self._values.get(key)
        if entry is None:
            return default
        if entry[0] <= self._clock.now():
            del self._values[key]
            return default
        self._values.move_to_end(key)
        return entry[1]

    def put(self, key: K, value: V, seconds: float) -> None:
        """Cache *value* for at most *seconds* from now."""
        self._put(key, value, self._clock.now() + seconds)

    def forget(self, key: K) -> None:
        """Drop the value. A look-up in progress returns its result only to callers that already wait for it."""
        self._values.pop(key, None)
        self._flights.pop(key, None)

    async def get(
        self,
        key: K,
        find: Callable[[], Awaitable[V]],
        seconds: float,
        outdated: V | None = None,
        join: Callable[[asyncio.Future[V]], Awaitable[V]] = asyncio.shield,
    ) -> V:
        """Return the cached value, unless it is *outdated*. Otherwise call *find* once for all concurrent callers.

        All but the first one wait by *join*, which must not cancel the look-up. An error of *find* is raised to all
        waiting callers. It is not cached, and the cached value remains.
        """
        cached: Any = self.peek(key, _MISSING)
        # Compared by identity, because an equal value that was read since is newer and valid.
        if cached is not _MISSING and (outdated is None or cached is not outdated):
            value: V = cached
            return value
        flight = self._flights.get(key)
        if flight is None or (self._from_start and self._clock.now() - flight.began >= seconds):
            # Shielded, since the cancellation of one caller must not cancel the look-up for the others.
            return await asyncio.shield(self._begin(key, find, seconds).task)
        return await join(flight.task)

    def _put(self, key: K, value: V, expires_at: float) -> None:
        self._values[key] = expires_at, value
        self._values.move_to_end(key)
        if len(self._values) > self._max:
            self._values.popitem(last=False)

    def _begin(self, key: K, find: Callable[[], Awaitable[V]], seconds: float) -> _Flight[V]:
        """Begin a look-up in a separate task, so that the cancellation of one caller does not cancel it."""
        began = self._clock.now()

        async def look_up() -> V:
            try:
                value = await find()
                if self._flights.get(key) is flight:
                    self._put(key, value, (began if self._from_start else self._clock.now()) + seconds)
                return value
            finally:
                if self._flights.get(key) is flight:
                    del self._flights[key]

        flight = _Flight(began, asyncio.create_task(look_up()))
        flight.task.add_done_callback(self._discard_task)
        self._tasks.add(flight.task)
        self._flights[key] = flight
        return flight

    def _discard_task(self, task: asyncio.Task[V]) -> None:
        """Drop the finished task of a look-up. Its exception is read so that asyncio does not log it as unhandled."""
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()
