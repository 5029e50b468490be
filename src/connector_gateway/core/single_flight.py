"""The single-flight cache: calls that ask at the same time share one look-up, and its result is trusted for a while.

It serves the look-ups of keys and connections in the database, and what connections remember of third parties. Decision
15 has the figures, decision 25 the rules.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from connector_gateway.kit.clock import Clock

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

TRUSTED_SECONDS = 3.0
"""How long a look-up is trusted, from its beginning; after that, changes of other processes are seen."""

MOST_ROWS = 10_000
"""How many rows of one kind are kept; the least recently used are dropped."""


@dataclass(slots=True, eq=False)
class _Flight(Generic[V]):
    """A look-up under way, and when it began, in seconds since the epoch."""

    began: float
    task: asyncio.Task[V]


class SingleFlight(Generic[K, V]):
    """Up to *most* values by key, each with an expiry time; the least recently used value is dropped first.

    With *from_start*, the time counts from the beginning of a look-up, and a caller who comes after it has passed
    begins a look-up of its own. Otherwise it counts from the end of the look-up, and every caller who comes before that
    waits for it.
    """

    def __init__(self, clock: Clock, most: int, *, from_start: bool = False) -> None:
        self._clock = clock
        self._most = most
        self._from_start = from_start
        self._values: OrderedDict[K, tuple[float, V]] = OrderedDict()
        self._flights: dict[K, _Flight[V]] = {}
        self._tasks: set[asyncio.Task[V]] = set()

    def peek(self, key: K) -> V | None:
        """What is kept, or None; nothing is looked up."""
        kept = self._kept(key)
        return None if kept is None else kept[1]

    def put(self, key: K, value: V, seconds: float) -> None:
        """Keep *value* for at most that long from now on."""
        self._put(key, value, self._clock.now() + seconds)

    def forget(self, key: K) -> None:
        """Forget the value; a look-up under way gives its result only to those who wait for it already."""
        self._values.pop(key, None)
        self._flights.pop(key, None)

    async def get(self, key: K, find: Callable[[], Awaitable[V]], seconds: float, outdated: V | None = None) -> V:
        """The kept value, unless it is *outdated*; otherwise the result of *find*, called once for all who ask.

        An error of *find* is raised to all who wait. It is not kept, and the value that was kept before stays.
        """
        kept = self._kept(key)
        # By identity: an equal value that was read since is a newer one, and need not be read again (decision 25).
        if kept is not None and (outdated is None or kept[1] is not outdated):
            return kept[1]
        flight = self._flights.get(key)
        if flight is None or (self._from_start and self._clock.now() - flight.began >= seconds):
            flight = self._begin(key, find, seconds)
        # Shielded, since a caller who leaves must not end the look-up for those who stay.
        return await asyncio.shield(flight.task)

    def _kept(self, key: K) -> tuple[float, V] | None:
        """The kept value and its expiry time; a pair, since the value may be None."""
        kept = self._values.get(key)
        if kept is None:
            return None
        if kept[0] <= self._clock.now():
            del self._values[key]
            return None
        self._values.move_to_end(key)
        return kept

    def _put(self, key: K, value: V, until: float) -> None:
        self._values[key] = until, value
        self._values.move_to_end(key)
        if len(self._values) > self._most:
            self._values.popitem(last=False)

    def _begin(self, key: K, find: Callable[[], Awaitable[V]], seconds: float) -> _Flight[V]:
        """Begin a look-up in a task of its own, so that a caller who leaves does not end it for the others."""
        began = self._clock.now()

        async def look_up() -> V:
            try:
                found = await find()
                if self._flights.get(key) is flight:
                    self._put(key, found, (began if self._from_start else self._clock.now()) + seconds)
                return found
            finally:
                if self._flights.get(key) is flight:
                    del self._flights[key]

        flight = _Flight(began, asyncio.create_task(look_up()))
        flight.task.add_done_callback(self._end)
        self._tasks.add(flight.task)
        self._flights[key] = flight
        return flight

    def _end(self, task: asyncio.Task[V]) -> None:
        """Drop the task of a look-up; reading its exception keeps asyncio from logging one that nobody waited for."""
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()
