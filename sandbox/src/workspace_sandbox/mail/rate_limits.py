"""The quotas of each Gmail user: units per minute, concurrent requests, and messages per day."""

from collections import Counter

from workspace_sandbox.kit.emulator_context import EmulatorContext
from workspace_sandbox.kit.rate_limits import Budget, Budgets
from workspace_sandbox.mail.error_responses import THROTTLES, concurrent, retry_after_429

UNITS_PER_MINUTE = 6_000
SENDS_PER_DAY = 2_000
UNITS = Budget("units_per_minute", 60.0)
SENDS = Budget("sends_per_day", 86_400.0)
"""The daily sending limit. A day is any 24 hours, not a calendar day (Workspace Admin Help, sending limits)."""

CONCURRENT_REQUESTS = 10
INNER_PER_SLOT = 5
"""The number of batched requests that count as one concurrent request: 25 pass, a burst of a hundred does not."""

PENALTY_SECONDS = 1.0
"""The seconds that every early request adds to the retry time."""


class RateLimiter:
    """Counts usage per user. Without the knob ``limits`` nothing is counted."""

    def __init__(self, context: EmulatorContext) -> None:
        self._context = context
        self._budgets = Budgets(context)
        self._running: Counter[str] = Counter()

    def charge(self, user: str, units: int) -> None:
        """Charge *units* to the minute's quota. Raises the error that the knob ``throttle`` names if it is exceeded."""
        dialect = str(self._context.knobs["throttle"])
        # Requests before the retry time extend it: several users reported this, Google does not document it.
        blocked_seconds = self._budgets.block_seconds(user) if dialect.startswith("retry_after") else 0.0
        wait = blocked_seconds + PENALTY_SECONDS if blocked_seconds else self._budgets.spend(UNITS, user, units)
        if wait:
            self._budgets.block(user, wait)
            raise THROTTLES[dialect](self._context.now() + wait)

    def send(self, user: str) -> None:
        """Charge one message to the daily limit."""
        if wait := self._budgets.spend(SENDS, user):
            raise retry_after_429(self._context.now() + wait)

    def reserve_slot(self, user: str, *, inner: bool) -> int:
        """Reserve a concurrency slot and return its weight, needed to release it. *inner* marks a batched request."""
        weight = 1 if inner else INNER_PER_SLOT
        if not self._budgets.is_enabled:
            return 0
        # The limit is undocumented. Measurements that users published in 2026 came to about ten.
        if self._running[user] + weight > CONCURRENT_REQUESTS * INNER_PER_SLOT:
            raise concurrent()
        self._running[user] += weight
        return weight

    def release_slot(self, user: str, weight: int) -> None:
        """Release a concurrency slot."""
        self._running[user] -= weight
