"""What connections remember between calls: bounded, and forgotten in time."""

from collections import OrderedDict
from typing import Any

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.identifiers import ConnectionId

MAX_ITEMS = 20_000


class Memories:
    """The memories of all connections, in one bounded store; the least used is forgotten first."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._items: OrderedDict[tuple[ConnectionId, str], tuple[float, Any]] = OrderedDict()

    def of(self, connection_id: ConnectionId) -> "ConnectionMemory":
        """The memory of one connection."""
        return ConnectionMemory(self, connection_id)

    def get(self, key: tuple[ConnectionId, str]) -> Any:
        """What is remembered, or None."""
        until, value = self._items.get(key, (0.0, None))
        if until <= self._clock.now():
            self._items.pop(key, None)
            return None
        self._items.move_to_end(key)
        return value

    def put(self, key: tuple[ConnectionId, str], value: Any, seconds: float) -> None:
        """Remember *value* for at most that long."""
        self._items[key] = (self._clock.now() + seconds, value)
        self._items.move_to_end(key)
        if len(self._items) > MAX_ITEMS:
            self._items.popitem(last=False)

    def forget(self, key: tuple[ConnectionId, str]) -> None:
        """Forget it now."""
        self._items.pop(key, None)


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
        """Forget it now."""
        self._memories.forget((self._connection_id, name))
