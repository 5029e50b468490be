"""What calls count together where there is one process: in its memory."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import count, islice

from msgspec import Struct

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.kit.upstream.client import Timeouts
from connector_gateway.storage.shared.interface import (
    HEADROOM,
    QUICK_SECONDS,
    STALE,
    UPSTREAM,
    RateLimitWindow,
    ResolvedCharge,
)
from connector_gateway.storage.shared.locks import NamedLocks
from connector_gateway.storage.shared.sliding_window import LedgerEntry, SlidingWindowLog

MOST_LEARNED = 10_000
"""While fewer ledgers than this are kept, idle ones stay that know how quick a third party answers, without entries."""

TIDY_STEP = 5_000
"""Ledgers that are looked at in one go, which takes a few milliseconds."""

TIDY_WITH_NEW = 2
"""Ledgers that are looked at whenever one is added, so that the idle ones never grow in number by themselves."""


class LocalReservation(Struct):
    """A turn, when it comes, and what it takes of the budgets."""

    clock: Clock
    at: float
    wait: float
    taken: Sequence[tuple[SlidingWindowLog, LedgerEntry]] = ()
    number: int = 0
    """Its place in the queue."""

    granted: bool = True

    def expired(self) -> bool:
        """Whether it came so long ago that a request which leaves now might be in a window of others."""
        late = self.clock.now() - self.at
        return any(late > ledger.budget.per_seconds * STALE for ledger, _ in self.taken)

    def left(self) -> None:
        """Count the request from now on, before it is answered: by then, others may have gone in its place."""
        now = self.clock.now()
        if now - self.at > QUICK_SECONDS:
            for ledger, entry in self.taken:
                ledger.move(entry, now)

    async def confirm(self) -> float:
        """Confirm that it has come, or has come again: 0, or the seconds still to wait because others were late."""
        now = self.clock.now()
        # One that had come already goes behind those who have gone since.
        for _, entry in self.taken:
            entry.turn = self.number
        # Timers fire late on a busy machine: what those in front really did counts, not their plan (decision 3).
        due = max(ledger.due(entry, now) for ledger, entry in self.taken)
        if due != self.at:
            self.at = due
            for ledger, entry in self.taken:
                ledger.move(entry, due)
        if due <= now:
            for _, entry in self.taken:
                entry.turn = 0
        return due - now

    def release(self) -> None:
        """Give it back."""
        for ledger, entry in self.taken:
            ledger.remove(entry)

    def record_response(self) -> None:
        """Count the request from the latest instant at which it can have arrived; it was answered now."""
        now = self.clock.now()
        for ledger, entry in self.taken:
            ledger.record_response(entry, now)


class LocalCounters:
    """Counters, turns and locks in the memory of one process."""

    state = "memory"
    unavailable_seconds = None
    """It is always there."""

    counted_locally = 0

    def __init__(self, clock: Clock, timeouts: Timeouts | None = None) -> None:
        self._clock = clock
        self._locks = NamedLocks(timeouts or Timeouts())
        self._ledgers: dict[str, SlidingWindowLog] = {}
        self._round: Iterator[str] = iter(())
        """The names of ledgers that are still to be looked at before it is the first one's turn again."""

        self._closed: dict[str, float] = {}
        """Until when third parties have closed budgets, also those that have no ledger."""

        self._turns = count(1)
        self._added = 0
        """Ledgers that were added since the last ones were looked at."""

    async def consume(self, take: ResolvedCharge) -> RateLimitWindow:
        """Take units now, or none if the window has too few left."""
        self._tidy_for_new()
        now, ledger = self._clock.now(), self._ledger(take)
        at = ledger.earliest(now, take.units)
        if at <= now:
            ledger.insert(LedgerEntry(now, take.units))
        return RateLimitWindow(int(take.budget.limit), int(ledger.remaining_now), at - now)

    async def peek(self, take: ResolvedCharge) -> RateLimitWindow:
        """What is left of the window; nothing is taken."""
        self._tidy_for_new()
        return RateLimitWindow(int(take.budget.limit), int(self._ledger(take).remaining(self._clock.now())))

    async def reserve(self, takes: Sequence[ResolvedCharge], max_wait_seconds: float) -> LocalReservation:
        """Reserve the next turn at which all *takes* fit; nothing is taken if it comes after *max_wait_seconds*."""
        self._tidy_for_new()
        now = self._clock.now()
        wanted = [(self._ledger(take), take.units) for take in takes]
        at = now
        # All budgets have to fit at the same instant. Moving one may break another, so it is tried until none moves.
        while wanted and (later := max([ledger.earliest(now, units, at) for ledger, units in wanted])) > at:
            at = later
        # Refused now, with the true waiting time, instead of after the wait (decision 3).
        if at > now and at - now > max_wait_seconds:
            return LocalReservation(self._clock, at, at - now, granted=False)
        return self._reserved(wanted, now, at)

    def _reserved(self, wanted: Sequence[tuple[SlidingWindowLog, float]], now: float, at: float) -> LocalReservation:
        number = next(self._turns)
        turn = number if at > now else 0
        taken = [(ledger, LedgerEntry(at, units, turn)) for ledger, units in wanted]
        for ledger, entry in taken:
            ledger.insert(entry)
        return LocalReservation(self._clock, at, at - now, taken, number)

    async def try_reserve_idle(self, takes: Sequence[ResolvedCharge]) -> LocalReservation:
        """Reserve a turn that comes at once and leaves ``ROOM`` for calls; otherwise none, and when to ask again."""
        self._tidy_for_new()
        now = self._clock.now()
        wanted = [(self._ledger(take), take) for take in takes]
        spare = max([ledger.earliest(now, with_headroom(take)) for ledger, take in wanted], default=now)
        if spare > now:
            return LocalReservation(self._clock, spare, spare - now, granted=False)
        return self._reserved([(ledger, take.units) for ledger, take in wanted], now, now)

    def count(self, takes: Sequence[ResolvedCharge], number: int) -> None:
        """Count what the shared store let through under *number*, now, whether or not there is room for it here."""
        self._tidy_for_new()
        now = self._clock.now()
        for take in takes:
            ledger = self._ledger(take)
            # Also forgets what has left the window.
            ledger.remaining(now)
            ledger.insert(LedgerEntry(now, take.units, number=number))

    def forget(self, takes: Sequence[ResolvedCharge], number: int) -> None:
        """Forget what was counted under *number*."""
        for take in takes:
            if (ledger := self._ledgers.get(take.name)) is not None:
                ledger.forget_number(number)

    @property
    def names(self) -> list[str]:
        """Whose budgets are known."""
        return list(self._ledgers)

    def gone(self, name: str, late: float) -> tuple[Budget, list[LedgerEntry]] | None:
        """A budget, and what was let through and may be in the window that ends now; None if nothing is known of it.

        A request may have arrived up to *late* seconds after it was let through, at most half a window.
        """
        ledger = self._ledgers.get(name)
        if ledger is None:
            return None
        return ledger.whole, ledger.sent_units(self._clock.now(), min(late, ledger.whole.per_seconds / 2))

    async def close(self, takes: Sequence[ResolvedCharge], seconds: float) -> None:
        """Give no turns of these budgets for so many seconds."""
        self.set_blocked({take.name: seconds for take in takes})

    def set_blocked(self, closed: Mapping[str, float]) -> None:
        """Note for how many seconds budgets are closed, by their names: also those that nobody has asked for here."""
        now = self._clock.now()
        self._closed = {name: until for name, until in self._closed.items() if until > now}
        for name, seconds in closed.items():
            until = self._closed[name] = max(self._closed.get(name, 0.0), now + seconds)
            if (ledger := self._ledgers.get(name)) is not None:
                ledger.closed_until = max(ledger.closed_until, until)

    def reopen(self, prefix: str = UPSTREAM) -> None:
        """Give turns again of the budgets that third parties have closed, if their names begin with *prefix*."""
        self._closed = {name: until for name, until in self._closed.items() if not name.startswith(prefix)}
        for name, ledger in self._ledgers.items():
            if name.startswith(prefix):
                ledger.reopen()

    def blocked_seconds(self, name: str) -> float:
        """For how many seconds a budget is closed still, but for what was only held back here."""
        until = self._closed.get(name)
        return 0.0 if until is None else max(0.0, until - self._clock.now())

    def suspend(self, take: ResolvedCharge, seconds: float) -> None:
        """Give no turns of this budget for so many seconds, which nobody else need know."""
        ledger = self._ledger(take)
        ledger.closed_until = max(ledger.closed_until, self._clock.now() + seconds)

    def lock(self, name: str) -> AbstractAsyncContextManager[None]:
        """Hold the object *name* while inside; ``UpstreamConflict`` if it cannot be had in time."""
        return self._locks.hold(name)

    def _ledger(self, take: ResolvedCharge) -> SlidingWindowLog:
        ledger = self._ledgers.get(take.name)
        if ledger is None:
            self._added += 1
            ledger = self._ledgers[take.name] = SlidingWindowLog(take.budget)
            ledger.closed_until = self._closed.get(take.name, 0.0)
        # Settings may have changed the budget since; what was taken stays counted.
        ledger.budget, ledger.whole = take.budget, take.full_budget or take.budget
        return ledger

    def _tidy_for_new(self) -> None:
        # Before any ledger is taken: an idle one that a request already has in hand would be dropped with its entry.
        if self._added:
            self._tidy(TIDY_WITH_NEW * self._added)
            self._added = 0

    async def evict_idle(self) -> None:
        """Let go of what idle ledgers hold; at most so many at a time, the next ones the next time."""
        self._tidy(TIDY_STEP)

    def _tidy(self, count: int) -> None:
        now, names = self._clock.now(), list(islice(self._round, count))
        if len(names) < count:
            self._round = iter(list(self._ledgers))
        for name in names:
            ledger = self._ledgers.get(name)
            if ledger is not None and ledger.idle(now) and (not ledger.learned or len(self._ledgers) > MOST_LEARNED):
                del self._ledgers[name]


def with_headroom(take: ResolvedCharge) -> float:
    """The units of *take* and the room for calls after it, as far as the budget has so many."""
    return min(take.units + max(1, take.budget.limit * HEADROOM), take.budget.limit)
