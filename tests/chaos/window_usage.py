"""I7: usage of the windows of vendors and of a key, sampled during the trial."""

import asyncio
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from chaos.faults import Faults
from chaos.installation import SMALL_LIMIT
from chaos.load import Load
from connector_gateway.connectors import CONNECTORS

SAMPLE_SECONDS = 0.2
MINUTE = 60.0
NOTICED_SECONDS = 5.0
"""The time until all processes have noticed that the store is available again."""

LONGEST = {
    name: max(budget.per_seconds for budget in connector.budgets.values() if budget.per_seconds <= MINUTE)
    for name, connector in CONNECTORS.items()
}
"""The longest window of each connector, except those that no trial fills."""

RECENT_SECONDS = 3.0
SHARE = 0.5


@dataclass
class Windows:
    """Counts 429 responses, and whether the store caused them."""

    load: Load
    faults: Faults
    caused_by_store: Counter[str] = field(default_factory=Counter)
    """429 responses while the store was unavailable or shortly after, when local shares can exceed the budget."""

    exceeded: Counter[str] = field(default_factory=Counter)
    """All other 429 responses."""

    store_faults: list[tuple[float, float]] = field(default_factory=list)
    """The times between which the store was affected by a fault."""

    async def sample_loop(self) -> None:
        """Sample until cancelled."""
        while True:
            await asyncio.sleep(SAMPLE_SECONDS)
            self.sample()

    def sample(self) -> None:
        """Attribute the 429 responses since the last call."""
        now = time.monotonic()
        if self._is_caused_by_store(now, MINUTE):
            self.store_faults.append((now - SAMPLE_SECONDS, now))
        fresh = count_throttled(self.load, self.faults) - (self.caused_by_store + self.exceeded)
        for connector, times in fresh.items():
            caused_by_store = self._is_caused_by_store(now, LONGEST[connector])
            (self.caused_by_store if caused_by_store else self.exceeded)[connector] += times
            reason = " (store unavailable)" if caused_by_store else ""
            recent = self._describe_recent_requests(connector)
            self.faults.log(
                f"throttled: {connector}{reason}, after requests {recent} s before{self._describe_resumed(now)}"
            )

    def _is_caused_by_store(self, now: float, window: float) -> bool:
        """Return True if the store is or was affected within *window*; local shares add to the shared count then."""
        return self.faults.is_store_faulty or now - self.faults.store_restored_at < window + NOTICED_SECONDS

    def _describe_recent_requests(self, connector: str) -> str:
        """Return the times of vendor requests before the last 429 response."""
        journal = self.load.installation.emulators[connector].context.request_log
        last = max(seen.at for seen in journal if seen.status == 429)
        return " ".join(f"{last - seen.at:.2f}" for seen in journal if 0 <= last - seen.at < RECENT_SECONDS)

    def _describe_resumed(self, now: float) -> str:
        """Return the gateways that were paused until just before; their requests after the last check are late."""
        resumed = [(number, now - at) for number, at in self.faults.resumed_at.items() if now - at < RECENT_SECONDS]
        return "".join(f", gateway {number} was resumed {ago:.2f} s before" for number, ago in resumed)

    @property
    def max_admitted(self) -> int:
        """Return the maximum number of small-key calls that were certainly admitted within a minute."""
        return max((count for _, count in self._count_per_minute()), default=0)

    def list_violations(self) -> Iterator[str]:
        """Return the violations as sentences."""
        for connector, times in self.exceeded.items():
            yield f"I7 {connector} throttled {times} requests"
        for began, count in self._count_per_minute():
            caused_by_store = any(began <= until and since <= began + MINUTE for since, until in self.store_faults)
            if count > SMALL_LIMIT * (1 + SHARE * caused_by_store):
                yield f"I7 {count} calls of a key were admitted in a minute"
                return

    def _count_per_minute(self) -> Iterator[tuple[float, int]]:
        """Yield minutes, and the number of calls that were both sent and answered within each."""
        answered = sorted(at for _, at in self.load.admitted)
        sent = sorted(at for at, _ in self.load.admitted)
        for began in sent:
            before = bisect_right(sent, began - 1e-9)
            yield began, bisect_right(answered, began + MINUTE) - before


def count_throttled(load: Load, faults: Faults) -> Counter[str]:
    """Count the 429 responses of each vendor, without injected ones."""
    counts: Counter[str] = Counter()
    for connector, emulator in load.installation.emulators.items():
        counts[connector] = sum(1 for seen in emulator.context.request_log if seen.status == 429)
    for connector, fault in faults.throttled:
        counts[connector] -= fault.done
    return +counts
