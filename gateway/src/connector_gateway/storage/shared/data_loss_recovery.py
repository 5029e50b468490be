"""Recovery of the shared store's counts: each process reports the requests that the store does not know.

They were sent while the store was unavailable, or lost by it.
"""

import asyncio
from collections.abc import Iterable, Mapping
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, NamedTuple

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.interface import ResolvedCharge, StoreUnavailable
from connector_gateway.storage.shared.local_counters import LocalCounters
from connector_gateway.storage.shared.sliding_window import LogEntry, max_delay

if TYPE_CHECKING:
    from connector_gateway.storage.shared.valkey import ValkeyCounters

LATE_SECONDS = 0.5
"""The maximum delay between letting a request through and its arrival, at most half a window. Only the store knew it.
"""

REPORT_BATCH = 200
"""The number of requests in one report, so that the store and this process can do other work in between."""

MAX_CONCURRENT_BUDGETS = 32
"""The number of budgets that are reported concurrently, to share the latency."""


class LossState(NamedTuple):
    """The losses and blocks that the store reports."""

    lost: Mapping[str, int]
    """The time of the last data loss by hash tag, or 0 if there was none."""

    blocked: Mapping[str, float]
    """The seconds for which budgets are still blocked, by name."""


class SentRequest(NamedTuple):
    """A sent request, as it is reported to the store."""

    ago: float
    """Seconds since the latest time at which it can have arrived."""

    name: str
    units: float


class DataLossRecovery:
    """Reports this process's requests to the store: all of them after a loss, otherwise those sent without it."""

    def __init__(self, store: "ValkeyCounters", local: LocalCounters, clock: Clock) -> None:
        self._store = store
        self._local = local
        self._clock = clock
        self._recounted: Mapping[str, int] = {}
        """The last loss of each hash tag for which all requests have been reported."""

        self._unreported: dict[str, None] = {}
        """The budgets that were used or blocked without the store, which does not know it yet."""

        self._token = token_hex(4)
        self._numbers = count(1)

    def mark_dirty(self, charges: Iterable[ResolvedCharge]) -> None:
        """Record that these budgets were used or blocked without the store."""
        for charge in charges:
            self._unreported[charge.name] = None

    async def replay(self) -> None:
        """Report everything that the store does not know. Raises ``StoreUnavailable`` if it is unavailable."""
        losses, closed = await self._store.read_loss_state()
        # Vendors block budgets for all processes, and each process may have to work without the store.
        self._local.set_blocked(closed)
        await self._report_unreported()
        await self._report_lost({tag for tag, at in losses.items() if at and self._recounted.get(tag) != at})
        self._recounted = losses

    async def _report_unreported(self) -> None:
        pending, self._unreported = self._unreported, {}
        try:
            for name in pending:
                await self._report_budget(name, lost=False)
        except StoreUnavailable:
            self._unreported = pending | self._unreported
            raise

    async def _report_lost(self, tags: set[str]) -> None:
        if not tags:
            return
        names = self._local.names
        for start in range(0, len(names), MAX_CONCURRENT_BUDGETS):
            batch = [name for name in names[start : start + MAX_CONCURRENT_BUDGETS] if self._store.tag(name) in tags]
            await asyncio.gather(asyncio.sleep(0), *(self._report_budget(name, lost=True) for name in batch))

    async def _report_budget(self, name: str, *, lost: bool) -> None:
        recent = self._local.recent_requests(name, LATE_SECONDS)
        if recent is None:
            return
        budget, entries = recent
        if (seconds := self._local.blocked_seconds(name)) > 0:
            await self._store.block([ResolvedCharge(name, budget, 0)], seconds)
        unreported = [entry for entry in entries if lost or entry.number <= 0]
        for start in range(0, len(unreported), REPORT_BATCH):
            sent = [self._to_sent_request(entry, budget) for entry in unreported[start : start + REPORT_BATCH]]
            await self._store.recount(name, budget, sent)

    def _to_sent_request(self, entry: LogEntry, budget: Budget) -> SentRequest:
        # The name stays the same if a request is reported again, and is the store's own if the store let it through.
        if entry.number == 0:
            entry.number = -next(self._numbers)
        name = f"g{entry.number}" if entry.number > 0 else f"s{self._token}{entry.number}"
        # This process learned of a request somewhat after the store let it through, but earlier than it may have
        # arrived.
        delay = min(LATE_SECONDS, max_delay(budget))
        return SentRequest(max(0.0, self._clock.now() - entry.at - delay), name, entry.units)
