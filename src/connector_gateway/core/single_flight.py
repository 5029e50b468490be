"""The single-flight cache: what is looked up once for all who ask at the same time, and then trusted for a while.

It serves the look-ups of keys and connections in the database, and what connections remember of third parties.
Decision 15 has the figures, decision 25 the rules.
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
"""How long a look-up in the database is trusted from its beginning: what another process changes holds by then."""

MOST_ROWS = 10_000
"""Rows of one kind that are kept; what a call uses is among the last used."""


@dataclass(slots=True, eq=False)
class _Flight(Generic[V]):
    """A look-up under way, and when it began, in seconds since the epoch."""

    began: float
    task: asyncio.Task[V]


class SingleFlight(Generic[K, V]):
    """Values by key, at most so many, each with an end; the least used is dropped first.

    With *from_start*, time counts from the beginning of a look-up: its result is trusted for so long after it, and who
    comes later than that does not wait for it.
    Otherwise a result is trusted from when it was there, and everybody who comes meanwhile waits for it.
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
        """Forget it now; who waits for a look-up that is under way still gets its result, and nobody else."""
        self._values.pop(key, None)
        self._flights.pop(key, None)

    async def get(self, key: K, find: Callable[[], Awaitable[V]], seconds: float, outdated: V | None = None) -> V:
        """What is kept, unless it is *outdated*; otherwise what *find* finds now, once for all who ask meanwhile.

        What it raises is raised to all who wait, and is not kept; what was kept before stays.
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
        """What is kept and until when; a pair, since it may be known that there is nothing."""
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
        """Look it up, in a task of its own, so that nobody's leaving ends it for the others."""
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
        """Let go of a look-up; a failure that nobody waited for any more is nobody's."""
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()
