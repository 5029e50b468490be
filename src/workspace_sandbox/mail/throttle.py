"""Counts what each user may still ask for: units a minute, requests at once, messages a day."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from workspace_sandbox.kit.clock import has_passed
from workspace_sandbox.kit.throttling import SlidingWindow
from workspace_sandbox.mail.refusals import THROTTLES, concurrent, retry_after_429

UNITS_PER_MINUTE = 6_000
SENDS_PER_DAY = 2_000
DAY_SECONDS = 86_400.0
CONCURRENT_REQUESTS = 10
INNER_PER_SLOT = 5
"""Calls inside a batch that together count as one request at once: 25 are fine, a cold hundred is not."""

PUSHED_BY_SECONDS = 1.0
"""How much later the named time moves with every request sent before it."""


class Ledger:
    """Counts per user; without the knob ``limits`` it counts nothing."""

    def __init__(self, now: Callable[[], float], knobs: Mapping[str, Any]) -> None:
        self._now = now
        self._knobs = knobs
        self._units: dict[str, SlidingWindow] = {}
        self._sends: dict[str, SlidingWindow] = {}
        self._closed: dict[str, tuple[float, float]] = {}
        """Since when and until when a user was told to wait."""

        self._running: Counter[str] = Counter()

    def charge(self, user: str, units: int) -> None:
        """Spend *units* of this minute, or refuse in the dialect that the knob ``throttle`` names."""
        if not self._knobs["limits"]:
            return
        now, dialect = self._now(), str(self._knobs["throttle"])
        window = self._units.setdefault(user, SlidingWindow(UNITS_PER_MINUTE, 60.0))
        window.limit = self._knobs["units_per_minute"]
        since, closed_until = self._closed.get(user, (now, now))
        # Who asks before the named time is made to wait longer: several users reported it, no page of Google says it.
        if dialect.startswith("retry_after") and not has_passed(closed_until - since, since, now):
            until = closed_until + PUSHED_BY_SECONDS
        else:
            wait = window.take(now, units)
            if not wait:
                return
            until = now + wait
        self._closed[user] = now, until
        raise THROTTLES[dialect](until)

    def send(self, user: str) -> None:
        """Count one message sent today."""
        if not self._knobs["limits"]:
            return
        window = self._sends.setdefault(user, SlidingWindow(SENDS_PER_DAY, DAY_SECONDS))
        window.limit = self._knobs["sends_per_day"]
        # The day of sending is any 24 hours, not a calendar day (Workspace Admin Help, sending limits).
        wait = window.take(self._now())
        if wait:
            raise retry_after_429(self._now() + wait)

    def enter(self, user: str, *, inner: bool) -> int:
        """Begin a request (*inner*: inside a batch); what is returned goes to ``leave``."""
        weight = 1 if inner else INNER_PER_SLOT
        if not self._knobs["limits"]:
            return 0
        # No page has the number. Measurements that users published in 2026 came to about ten at once.
        if self._running[user] + weight > CONCURRENT_REQUESTS * INNER_PER_SLOT:
            raise concurrent()
        self._running[user] += weight
        return weight

    def leave(self, user: str, weight: int) -> None:
        """End a request."""
        self._running[user] -= weight
