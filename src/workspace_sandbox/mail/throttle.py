"""What each user of Gmail may still ask for: units a minute, requests at once, messages a day."""

from collections import Counter

from workspace_sandbox.kit.stage import EmulatorContext
from workspace_sandbox.kit.throttling import Budget, Budgets
from workspace_sandbox.mail.refusals import THROTTLES, concurrent, retry_after_429

UNITS_PER_MINUTE = 6_000
SENDS_PER_DAY = 2_000
UNITS = Budget("units_per_minute", 60.0)
SENDS = Budget("sends_per_day", 86_400.0)
"""The day of sending is any 24 hours, not a calendar day (Workspace Admin Help, sending limits)."""

CONCURRENT_REQUESTS = 10
INNER_PER_SLOT = 5
"""Calls inside a batch that together count as one request at once: 25 are fine, a cold hundred is not."""

PUSHED_BY_SECONDS = 1.0
"""How much later the named time moves with every request sent before it."""


class QuotaCounter:
    """Counts per user; without the knob ``limits`` it counts nothing."""

    def __init__(self, stage: EmulatorContext) -> None:
        self._stage = stage
        self._budgets = Budgets(stage)
        self._running: Counter[str] = Counter()

    def charge(self, user: str, units: int) -> None:
        """Spend *units* of this minute, or refuse in the dialect that the knob ``throttle`` names."""
        dialect = str(self._stage.knobs["throttle"])
        # Who asks before the named time is made to wait longer: several users reported it, no page of Google says it.
        closed = self._budgets.closed(user) if dialect.startswith("retry_after") else 0.0
        wait = closed + PUSHED_BY_SECONDS if closed else self._budgets.take(UNITS, user, units)
        if wait:
            self._budgets.close(user, wait)
            raise THROTTLES[dialect](self._stage.now() + wait)

    def send(self, user: str) -> None:
        """Count one message sent today."""
        if wait := self._budgets.take(SENDS, user):
            raise retry_after_429(self._stage.now() + wait)

    def enter(self, user: str, *, inner: bool) -> int:
        """Begin a request (*inner*: inside a batch); what is returned goes to ``leave``."""
        weight = 1 if inner else INNER_PER_SLOT
        if not self._budgets.count:
            return 0
        # No page has the number. Measurements that users published in 2026 came to about ten at once.
        if self._running[user] + weight > CONCURRENT_REQUESTS * INNER_PER_SLOT:
            raise concurrent()
        self._running[user] += weight
        return weight

    def leave(self, user: str, weight: int) -> None:
        """End a request."""
        self._running[user] -= weight
