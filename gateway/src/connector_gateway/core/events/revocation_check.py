"""A check with the vendor, while events are read, whether connections are still authorised."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import ConnectionRevoked, GatewayError
from connector_gateway.kit.identifiers import ConnectionId

BURST = 60
"""The number of consecutive reads that may each send a request.

Together with the refill below it covers the usual reads per minute of one key, so that the vendor is asked for each of
its reads. Several keys that read all the time share one request per second, and leave the rest of the budget to calls.
"""

SECONDS_PER_REQUEST = 1.0
"""Seconds until one more read may send a request."""

TIMEOUT_SECONDS = 3.0
"""Seconds that a reader waits for the vendor. The stored events can be read without it."""

BACKOFF_SECONDS = 5.0
"""Seconds without requests after the vendor did not respond."""

MAX_CONNECTIONS = 10_000
"""The maximum number of connections whose allowance is stored."""


class RevocationCheck:
    """Checks with vendors whether they still accept a connection, within an allowance of cheap requests."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._allowances: OrderedDict[ConnectionId, tuple[float, float]] = OrderedDict()
        """The remaining requests of a connection, and when they were counted."""

    async def is_accepted(self, connection_id: ConnectionId, probe: Callable[[], Awaitable[object]]) -> bool:
        """Return True if the vendor has just accepted the connection.

        Returns False if no request was sent or the vendor did not respond. Raises ``ConnectionRevoked`` if the vendor
        rejects the connection.
        """
        remaining = self._remaining(connection_id)
        if remaining < 1:
            return False
        self._store_allowance(connection_id, remaining - 1)
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await probe()
        except ConnectionRevoked:
            raise
        except (GatewayError, TimeoutError):
            self._store_allowance(connection_id, 1 - BACKOFF_SECONDS / SECONDS_PER_REQUEST)
            return False
        return True

    def _remaining(self, connection_id: ConnectionId) -> float:
        remaining, counted_at = self._allowances.get(connection_id, (float(BURST), 0.0))
        return min(float(BURST), remaining + max(0.0, self._clock.now() - counted_at) / SECONDS_PER_REQUEST)

    def _store_allowance(self, connection_id: ConnectionId, remaining: float) -> None:
        self._allowances[connection_id] = remaining, self._clock.now()
        self._allowances.move_to_end(connection_id)
        if len(self._allowances) > MAX_CONNECTIONS:
            self._allowances.popitem(last=False)
