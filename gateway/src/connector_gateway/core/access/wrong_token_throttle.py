"""Throttle of wrong tokens by client IP: a burst is free, then responses are delayed, and few may be pending.

Tokens are checked before they are throttled, so a correct token is neither rejected nor delayed, whatever its client
IP sends. The length of the tokens makes guessing hopeless. The throttle makes attempts expensive and visible.
"""

from dataclasses import dataclass

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import RateLimited

BURST = 60
"""Wrong tokens from one client IP whose responses are not delayed. The allowance grows by one per second. Programs are
started before their settings are correct, and several people might share an IP."""

DELAY_SECONDS = 1.0
MAX_DELAYED_PER_ADDRESS = 10
MAX_DELAYED = 100
"""Maximum delayed responses. Each occupies a connection, and a proxy shares a limited number among its clients."""

MAX_ADDRESSES = 10_000
"""Maximum client IPs in memory. The one with the oldest failure is dropped first."""


@dataclass(slots=True)
class _Failures:
    """The remaining burst of a client IP at ``at``, and the number of its delayed responses."""

    free: float
    at: float
    delayed: int = 0


class TokenThrottle:
    """Counts and delays wrong tokens by client IP. *clock* has to be monotonic."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[str, _Failures] = {}
        self._delayed = 0

    async def delay(self, address: str) -> None:
        """Count a wrong token from *address* and delay its response. Raises ``RateLimited`` if too many are delayed."""
        failures = self._count(address)
        if failures.free >= 1:
            failures.free -= 1
            return
        if failures.delayed >= MAX_DELAYED_PER_ADDRESS or self._delayed >= MAX_DELAYED:
            raise _too_many()
        failures.delayed += 1
        self._delayed += 1
        try:
            await self._clock.sleep(DELAY_SECONDS)
        finally:
            failures.delayed -= 1
            self._delayed -= 1
            # The burst does not refill while a response is delayed.
            failures.at = self._clock.now()

    def _count(self, address: str) -> _Failures:
        """Return the current failures of *address*, and make them the newest."""
        now, failures = self._clock.now(), self._failures.pop(address, None)
        failures = failures or _Failures(BURST, now)
        failures.free, failures.at = min(BURST, failures.free + now - failures.at), now
        if len(self._failures) >= MAX_ADDRESSES:
            del self._failures[next(iter(self._failures))]
        self._failures[address] = failures
        return failures


def _too_many() -> RateLimited:
    error = RateLimited(
        "The token is wrong, and too many wrong tokens were sent from this address.", retry_after=DELAY_SECONDS
    )
    error.remedy = "Send a correct token, which is accepted immediately."
    return error
