"""The values that each connection caches between calls."""

from typing import Any, TypeVar

from connector_gateway.core.single_flight import SingleFlight
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.context import CachedLookup
from connector_gateway.kit.identifiers import ConnectionId

T = TypeVar("T")

MAX_ITEMS = 20_000


class ConnectionCaches:
    """The caches of all connections, in one bounded store."""

    def __init__(self, clock: Clock) -> None:
        self._items: SingleFlight[tuple[ConnectionId, str], Any] = SingleFlight(clock, MAX_ITEMS)

    def for_connection(self, connection_id: ConnectionId) -> "ConnectionMemory":
        """Return the cache of one connection."""
        return ConnectionMemory(self._items, connection_id)


class ConnectionMemory:
    """The cached values of one connection."""

    def __init__(self, items: SingleFlight[tuple[ConnectionId, str], Any], connection_id: ConnectionId) -> None:
        self._items = items
        self._connection_id = connection_id

    def get(self, name: str) -> Any:
        """Return the value cached under *name*, or None."""
        return self._items.peek((self._connection_id, name))

    def put(self, name: str, value: Any, seconds: float) -> None:
        """Cache *value* for at most *seconds*."""
        self._items.put((self._connection_id, name), value, seconds)

    def forget(self, name: str) -> None:
        """Discard the value, and ignore the result of a lookup in progress."""
        self._items.forget((self._connection_id, name))

    async def get_or_load(self, lookup: CachedLookup[T], outdated: T | None) -> T:
        """Return the cached value unless it is *outdated*, otherwise load a new one.

        Concurrent callers share one lookup.
        """
        value: T = await self._items.get((self._connection_id, lookup.name), lookup.find, lookup.seconds, outdated)
        return value
