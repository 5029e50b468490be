"""Sliding-window log of one budget: its arithmetic, without a clock."""

from bisect import bisect_left, bisect_right, insort
from itertools import islice
from math import ceil
from operator import attrgetter
from typing import Any

from msgspec import Struct

from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.budget_queue import BudgetQueue
from connector_gateway.storage.shared.interface import ResolvedCharge

MIN_SAMPLES = 5
"""The number of responses after which, and after a whole window, response times are trusted."""

RETAINED = 0.99
"""The factor by which each response reduces the weight of the earlier ones in the mean."""

DOUBT = 40.0
"""A response can be quicker than the quickest of *n* by this times their mean distance from it, divided by *n*.

If response times vary, none of a few may have been as short as the network allows.
"""

QUICKEST_GROWTH = 0.001
"""The part of its distance from the mean by which the quickest time grows with each response.

The network can become slower.
"""

MIN_DELAY_PART = 0.003
"""The part of a window that always counts as delay, as a margin."""


class SendDelay:
    """The quickest possible response time. Time beyond it may have been spent on the way to the vendor."""

    __slots__ = ("_mean", "_quickest", "_weight", "responses")

    def __init__(self) -> None:
        self.responses = 0
        self._mean = 0.0
        self._quickest = 0.0
        self._weight = 0.0

    def estimate(self, response_seconds: float, budget: Budget) -> float:
        """Return the seconds by which a request may have arrived late if its response took *response_seconds*."""
        # Written out, because ``min`` and ``max`` cost three times as much, and every request passes here.
        responses, quickest, mean = self.responses, self._quickest, self._mean
        late, spread, weight = response_seconds, mean - quickest, self._weight
        if responses >= MIN_SAMPLES and responses >= budget.limit:
            possible = quickest - spread * DOUBT / weight
            if possible > 0:
                late -= possible
        self.responses = responses + 1
        self._weight = weight = weight * RETAINED + 1
        self._mean = mean + (response_seconds - mean) / weight
        slowed = quickest + spread * QUICKEST_GROWTH
        self._quickest = slowed if responses and slowed < response_seconds else response_seconds
        margin = budget.per_seconds * MIN_DELAY_PART
        if response_seconds < margin:
            return response_seconds
        if late < margin:
            return margin
        longest = budget.per_seconds / 2
        if late > longest:
            return longest
        return late


def max_delay(budget: Budget) -> float:
    """Return the maximum seconds between letting a request through and its arrival for which budgets allow."""
    return budget.per_seconds / 2


RECENT_ENTRIES = 64
"""The number of newest entries that are searched first for a request with a response, because most are in flight."""

PRUNE_FROM = 32
"""The number of expired entries from which they are dropped, if they are at least as many as the others."""


class LogEntry(Struct, eq=False):
    """``units`` taken at ``at``, in epoch seconds."""

    at: float
    units: float
    number: int = 0
    """The number under which the shared store also counts it. Below 0 if that was reported afterwards, 0 if not at all.
    """


_at = attrgetter("at")


class SlidingWindowLog:
    """Entries in order of time. No window of the budget ever holds more than its limit."""

    __slots__ = ("_entries", "_head", "_send_delay", "_sum", "blocked_until", "budget", "full_budget", "waiting")

    def __init__(self, budget: Budget) -> None:
        self.budget = self.full_budget = budget
        """The budget to count by, and the full budget, if the former is a share of it."""

        self.blocked_until = 0.0
        self.waiting: BudgetQueue | None = None
        """The requests that wait for this budget, or None if none did."""

        self._entries: list[LogEntry] = []
        self._head = 0
        self._sum = 0.0
        self._send_delay = SendDelay()

    def earliest(self, now: float, units: float) -> float:
        """Return the first time from *now* on by which *units* can have been sent in order. *now* must never decrease.

        They can be those of several requests, and more than the limit.
        """
        self._expire(now)
        limit = self.budget.limit
        missing = self._sum + units - limit
        # Written out for the usual case, because every request passes here.
        if missing <= 0 and self.blocked_until <= now:
            return now
        start = max(now, self.blocked_until)
        if missing <= 0:
            return start
        entries, first = self._entries, self._head
        if start > now:
            first = bisect_right(entries, start, lo=first, key=self._leaves_at)
            missing = sum([entry.units for entry in entries[first:]]) + units - limit
            if missing <= 0:
                return start
        # Each full window lets through the limit. The remainder fits once that many units have left the window.
        windows = ceil(missing / limit) - 1
        missing -= windows * limit
        for entry in islice(entries, first, None):
            missing -= entry.units
            if missing <= 0:
                return self._leaves_at(entry) + windows * self.budget.per_seconds
        return start + (windows + 1) * self.budget.per_seconds

    def units_before(self, key: Any, now: float) -> tuple[float, float]:
        """Return the units that wait for earlier calls than *key*, and those that these calls are expected to use."""
        waiting = self.waiting
        return (0.0, 0.0) if waiting is None or waiting.is_empty else waiting.count_before(key, now)

    def has_after(self, key: Any) -> bool:
        """Return whether a request of a later call than *key* waits or is expected."""
        return self.waiting is not None and self.waiting.has_after(key)

    def take(self, key: Any, charge: ResolvedCharge, now: float) -> LogEntry:
        """Add the units of *charge* for the call of *key*."""
        entry = LogEntry(now, charge.units)
        self.insert(entry)
        if charge.expected_units > 0 or not (self.waiting is None or self.waiting.is_empty):
            self.get_waiting().expect(key, charge.expected_units, now)
        return entry

    def get_waiting(self) -> BudgetQueue:
        """Return the requests that wait for this budget."""
        if self.waiting is None:
            self.waiting = BudgetQueue()
        return self.waiting

    def insert(self, entry: LogEntry) -> None:
        """Add *entry*, which must fit at its time."""
        entries = self._entries
        if not entries or entry.at >= entries[-1].at:
            entries.append(entry)
        else:
            insort(entries, entry, lo=self._head, key=_at)
        self._sum += entry.units

    def remove(self, entry: LogEntry) -> None:
        """Remove *entry*, unless it was dropped already."""
        index = self._find(entry)
        if index is not None:
            del self._entries[index]
            self._sum -= entry.units

    def forget_number(self, number: int) -> None:
        """Remove the entries that the shared store counts under *number*."""
        for entry in [entry for entry in self._entries if entry.number == number]:
            self.remove(entry)

    def move(self, entry: LogEntry, at: float) -> None:
        """Move *entry* to another time."""
        self.remove(entry)
        entry.at = at
        self.insert(entry)

    def record_end(self, entry: LogEntry, now: float, *, responded: bool) -> None:
        """Count *entry* from the latest time at which its request can have arrived. It has ended *now*."""
        late = self._send_delay.estimate(now - entry.at, self.budget) if responded else max_delay(self.budget)
        index = self._find(entry)
        if late > 0 and index is not None:
            del self._entries[index]
            entry.at += late
            insort(self._entries, entry, lo=index, key=_at)

    def remaining(self, now: float) -> float:
        """Return the units that are left in the window that ends at *now*."""
        self._expire(now)
        return self.remaining_now

    @property
    def remaining_now(self) -> float:
        """The units that are left in the window of the last query."""
        return max(0.0, self.budget.limit - self._sum)

    def sent_units(self, now: float, late: float = 0.0) -> list[LogEntry]:
        """Return the sent entries that may be in the window that ends at *now*.

        Requests may arrive up to *late* seconds after their entry.
        """
        self._expire(now)
        first = bisect_right(self._entries, now - late, hi=self._head, key=self._leaves_at)
        return self._entries[first:]

    @property
    def has_samples(self) -> bool:
        """Whether it has measured response times."""
        return self._send_delay.responses > 0

    def drop_if_idle(self, now: float) -> bool:
        """Return True if no entry or block is relevant any more. All entries are dropped then."""
        self._expire(now)
        if self._head < len(self._entries):
            return False
        self._entries, self._head, self._sum = [], 0, 0.0
        return now >= self.blocked_until and not self.waiting

    def _find(self, entry: LogEntry) -> int | None:
        entries, at = self._entries, entry.at
        newest = len(entries) - RECENT_ENTRIES
        # For a budget of thousands, bisecting all entries takes twice as long as bisecting those in flight.
        lo = newest if newest > self._head and entries[newest].at < at else self._head
        index = bisect_left(entries, at, lo=lo, key=_at)
        while index < len(entries) and entries[index] is not entry:
            index += 1
        return index if index < len(entries) else None

    def _expire(self, now: float) -> None:
        """Subtract entries that have left the window that ends at *now*, and drop them periodically."""
        entries, per_seconds, head = self._entries, self.budget.per_seconds, self._head
        # ``_leaves_at``, written out, because every query passes here.
        if head == len(entries) or entries[head].at + per_seconds > now:
            return
        while head < len(entries) and entries[head].at + per_seconds <= now:
            self._sum -= entries[head].units
            head += 1
        self._head = head
        if head >= PRUNE_FROM and 2 * head >= len(entries):
            # Retained for another half window, because a request can arrive that much later than it was granted.
            dropped = bisect_right(entries, now - per_seconds / 2, hi=head, key=self._leaves_at)
            del entries[:dropped]
            self._head = head - dropped

    def _leaves_at(self, entry: LogEntry) -> float:
        """Return when *entry* leaves the window.

        Always computed as a sum, because a difference would round differently.
        """
        return entry.at + self.budget.per_seconds
