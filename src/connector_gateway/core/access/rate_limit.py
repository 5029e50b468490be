"""How often a key may call: so many times in any rolling minute, over all connectors."""

from collections.abc import Awaitable
from functools import lru_cache

from connector_gateway.core.access.keys import Caller
from connector_gateway.kit.errors import RateLimited
from connector_gateway.kit.identifiers import KeyId
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.interface import Allowance, Shared, Take

WINDOW_SECONDS = 60


class Limits:
    """Counts the calls of every key; refused calls do not count."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def spend(self, caller: Caller) -> Awaitable[Allowance]:
        """Count one call and return what is left; with ``retry_after`` above 0 it was one too many."""
        return self._shared.spend(_take(caller.key_id, caller.calls_per_minute))

    def peek(self, caller: Caller) -> Awaitable[Allowance]:
        """What is left, counting nothing."""
        return self._shared.peek(_take(caller.key_id, caller.calls_per_minute))


def require(allowance: Allowance | None) -> None:
    """Refuse the call that was one too many; one that counts against no key never is."""
    if allowance is not None and allowance.retry_after > 0:
        raise RateLimited(
            f"The key's {allowance.limit} calls of this minute are used up.", retry_after=allowance.retry_after
        )


@lru_cache(maxsize=1024)
def _take(key_id: KeyId, calls_per_minute: int) -> Take:
    return Take(f"key:{key_id}", Budget(calls_per_minute, WINDOW_SECONDS))
