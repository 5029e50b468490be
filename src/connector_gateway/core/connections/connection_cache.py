"""What each connection remembers between calls."""

from typing import Any, TypeVar

from connector_gateway.core.single_flight import SingleFlight
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.context import CachedLookup
from connector_gateway.kit.identifiers import ConnectionId

T = TypeVar("T")

MAX_ITEMS = 20_000


class ConnectionCaches:
    """The memories of all connections, in one bounded cache."""

    def __init__(self, clock: Clock) -> None:
        self._items: SingleFlight[tuple[ConnectionId, str], Any] = SingleFlight(clock, MAX_ITEMS)

    def of(self, connection_id: ConnectionId) -> "ConnectionMemory":
        """The memory of one connection."""
        return ConnectionMemory(self._items, connection_id)


class ConnectionMemory:
    """What one connection remembers."""

    def __init__(self, items: SingleFlight[tuple[ConnectionId, str], Any], connection_id: ConnectionId) -> None:
        self._items = items
        self._connection_id = connection_id

    def get(self, name: str) -> Any:
        """What was remembered under *name*, or None."""
        return self._items.peek((self._connection_id, name))

    def put(self, name: str, value: Any, seconds: float) -> None:
        """Remember *value* for at most that long."""
        self._items.put((self._connection_id, name), value, seconds)

    def forget(self, name: str) -> None:
        """Forget the value, and ignore the result of a look-up under way."""
        self._items.forget((self._connection_id, name))

    async def get_or_load(self, wanted: CachedLookup[T], outdated: T | None) -> T:
        """The remembered value, unless it is *outdated*; otherwise a new look-up, shared by all who ask meanwhile."""
        found: T = await self._items.get((self._connection_id, wanted.name), wanted.find, wanted.seconds, outdated)
        return found
