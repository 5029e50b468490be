"""What connections remember between calls: bounded, forgotten in time, and looked up once for all who ask."""

import asyncio
from collections import OrderedDict
from typing import Any, TypeVar

from connector_gateway.kit.call import LookUp
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.identifiers import ConnectionId

T = TypeVar("T")
Key = tuple[ConnectionId, str]

MAX_ITEMS = 20_000


class Memories:
    """The memories of all connections, in one bounded store; the least used is forgotten first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._items: OrderedDict[Key, tuple[float, Any]] = OrderedDict()
        self._finding: dict[Key, asyncio.Task[Any]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    def of(self, connection_id: ConnectionId) -> "ConnectionMemory":
        """The memory of one connection."""
        return ConnectionMemory(self, connection_id)

    def get(self, key: Key) -> Any:
        """What is remembered, or None."""
        until, value = self._items.get(key, (0.0, None))
        if until <= self._clock.now():
            self._items.pop(key, None)
            return None
        self._items.move_to_end(key)
        return value

    def put(self, key: Key, value: Any, seconds: float) -> None:
        """Remember *value* for at most that long."""
        self._items[key] = (self._clock.now() + seconds, value)
        self._items.move_to_end(key)
        if len(self._items) > MAX_ITEMS:
            self._items.popitem(last=False)

    def forget(self, key: Key) -> None:
        """Forget it now; who waits for a look-up that is under way still gets its result, and nobody else."""
        self._items.pop(key, None)
        self._finding.pop(key, None)

    async def look_up(self, key: Key, wanted: LookUp[T], outdated: T | None) -> T:
        """What is remembered, unless it is *outdated*; otherwise what is found now, once for all who ask meanwhile."""
        known: T | None = self.get(key)
        if known is not None and known is not outdated:
            return known
        finding = self._finding.get(key) or self._begin(key, wanted)
        return await asyncio.shield(finding)

    def _begin(self, key: Key, wanted: LookUp[T]) -> asyncio.Task[T]:
        """Look something up, in a task of its own, so that nobody's leaving ends it for the others."""

        async def find() -> T:
            try:
                found = await wanted.find()
                if self._finding.get(key) is finding:
                    self.put(key, found, wanted.seconds)
                return found
            finally:
                if self._finding.get(key) is finding:
                    del self._finding[key]

        finding = asyncio.create_task(find())
        finding.add_done_callback(self._end)
        self._tasks.add(finding)
        self._finding[key] = finding
        return finding

    def _end(self, finding: asyncio.Task[Any]) -> None:
        """Let go of a look-up; a failure that nobody waited for any more is nobody's."""
        self._tasks.discard(finding)
        if not finding.cancelled():
            finding.exception()


class ConnectionMemory:
    """What one connection remembers."""

    def __init__(self, memories: Memories, connection_id: ConnectionId) -> None:
        self._memories = memories
        self._connection_id = connection_id

    def get(self, name: str) -> Any:
        """What was remembered under *name*, or None."""
        return self._memories.get((self._connection_id, name))

    def put(self, name: str, value: Any, seconds: float) -> None:
        """Remember *value* for at most that long."""
        self._memories.put((self._connection_id, name), value, seconds)

    def forget(self, name: str) -> None:
        """Forget it now, and what a look-up under way will find."""
        self._memories.forget((self._connection_id, name))

    async def look_up(self, wanted: LookUp[T], outdated: T | None) -> T:
        """What is remembered, unless it is *outdated*; otherwise what is found now, once for all who ask meanwhile."""
        return await self._memories.look_up((self._connection_id, wanted.name), wanted, outdated)
