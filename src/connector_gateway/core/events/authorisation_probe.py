"""Whether connections are still authorised, asked of the third party while their events are read."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import ConnectionRevoked, GatewayError
from connector_gateway.kit.identifiers import ConnectionId

BURST = 60
ANOTHER_AFTER_SECONDS = 1.0
"""Reads in a row that may each ask, and how long until one more may.

Together they are what a key usually may read in a minute, so that each of its reads is answered by the third party;
several keys that read all the time share one question a second, and leave the rest of the budget to calls.
"""

ASKED_SECONDS = 3.0
"""How long a reader waits for the third party; what was observed can be read without it."""

TROUBLE_SECONDS = 5.0
"""How long it is left alone after it could not say."""

MOST = 10_000
"""Connections whose allowance is remembered."""


class AuthorisationProbe:
    """Asks third parties whether they still accept a connection, as often as that is cheap."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._allowances: OrderedDict[ConnectionId, tuple[float, float]] = OrderedDict()
        """What is left for a connection to ask, and when that was counted."""

    async def is_accepted(self, connection_id: ConnectionId, ask: Callable[[], Awaitable[object]]) -> bool:
        """Whether the third party has just accepted the connection; False where it was not asked or could not say.

        ``ConnectionRevoked`` where it refuses.
        """
        left = self._left(connection_id)
        if left < 1:
            return False
        self._note(connection_id, left - 1)
        try:
            async with asyncio.timeout(ASKED_SECONDS):
                await ask()
        except ConnectionRevoked:
            raise
        except (GatewayError, TimeoutError):
            self._note(connection_id, 1 - TROUBLE_SECONDS / ANOTHER_AFTER_SECONDS)
            return False
        return True

    def _left(self, connection_id: ConnectionId) -> float:
        left, counted_at = self._allowances.get(connection_id, (float(BURST), 0.0))
        return min(float(BURST), left + max(0.0, self._clock.now() - counted_at) / ANOTHER_AFTER_SECONDS)

    def _note(self, connection_id: ConnectionId, left: float) -> None:
        self._allowances[connection_id] = left, self._clock.now()
        self._allowances.move_to_end(connection_id)
        if len(self._allowances) > MOST:
            self._allowances.popitem(last=False)
