"""What each process tells a shared store that does not know it: requests sent without it, or lost (decision 80)."""

import asyncio
from collections.abc import Iterable, Mapping
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, NamedTuple

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.interface import ResolvedCharge, StoreUnavailable
from connector_gateway.storage.shared.memory import LocalCounters
from connector_gateway.storage.shared.sliding_window import LedgerEntry

if TYPE_CHECKING:
    from connector_gateway.storage.shared.valkey import ValkeyCounters

LATE_SECONDS = 0.5
"""How much later than it was let through a request may have arrived, at most half a window: only the store knew."""

STEP = 200
"""Requests that are told at once: the store and this process do something else in between."""

AT_ONCE = 32
"""Budgets that are told of at once, so that the way to the store is not waited for of each."""


class LossState(NamedTuple):
    """What a look at the store shows."""

    lost: Mapping[str, int]
    """When data was lost, by where it is kept; 0 where none was."""

    closed: Mapping[str, float]
    """For how many seconds budgets are closed still, by their names."""


class SentRequest(NamedTuple):
    """A request, as the store is told of it."""

    ago: float
    """Seconds since it can have arrived at the latest."""

    name: str
    units: float


class CountRecovery:
    """Tells the store what this process has sent: all of it after a loss, otherwise what was used without the store."""

    def __init__(self, store: "ValkeyCounters", local: LocalCounters, clock: Clock) -> None:
        self._store = store
        self._local = local
        self._clock = clock
        self._recounted: Mapping[str, int] = {}
        """After which loss the store was told of each part what was sent."""

        self._owed: dict[str, None] = {}
        """Budgets that were used or closed without the store, which does not know it yet."""

        self._token = token_hex(4)
        self._numbers = count(1)

    def mark_dirty(self, takes: Iterable[ResolvedCharge]) -> None:
        """Note that these budgets were used or closed without the store."""
        for take in takes:
            self._owed[take.name] = None

    async def replay(self) -> None:
        """Tell what the store does not know; ``StoreAway`` if it cannot be told."""
        looked, closed = await self._store.read_loss_state()
        # Third parties close budgets to all processes, and each of them may have to go on without the store.
        self._local.set_blocked(closed)
        await self._pay()
        await self._tell_all({tag for tag, at in looked.items() if at and self._recounted.get(tag) != at})
        self._recounted = looked

    async def _pay(self) -> None:
        owed, self._owed = self._owed, {}
        try:
            for name in owed:
                await self._tell_of(name, lost=False)
        except StoreUnavailable:
            self._owed = owed | self._owed
            raise

    async def _tell_all(self, tags: set[str]) -> None:
        if not tags:
            return
        names = self._local.names
        for first in range(0, len(names), AT_ONCE):
            some = [name for name in names[first : first + AT_ONCE] if self._store.tag(name) in tags]
            await asyncio.gather(asyncio.sleep(0), *(self._tell_of(name, lost=True) for name in some))

    async def _tell_of(self, name: str, *, lost: bool) -> None:
        found = self._local.gone(name, LATE_SECONDS)
        if found is None:
            return
        budget, entries = found
        if (seconds := self._local.blocked_seconds(name)) > 0:
            await self._store.close([ResolvedCharge(name, budget, 0)], seconds)
        untold = [entry for entry in entries if lost or entry.number <= 0]
        for first in range(0, len(untold), STEP):
            sent = [self._sent(entry, budget) for entry in untold[first : first + STEP]]
            await self._store.recount(name, budget, sent)

    def _sent(self, entry: LedgerEntry, budget: Budget) -> SentRequest:
        # The name is the same however often it is told, and that under which the store had let it through.
        if entry.number == 0:
            entry.number = -next(self._numbers)
        name = f"g{entry.number}" if entry.number > 0 else f"s{self._token}{entry.number}"
        # Of what the store let through this process heard a little later, but not as late as a request may arrive.
        late = min(LATE_SECONDS, budget.per_seconds / 2)
        return SentRequest(max(0.0, self._clock.now() - entry.at - late), name, entry.units)
