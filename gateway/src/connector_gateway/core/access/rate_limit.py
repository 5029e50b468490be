"""The rate limit of an API key: a number of calls per rolling minute, over all connectors."""

from collections.abc import Awaitable
from functools import lru_cache

from connector_gateway.core.access.keys import Caller
from connector_gateway.kit.errors import RateLimited
from connector_gateway.kit.identifiers import KeyId
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.interface import RateLimitWindow, ResolvedCharge, SharedState

WINDOW_SECONDS = 60


class KeyRateLimiter:
    """Counts the calls of every key. Rejected calls do not count."""

    def __init__(self, shared: SharedState) -> None:
        self._shared = shared

    def consume(self, caller: Caller) -> Awaitable[RateLimitWindow]:
        """Count one call and return the remaining allowance. Above the limit, its ``retry_after`` is positive."""
        return self._shared.consume(_charge(caller.key_id, caller.calls_per_minute))

    def peek(self, caller: Caller) -> Awaitable[RateLimitWindow]:
        """Return the remaining allowance without counting a call."""
        return self._shared.peek(_charge(caller.key_id, caller.calls_per_minute))


def raise_if_exceeded(allowance: RateLimitWindow | None) -> None:
    """Raise ``RateLimited`` if the call exceeds the limit. Calls without an allowance are unlimited."""
    if allowance is not None and allowance.retry_after > 0:
        raise RateLimited(
            f"The key has used up its {allowance.limit} calls per minute.", retry_after=allowance.retry_after
        )


@lru_cache(maxsize=1024)
def _charge(key_id: KeyId, calls_per_minute: int) -> ResolvedCharge:
    return ResolvedCharge(f"key:{key_id}", Budget(calls_per_minute, WINDOW_SECONDS))
