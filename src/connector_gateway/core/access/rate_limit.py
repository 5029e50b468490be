"""How often a key may call: so many times in any rolling minute, over all connectors."""

from collections.abc import Awaitable
from functools import lru_cache

from connector_gateway.core.access.keys import Caller
from connector_gateway.kit.errors import RateLimited
from connector_gateway.kit.identifiers import KeyId
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.interface import RateLimitWindow, ResolvedCharge, SharedState

WINDOW_SECONDS = 60


class KeyRateLimiter:
    """Counts the calls of every key; refused calls do not count."""

    def __init__(self, shared: SharedState) -> None:
        self._shared = shared

    def consume(self, caller: Caller) -> Awaitable[RateLimitWindow]:
        """Count one call and return what is left; with ``retry_after`` above 0 it was one too many."""
        return self._shared.consume(_take(caller.key_id, caller.calls_per_minute))

    def peek(self, caller: Caller) -> Awaitable[RateLimitWindow]:
        """What is left, counting nothing."""
        return self._shared.peek(_take(caller.key_id, caller.calls_per_minute))


def raise_if_exceeded(allowance: RateLimitWindow | None) -> None:
    """Refuse the call that was one too many; one that counts against no key never is."""
    if allowance is not None and allowance.retry_after > 0:
        raise RateLimited(
            f"The key's {allowance.limit} calls of this minute are used up.", retry_after=allowance.retry_after
        )


@lru_cache(maxsize=1024)
def _take(key_id: KeyId, calls_per_minute: int) -> ResolvedCharge:
    return ResolvedCharge(f"key:{key_id}", Budget(calls_per_minute, WINDOW_SECONDS))
