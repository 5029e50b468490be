"""Slow down wrong tokens by client address: a burst is free, then each answer is delayed, and few may be pending.

A token is checked before it gets here, so a correct one is neither refused nor delayed, whatever else its address
sends. What makes guessing hopeless is the length of the tokens; the throttle keeps it from being cheap and unnoticed.
"""

from dataclasses import dataclass

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import RateLimited

BURST = 60
"""Wrong tokens from one address that are answered at once; one comes back each second. Programs are started before
their settings are right, and several people may share an address."""

DELAY_SECONDS = 1.0
MAX_DELAYED_PER_ADDRESS = 10
MAX_DELAYED = 100
"""Delayed answers in all. Each occupies a connection, and those of one proxy are bounded for all its clients."""

MAX_ADDRESSES = 10_000
"""Addresses remembered; the one whose last wrong token is oldest makes room."""


@dataclass(slots=True)
class _Failures:
    """What is left of the burst of an address at an instant, and how many of its answers are delayed."""

    free: float
    at: float
    delayed: int = 0


class TokenThrottle:
    """Count wrong tokens by client address, on a steady *clock*."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failures: dict[str, _Failures] = {}
        self._delayed = 0

    async def delay(self, address: str) -> None:
        """Count a wrong token from *address* and delay its answer; ``RateLimited`` if too many are delayed already."""
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
            # Nothing comes back while an answer is delayed.
            failures.at = self._clock.now()

    def _count(self, address: str) -> _Failures:
        """The failures of *address* as of now, which become the newest."""
        now, failures = self._clock.now(), self._failures.pop(address, None)
        failures = failures or _Failures(BURST, now)
        failures.free, failures.at = min(BURST, failures.free + now - failures.at), now
        if len(self._failures) >= MAX_ADDRESSES:
            del self._failures[next(iter(self._failures))]
        self._failures[address] = failures
        return failures


def _too_many() -> RateLimited:
    error = RateLimited(
        "This token is wrong, and too many wrong ones come from this address.", retry_after=DELAY_SECONDS
    )
    error.remedy = "Send a correct token: it is accepted at once, whatever else comes from this address."
    return error
