"""Calls of several requests to a vendor with one budget."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean

from connector_gateway.core.pacing.call_costs import CallCost
from connector_gateway.core.pacing.pacer import ConnectionPacer, with_slack
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import UpstreamRateLimited
from connector_gateway.kit.upstream.budget import Budget, Charge, Deadline
from connector_gateway.storage.shared.interface import CallPosition, SharedState
from connector_gateway.storage.shared.memory import LocalCounters
from harness.clocks import NOON, LoopClock

ONE = Charge("all")
QUEUE_SECONDS = 30.0
VENDOR_SECONDS = 0.08

BURST = [1, 4] * 115
"""The requests of calls that arrive together."""


@dataclass
class Call:
    """A call and its outcome."""

    number: int
    arrived_at: float
    ended_at: float = 0.0
    retry_after: float | None = None

    @property
    def seconds(self) -> float:
        return self.ended_at - self.arrived_at


@dataclass
class PacedVendor:
    """A vendor with one budget, and the calls that use it."""

    budget: Budget = field(default_factory=lambda: Budget(3, 1))
    clock: Clock = field(default_factory=LoopClock)
    calls: list[Call] = field(default_factory=list)
    sent: list[tuple[int, float]] = field(default_factory=list)
    """The number of the call, and the time of each request."""

    by_request: bool = False
    """Whether each request is queued by its own arrival."""

    queue_seconds: float = QUEUE_SECONDS

    processes: Sequence[SharedState] = ()
    """The counters of each process. By default, there is one, which counts in memory."""

    def __post_init__(self) -> None:
        self.budgets = with_slack({"all": self.budget})
        self.processes = self.processes or [LocalCounters(self.clock)]

    def pacer(self, arrived_at: float, expected: float, number: int = 0) -> ConnectionPacer:
        """Return the pacer of the call of this *number*, in one of the processes."""
        cost = CallCost(CallPosition(arrived_at), typical={"all": expected})
        shared = self.processes[number % len(self.processes)]
        return ConnectionPacer("notes", self.budgets, "account", shared, self.clock, cost=cost)

    async def call(self, requests: int, expected: int | None = None, queue_seconds: float | None = None) -> Call:
        """Send *requests* one after the other. Calls like it have needed *expected* ones."""
        arrived_at = self.clock.now()
        call = Call(len(self.calls), arrived_at)
        self.calls.append(call)
        start_by = arrived_at + (self.queue_seconds if queue_seconds is None else queue_seconds)
        pacer = self.pacer(arrived_at, requests if expected is None else expected, call.number // 2)
        try:
            for number in range(requests):
                if self.by_request and number:
                    pacer = self.pacer(self.clock.now(), 1, call.number // 2)
                reservation = await pacer.acquire([ONE], Deadline(start_by + number * VENDOR_SECONDS))
                self.sent.append((call.number, round(self.clock.now() - NOON, 6)))
                await self.clock.sleep(VENDOR_SECONDS)
                reservation.record_end(responded=True)
        except UpstreamRateLimited as error:
            call.retry_after = error.retry_after
        call.ended_at = self.clock.now()
        return call

    async def start_calls(self, *requests: int, apart: float = 0.001) -> None:
        """Start calls of so many requests, one shortly after the other."""
        await asyncio.gather(*(self._arrive(position * apart, number) for position, number in enumerate(requests)))

    async def _arrive(self, seconds: float, requests: int) -> None:
        await self.clock.sleep(seconds)
        await self.call(requests)

    @property
    def served(self) -> Sequence[Call]:
        return [call for call in self.calls if call.retry_after is None]

    @property
    def mean_seconds(self) -> float:
        return mean(call.seconds for call in self.served)

    @property
    def rejected(self) -> Sequence[Call]:
        return [call for call in self.calls if call.retry_after is not None]

    def check_burst(self, calls: int) -> None:
        """Check the waits of *calls* that arrived together: served in time, or rejected at once with the true wait."""
        drained_at = max(at for _, at in self.sent)

        assert calls == len(self.served) + len(self.rejected)
        assert max(call.seconds for call in self.served) <= QUEUE_SECONDS + 3 + 4 * VENDOR_SECONDS
        assert max(call.seconds for call in self.rejected) < 1
        wrong = [call for call in self.rejected if not 0.8 <= (call.retry_after or 0) / drained_at <= 1.2]
        assert [] == wrong
        times = [at for _, at in self.sent]
        # Each process counts its first requests from their responses, until it knows how quick the vendor is.
        later = times[45:]
        assert (len(later) - 1) / 3 / (later[-1] - later[0]) >= 0.98
        assert all(fourth - at >= 1 for at, fourth in zip(times, times[3:], strict=False))
