"""What was taken of one budget, and when: the arithmetic of sliding windows, with no clock of its own."""

from bisect import bisect_left, bisect_right, insort
from dataclasses import dataclass, field

from connector_gateway.kit.budget import Budget

PRUNE_FROM = 1024


@dataclass(slots=True, order=True)
class Entry:
    """``units`` taken at ``at``, in epoch seconds, past or to come."""

    at: float
    units: float = field(compare=False)


class Ledger:
    """Entries in order of time, such that no window of the budget holds more than its limit."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self.closed_until = 0.0
        self._entries: list[Entry] = []
        self._head = 0
        self._sum = 0.0
        self._full_until = (float("inf"), 0.0)

    def earliest(self, now: float, units: float, not_before: float = 0.0) -> float:
        """The first instant from *now* and *not_before* on at which *units* fit; *now* must never go back."""
        if units > self.budget.limit:
            raise ValueError(f"{units} units never fit a budget of {self.budget.limit}.")
        self._forget(now - self.budget.per_seconds)
        at = max(now, not_before, self.closed_until)
        if self._sum + units <= self.budget.limit:
            return at
        full_for, until = self._full_until
        if units >= full_for:
            at = max(at, until)
        while (later := self._overflow(at, units)) is not None:
            at = later
        if not_before <= now:
            self._full_until = (units, at)
        return at

    def insert(self, entry: Entry) -> None:
        """Enter *entry*, which must fit where it is."""
        insort(self._entries, entry, lo=self._head)
        self._sum += entry.units

    def remove(self, entry: Entry) -> None:
        """Give back what *entry* took; forgotten ones have nothing to give."""
        index = bisect_left(self._entries, entry, lo=self._head)
        while index < len(self._entries) and self._entries[index] is not entry:
            index += 1
        if index < len(self._entries):
            del self._entries[index]
            self._sum -= entry.units
            self._full_until = (float("inf"), 0.0)

    def due(self, entry: Entry, now: float) -> float:
        """When *entry* may really go ahead, given how late those before it really went; *now* or a little later."""
        room = self.budget.limit - entry.units
        at = max(now, self.closed_until)
        for earlier in reversed(self._entries[self._head : bisect_left(self._entries, entry, lo=self._head)]):
            if earlier.at <= at - self.budget.per_seconds:
                break
            room -= earlier.units
            if room < 0:
                return max(at, earlier.at + self.budget.per_seconds)
        return at

    def remaining(self, now: float) -> float:
        """Units that could still be taken in the window that ends at *now*."""
        self._forget(now - self.budget.per_seconds)
        return max(0.0, self.budget.limit - self._sum)

    def idle(self, now: float) -> bool:
        """Whether nothing entered here matters any more."""
        self._forget(now - self.budget.per_seconds)
        return self._head == len(self._entries) and now >= self.closed_until

    def _overflow(self, at: float, units: float) -> float | None:
        """A later instant to try if *units* at *at* overflow some window that would hold them, otherwise None."""
        per_seconds, room, entries = self.budget.per_seconds, self.budget.limit - units, self._entries
        first = bisect_right(entries, at - per_seconds, key=_at)
        middle = bisect_right(entries, at, lo=first, key=_at)
        taken = sum(entry.units for entry in entries[first:middle])
        if taken > room:
            while taken > room:
                taken -= entries[first].units
                first += 1
            return entries[first - 1].at + per_seconds
        for last in entries[middle : bisect_left(entries, at + per_seconds, lo=middle, key=_at)]:
            taken += last.units
            while entries[first].at <= last.at - per_seconds:
                taken -= entries[first].units
                first += 1
            if taken > room:
                return last.at
        return None

    def _forget(self, until: float) -> None:
        """Leave entries up to *until* out of account, and drop them now and then."""
        while self._head < len(self._entries) and self._entries[self._head].at <= until:
            self._sum -= self._entries[self._head].units
            self._head += 1
        if self._head >= PRUNE_FROM:
            del self._entries[: self._head]
            self._head = 0


def _at(entry: Entry) -> float:
    return entry.at
