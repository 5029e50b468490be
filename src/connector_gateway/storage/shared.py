"""What several calls must count together: keys' windows, upstream budgets, and who writes to an object.

One small interface; this page has its implementation in the memory of one process.
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from itertools import count, islice
from typing import Protocol

from connector_gateway.kit.budget import Budget
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.upstream import Timeouts
from connector_gateway.storage.ledger import Ledger, LedgerEntry
from connector_gateway.storage.locks import Locks

MOST_LEARNED = 10_000
"""While fewer ledgers than this are kept, idle ones stay that know how quick a third party answers, without entries."""

TIDY_STEP = 5_000
"""Ledgers that are looked at in one go, which takes a few milliseconds."""

TIDY_WITH_NEW = 2
"""Ledgers that are looked at whenever one is added, so that the idle ones never grow in number by themselves."""


@dataclass(slots=True)
class Take:
    """``units`` to be taken of ``budget``; ``name`` tells whose it is."""

    name: str
    budget: Budget
    units: float = 1


@dataclass(slots=True)
class Slot:
    """A turn: the instant at which it comes, and what it takes (nothing if it would come too late)."""

    at: float
    wait: float
    """Seconds until then, when it was given."""

    taken: Sequence[tuple[Ledger, LedgerEntry]] = ()


@dataclass(slots=True)
class Allowance:
    """What a window holds after something was taken of it, or, with ``retry_after`` above 0, could not be."""

    limit: int
    remaining: int
    retry_after: float = 0.0


class Shared(Protocol):
    """Counters, turns and locks that hold for everyone who shares them."""

    async def spend(self, take: Take) -> Allowance:
        """Take now or not at all."""
        ...

    async def peek(self, take: Take) -> Allowance:
        """What is left, taking nothing."""
        ...

    async def reserve(self, takes: Sequence[Take], deadline: float) -> Slot:
        """The next turn at which all *takes* fit; it takes nothing if that is only after *deadline*."""
        ...

    async def confirm(self, slot: Slot) -> float:
        """0 when the turn of *slot* has come, otherwise the seconds still to wait because others were late."""
        ...

    async def release(self, slot: Slot) -> None:
        """Give a turn back that will not be used."""
        ...

    async def answered(self, slot: Slot) -> None:
        """Count what *slot* took from when its request can have arrived at the latest: it was answered now."""
        ...

    async def close(self, takes: Sequence[Take], until: float) -> None:
        """Give no turns of these budgets before *until*."""
        ...

    def exclusive(self, name: str) -> AbstractAsyncContextManager[None]:
        """Hold *name* alone while inside; ``UpstreamConflict`` where it cannot be had in time."""
        ...

    async def tidy(self) -> None:
        """Let go of what is not used any more; asked for now and then, and quick each time."""
        ...


class InMemory:
    """Shared by everything in one process."""

    def __init__(self, clock: Clock, timeouts: Timeouts | None = None) -> None:
        self._clock = clock
        self._locks = Locks(timeouts or Timeouts())
        self._ledgers: dict[str, Ledger] = {}
        self._round: Iterator[str] = iter(())
        """The names of ledgers that are still to be looked at before it is the first one's turn again."""

        self._turns = count(1)

    async def spend(self, take: Take) -> Allowance:
        """Take now or not at all."""
        now, ledger = self._clock.now(), self._ledger(take)
        at = ledger.earliest(now, take.units)
        if at <= now:
            ledger.insert(LedgerEntry(now, take.units))
        return Allowance(int(take.budget.limit), int(ledger.remaining(now)), at - now)

    async def peek(self, take: Take) -> Allowance:
        """What is left, taking nothing."""
        return Allowance(int(take.budget.limit), int(self._ledger(take).remaining(self._clock.now())))

    async def reserve(self, takes: Sequence[Take], deadline: float) -> Slot:
        """The next turn at which all *takes* fit; it takes nothing if that is only after *deadline*."""
        now = self._clock.now()
        wanted = [(self._ledger(take), take.units) for take in takes]
        at = now
        while wanted and (later := max([ledger.earliest(now, units, at) for ledger, units in wanted])) > at:
            at = later
        if at > max(now, deadline):
            return Slot(at, at - now)
        turn = next(self._turns) if at > now else 0
        taken = [(ledger, LedgerEntry(at, units, turn)) for ledger, units in wanted]
        for ledger, entry in taken:
            ledger.insert(entry)
        return Slot(at, at - now, taken)

    async def confirm(self, slot: Slot) -> float:
        """0 when the turn of *slot* has come, otherwise the seconds still to wait because others were late."""
        now = self._clock.now()
        due = max(ledger.due(entry, now) for ledger, entry in slot.taken)
        if due != slot.at:
            slot.at = due
            for ledger, entry in slot.taken:
                ledger.remove(entry)
                entry.at = due
                ledger.insert(entry)
        if due <= now:
            for _, entry in slot.taken:
                entry.turn = 0
        return due - now

    async def release(self, slot: Slot) -> None:
        """Give a turn back that will not be used."""
        for ledger, entry in slot.taken:
            ledger.remove(entry)

    async def answered(self, slot: Slot) -> None:
        """Count what *slot* took from when its request can have arrived at the latest: it was answered now."""
        now = self._clock.now()
        for ledger, entry in slot.taken:
            ledger.answered(entry, now)

    async def close(self, takes: Sequence[Take], until: float) -> None:
        """Give no turns of these budgets before *until*."""
        for take in takes:
            ledger = self._ledger(take)
            ledger.closed_until = max(ledger.closed_until, until)

    def exclusive(self, name: str) -> AbstractAsyncContextManager[None]:
        """Hold *name* alone while inside; ``UpstreamConflict`` where it cannot be had in time."""
        return self._locks.hold(name)

    def _ledger(self, take: Take) -> Ledger:
        ledger = self._ledgers.get(take.name)
        if ledger is None:
            self._tidy(TIDY_WITH_NEW)
            ledger = self._ledgers[take.name] = Ledger(take.budget)
        ledger.budget = take.budget
        return ledger

    async def tidy(self) -> None:
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
