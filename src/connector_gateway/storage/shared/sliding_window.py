"""What was taken of one budget, and when: the arithmetic of sliding windows, without a clock of its own."""

from bisect import bisect_left, bisect_right, insort
from operator import attrgetter

from msgspec import Struct

from connector_gateway.kit.upstream.budget import Budget

USUAL_FROM = 10
"""How many answers must come, and a whole window pass, before the quickest answer is trusted."""

GIVEN = 0.003
"""The part of a window that always counts as lateness of an answer, as a margin."""

SLOWER = 1.001
"""The factor by which the quickest time grows with each answer, in case the network has become slower."""


class Lateness:
    """What the quickest answers take; what another takes longer may have been spent on the way there."""

    __slots__ = ("_quickest", "answers")

    def __init__(self) -> None:
        self.answers = 0
        self._quickest = 0.0

    def of(self, took: float, budget: Budget) -> float:
        """By how many seconds a request may have arrived late that was answered after *took* seconds."""
        # Written out, since ``min`` and ``max`` cost three times as much, and every request comes by (decision 73).
        quickest, answers, window = self._quickest, self.answers, budget.per_seconds
        late = took - quickest if answers >= USUAL_FROM and answers >= budget.limit else took
        self.answers = answers + 1
        slower = quickest * SLOWER
        self._quickest = took if answers == 0 or took < slower else slower
        given = min(took, GIVEN * window)
        late = max(late, given)
        return min(window / 2, late)


UNDER_WAY = 64
"""So many of the newest entries are looked through first for one that was answered: most are still under way."""

PRUNE_FROM = 32
"""Entries that have left the window are dropped when there are so many, and as many as those inside it."""


class LedgerEntry(Struct, eq=False):
    """``units`` taken at ``at``, in epoch seconds, in the past or the future."""

    at: float
    units: float
    turn: int = 0
    """Its number in the queue while it waits; 0 once its request may be sent."""

    number: int = 0
    """Under which the shared store counts it too; below 0 where that was told so afterwards, and 0 where it was not."""


_at = attrgetter("at")


class SlidingWindowLog:
    """Entries in order of time; no window of the budget ever holds more than its limit."""

    __slots__ = ("_entries", "_full_until", "_head", "_lateness", "_sum", "budget", "closed_until", "whole")

    def __init__(self, budget: Budget) -> None:
        self.budget = self.whole = budget
        """What is counted by, and what that is a share of, if it is one."""

        self.closed_until = 0.0
        self._entries: list[LedgerEntry] = []
        self._head = 0
        self._sum = 0.0
        self._full_until = (float("inf"), 0.0)
        self._lateness = Lateness()

    def reopen(self) -> None:
        """Let requests through again, although the third party has closed the budget for longer."""
        self.closed_until, self._full_until = 0.0, (float("inf"), 0.0)

    def earliest(self, now: float, units: float, not_before: float = 0.0) -> float:
        """The first instant from *now* and *not_before* on at which *units* fit; *now* must never go back."""
        if units > self.budget.limit:
            raise ValueError(f"{units} units never fit a budget of {self.budget.limit}.")
        self._forget(now)
        at = max(now, not_before, self.closed_until)
        if self._sum + units <= self.budget.limit:
            return at
        # In a long queue each newcomer would search all of it again. So many units do not fit before this instant.
        full_for, until = self._full_until
        if units >= full_for:
            at = max(at, until)
        while (later := self._overflow(at, units)) is not None:
            at = later
        if not_before <= now:
            self._full_until = (units, at)
        return at

    def insert(self, entry: LedgerEntry) -> None:
        """Add *entry*, which must fit at its time."""
        if not self._entries or entry.at >= self._entries[-1].at:
            self._entries.append(entry)
        else:
            insort(self._entries, entry, lo=self._head, key=_at)
        self._sum += entry.units

    def remove(self, entry: LedgerEntry) -> None:
        """Remove *entry*, unless it was dropped already."""
        index = self._index(entry)
        if index is not None:
            del self._entries[index]
            self._sum -= entry.units
            self._full_until = (float("inf"), 0.0)

    def forget_number(self, number: int) -> None:
        """Remove what the shared store counts under *number*."""
        for entry in [entry for entry in self._entries if entry.number == number]:
            self.remove(entry)

    def move(self, entry: LedgerEntry, at: float) -> None:
        """Put *entry* to another time; what is moved later leaves no room that could be used."""
        full_until = self._full_until if at >= entry.at else (float("inf"), 0.0)
        self.remove(entry)
        entry.at = at
        self.insert(entry)
        self._full_until = full_until

    def record_response(self, entry: LedgerEntry, now: float) -> None:
        """Count *entry* from when its request can have arrived at the latest."""
        late = self._lateness.of(now - entry.at, self.budget)
        index = self._index(entry)
        if late > 0 and index is not None:
            del self._entries[index]
            entry.at += late
            insort(self._entries, entry, lo=index, key=_at)

    def due(self, entry: LedgerEntry, now: float) -> float:
        """When *entry* may really go ahead, after those before it in the queue and those that have gone already."""
        room = self.budget.limit - entry.units
        at = max(now, self.closed_until)
        while True:
            first = bisect_right(self._entries, at, lo=self._head, key=self._leaves)
            others = self._entries[first : bisect_right(self._entries, at, lo=first, key=_at)]
            before = [other for other in others if other.turn < entry.turn]
            taken = sum(other.units for other in before)
            if taken <= room:
                return at
            for other in before:
                taken -= other.units
                if taken <= room:
                    at = self._leaves(other)
                    break

    def remaining(self, now: float) -> float:
        """Units that could still be taken in the window that ends at *now*."""
        self._forget(now)
        return self.remaining_now

    @property
    def remaining_now(self) -> float:
        """The same for the window that was asked about last."""
        return max(0.0, self.budget.limit - self._sum)

    def sent_units(self, now: float, late: float = 0.0) -> list[LedgerEntry]:
        """What was let through and may be in the window that ends at *now*, if requests arrive *late* seconds after."""
        self._forget(now)
        first = bisect_right(self._entries, now - late, hi=self._head, key=self._leaves)
        return [entry for entry in self._entries[first:] if entry.turn == 0]

    @property
    def learned(self) -> bool:
        """Whether it knows how quick answers can be."""
        return self._lateness.answers > 0

    def idle(self, now: float) -> bool:
        """Whether nothing entered here matters any more; then it holds no entries."""
        self._forget(now)
        if self._head < len(self._entries):
            return False
        self._entries, self._head, self._sum = [], 0, 0.0
        return now >= self.closed_until

    def _overflow(self, at: float, units: float) -> float | None:
        """A later instant to try if *units* at *at* overflow some window that would hold them, otherwise None."""
        per_seconds, room, entries = self.budget.per_seconds, self.budget.limit - units, self._entries
        first = bisect_right(entries, at, lo=self._head, key=self._leaves)
        middle = bisect_right(entries, at, lo=first, key=_at)
        taken = sum(entry.units for entry in entries[first:middle])
        if taken > room:
            while taken > room:
                taken -= entries[first].units
                first += 1
            return self._leaves(entries[first - 1])
        for last in entries[middle : bisect_left(entries, at + per_seconds, lo=middle, key=_at)]:
            taken += last.units
            while self._leaves(entries[first]) <= last.at:
                taken -= entries[first].units
                first += 1
            if taken > room:
                return last.at
        return None

    def _index(self, entry: LedgerEntry) -> int | None:
        entries, at = self._entries, entry.at
        newest = len(entries) - UNDER_WAY
        # Of a budget of thousands, halving all of it takes twice as long as halving what is under way (decision 73).
        lo = newest if newest > self._head and entries[newest].at < at else self._head
        index = bisect_left(entries, at, lo=lo, key=_at)
        while index < len(entries) and entries[index] is not entry:
            index += 1
        return index if index < len(entries) else None

    def _forget(self, now: float) -> None:
        """Leave entries out of account that have left the window which ends at *now*, and drop them now and then."""
        entries, per_seconds, head = self._entries, self.budget.per_seconds, self._head
        # ``_leaves``, written out: every entry comes by here, and each call looks.
        while head < len(entries) and entries[head].at + per_seconds <= now:
            self._sum -= entries[head].units
            head += 1
        self._head = head
        if head >= PRUNE_FROM and 2 * head >= len(entries):
            # Half a window longer, since a request may arrive so much later than it was let through.
            dropped = bisect_right(entries, now - per_seconds / 2, hi=head, key=self._leaves)
            del entries[:dropped]
            self._head = head - dropped

    def _leaves(self, entry: LedgerEntry) -> float:
        """When *entry* is no longer in the window; always said this way, since a difference would round differently."""
        return entry.at + self.budget.per_seconds
