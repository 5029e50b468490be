"""The values that each connection caches between calls."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from msgspec import Struct

from connector_gateway.core.single_flight_cache import SingleFlight
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.context import CachedLookup
from connector_gateway.kit.identifiers import ConnectionId

T = TypeVar("T")

MAX_ITEMS = 20_000
_Key = tuple[ConnectionId, int, str]

Join = Callable[[asyncio.Future[Any]], Awaitable[Any]]
"""Waits for a look-up without cancelling it."""


class ConnectionCaches:
    """The caches of all connections, in one bounded store."""

    def __init__(self, clock: Clock) -> None:
        self._items: SingleFlight[_Key, Any] = SingleFlight(clock, MAX_ITEMS)

    def for_connection(
        self, connection_id: ConnectionId, era: int = 0, join: Join = asyncio.shield
    ) -> "ConnectionMemory":
        """Return the cache of one connection.

        *era* counts its replaced credentials, since new ones may lead to another account. Callers wait by *join* for
        look-ups that others have begun.
        """
        return ConnectionMemory(self._items, connection_id, era, join)


class ConnectionMemory(Struct):
    """The cached values of one connection."""

    _items: SingleFlight[_Key, Any]
    _connection_id: ConnectionId
    _era: int
    _join: Join

    def get(self, name: str) -> Any:
        """Return the value cached under *name*, or None."""
        return self._items.peek(self._key(name))

    def put(self, name: str, value: Any, seconds: float) -> None:
        """Cache *value* for at most *seconds*."""
        self._items.put(self._key(name), value, seconds)

    def forget(self, name: str) -> None:
        """Discard the value, and ignore the result of a lookup in progress."""
        self._items.forget(self._key(name))

    async def get_or_load(self, lookup: CachedLookup[T], outdated: T | None) -> T:
        """Return the cached value unless it is *outdated*, otherwise load a new one.

        Concurrent callers share one lookup.
        """
        value: T = await self._items.get(self._key(lookup.name), lookup.find, lookup.seconds, outdated, self._join)
        return value

    def _key(self, name: str) -> _Key:
        return self._connection_id, self._era, name
