"""What each process tells a shared store that has lost its data, so that it soon counts in full again (decision 80)."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from secrets import token_hex
from typing import NamedTuple, Protocol

from connector_gateway.kit.budget import Budget
from connector_gateway.kit.clock import Clock
from connector_gateway.storage.ledger import LedgerEntry
from connector_gateway.storage.memory import InMemory
from connector_gateway.storage.shared import StoreAway, Take

AGAIN_SECONDS = 1.0
"""After which it is asked again what a store answered that did not know all: by then each living process has told."""

LATE_SECONDS = 0.5
"""How much later than it was let through a request may have arrived, at most half a window: only the store knew."""

STEP = 200
"""Requests that are told at once: the store and this process do something else in between."""

AT_ONCE = 32
"""Budgets that are told of at once, so that the way to the store is not waited for of each."""


class Loss(NamedTuple):
    """Of one part of what is counted: when its data was lost, by which the loss is known, and since when all is."""

    at: int
    since: int


@dataclass(frozen=True)
class Peers:
    """Which processes live or lived."""

    process_id: str
    """This one."""

    watched_seconds: float
    """For how long this one has known who lives."""

    silent: Mapping[str, float]
    """The others, and how many seconds ago each can have sent something at the latest."""


class Looked(NamedTuple):
    """What a look at the store shows."""

    lost: Mapping[str, Loss]
    """By where it is kept."""

    closed: Mapping[str, float]
    """For how many seconds budgets are closed still, by their names."""


class Sent(NamedTuple):
    """A request, as the store is told of it."""

    ago: float
    """Seconds since it can have arrived at the latest."""

    name: str
    units: float
    supposed: bool
    """Whether the store counts it already where it lost its data: it supposes that its window was used up."""


class Forgetful(Protocol):
    """A store that may lose its data."""

    def tag(self, name: str) -> str:
        """Where *name* is kept."""
        ...

    async def look(self) -> Looked:
        """When data was lost, and what is closed."""
        ...

    async def close(self, takes: Sequence[Take], seconds: float) -> None:
        """Give no turns of these budgets for so many seconds."""
        ...

    async def recount(self, name: str, budget: Budget, sent: Sequence[Sent]) -> None:
        """Count what was sent, unless it is counted already."""
        ...

    async def told(self, tag: str, peers: Peers) -> None:
        """Count on it that this process has told all that it sent; *peers* says who else may have sent something."""
        ...


class Recount:
    """Tells the store what this process has sent: all of it after a loss, otherwise what was used without the store."""

    def __init__(self, store: Forgetful, local: InMemory, clock: Clock, peers: Callable[[], Peers | None]) -> None:
        self._store = store
        self._local = local
        self._clock = clock
        self._peers = peers
        self._looked: Mapping[str, Loss] = {}
        self._recounted: dict[str, int] = {}
        """After which loss the store was told of each part what was sent."""

        self._ended: dict[str, int] = {}
        """After which loss it was told that this was all."""

        self._owed: dict[str, None] = {}
        """Budgets that were used or closed without the store, which does not know it yet."""

        self._token = token_hex(4)
        self._numbers = count(1)
        self.changes = 0
        """How often it changed what the store knows, as far as this process has seen."""

    def owe(self, takes: Iterable[Take]) -> None:
        """Note that these budgets were used or closed without the store."""
        for take in takes:
            self._owed[take.name] = None

    async def tell(self) -> None:
        """Tell what the store does not know; ``StoreAway`` if it cannot be told."""
        looked, closed = await self._store.look()
        # Third parties close budgets to all processes, and each of them may have to go on without the store.
        self._local.keep_closed(closed)
        if looked != self._looked:
            self.changes += 1
        self._looked = looked
        await self._pay()
        lost = {tag: loss.at for tag, loss in looked.items() if loss.at}
        await self._tell_all({tag for tag, at in lost.items() if self._recounted.get(tag) != at})
        self._recounted = lost
        peers = self._peers()
        if peers is not None:
            for tag in [tag for tag, at in lost.items() if self._ended.get(tag) != at]:
                await self._store.told(tag, peers)
                self._ended[tag] = lost[tag]

    async def _pay(self) -> None:
        owed, self._owed = self._owed, {}
        try:
            for name in owed:
                await self._tell_of(name, lost=False)
        except StoreAway:
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
        if (seconds := self._local.closed_seconds(name)) > 0:
            await self._store.close([Take(name, budget, 0)], seconds)
        untold = [entry for entry in entries if lost or entry.number <= 0]
        for first in range(0, len(untold), STEP):
            sent = [self._sent(entry, budget) for entry in untold[first : first + STEP]]
            await self._store.recount(name, budget, sent)

    def _sent(self, entry: LedgerEntry, budget: Budget) -> Sent:
        # The name is the same however often it is told, and that under which the store had let it through.
        if entry.number == 0:
            entry.number = -next(self._numbers)
        name = f"g{entry.number}" if entry.number > 0 else f"s{self._token}{entry.number}"
        late, ago = min(LATE_SECONDS, budget.per_seconds / 2), self._clock.now() - entry.at
        # The window that was lost holds no more than its limit; what may be of the one before takes no place in it.
        # Of what the store let through this process heard a little later, but not as late as a request may arrive.
        supposed = entry.number > 0 and ago < budget.per_seconds - late
        return Sent(max(0.0, ago - late), name, entry.units, supposed)
