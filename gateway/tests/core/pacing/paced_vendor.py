"""Calls of several requests to a vendor with one budget."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from statistics import mean

from connector_gateway.core.connections.cache import ConnectionCaches
from connector_gateway.core.pacing.call_costs import CallCost, CallCosts
from connector_gateway.core.pacing.pacer import ConnectionPacer, with_slack
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.context import CachedLookup
from connector_gateway.kit.errors import UpstreamRateLimited
from connector_gateway.kit.identifiers import ConnectionId
from connector_gateway.kit.upstream.budget import Budget, Charge, Deadline, TypicalRequests
from connector_gateway.storage.shared.interface import CallPosition, SharedState
from connector_gateway.storage.shared.local_counters import LocalCounters
from harness.clocks import NOON, LoopClock

ACCOUNT = ConnectionId("account")
ONE = Charge("all")
QUEUE_SECONDS = 30.0
VENDOR_SECONDS = 0.08

BURST = [1, 4] * 115
"""The requests of calls that arrive together."""

COLD = 2
"""The requests with which the first call of an operation in each process fills the caches."""


@dataclass
class Call:
    """A call and its outcome."""

    number: int
    arrived_at: float
    requests: int
    ended_at: float = 0.0
    requested: list[tuple[float, float]] = field(default_factory=list)
    """The times at which each request was queued and sent."""

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

    clocks: Sequence[Clock] = ()
    """The clock of each process. By default, they have the same."""

    is_cold: bool = False
    """Whether the first call of an operation in each process needs ``COLD`` more requests."""

    shares_lookups: bool = False
    """Whether other calls wait for these requests."""

    def __post_init__(self) -> None:
        self.budgets = with_slack({"all": self.budget})
        self.processes = self.processes or [LocalCounters(self.clock)]
        self.clocks = self.clocks or [self.clock] * len(self.processes)
        self.costs = [CallCosts() for _ in self.processes]
        self.caches = [ConnectionCaches(clock) for clock in self.clocks]

    def pacer(self, cost: CallCost, process: int = 0) -> ConnectionPacer:
        """Return the pacer of a call in one of the processes."""
        return ConnectionPacer(
            "notes", self.budgets, "account", self.processes[process], self.clocks[process], cost=cost
        )

    def cost(self, process: int, requests: int) -> tuple[CallCost, int]:
        """Return the cost of a new call of the operation that needs *requests*, and how many it needs now."""
        cold = requests + COLD if self.is_cold else requests
        declared = TypicalRequests(cold * ((ONE,),), requests * ((ONE,),))
        cost = self.costs[process].start(self.clocks[process].now(), "account", str(requests), declared)
        return cost, int(cost.typical["all"])

    async def block(self, seconds: float) -> None:
        """Have the vendor block the budget."""
        await self.pacer(CallCost()).block([ONE], seconds)

    async def call(self, requests: int, expected: int | None = None, queue_seconds: float | None = None) -> Call:
        """Send *requests* one after the other. Calls like it have needed *expected* ones, by default as many."""
        number = len(self.calls)
        process = number // 2 % len(self.processes)
        cost, now_needed = self.cost(process, requests)
        if expected is not None:
            cost.typical = {"all": expected}
        clock, arrived_at = self.clocks[process], self.clock.now()
        call = Call(number, arrived_at, now_needed)
        self.calls.append(call)
        start_by = clock.now() + (self.queue_seconds if queue_seconds is None else queue_seconds)
        pacer = self.pacer(cost, process)

        async def fill_caches() -> bool:
            call.requests = requests + COLD
            await send(COLD)
            return True

        async def send(count: int) -> None:
            nonlocal pacer
            for _ in range(count):
                index = len(call.requested)
                if self.by_request and index:
                    pacer = self.pacer(CallCost(CallPosition(clock.now())), process)
                queued_at = self.clock.now()
                reservation = await pacer.acquire([ONE], Deadline(start_by + index * VENDOR_SECONDS))
                call.requested.append((queued_at, self.clock.now()))
                self.sent.append((number, round(self.clock.now() - NOON, 6)))
                await clock.sleep(VENDOR_SECONDS)
                reservation.record_end(responded=True)

        try:
            if self.shares_lookups:
                join = partial(pacer.wait_for_lookup, deadline=Deadline(start_by))
                cache = self.caches[process].for_connection(ACCOUNT, join=join)
                await cache.get_or_load(CachedLookup(str(requests), inf, fill_caches), None)
            await send(call.requests - len(call.requested))
            self.costs[process].record(cost)
        except UpstreamRateLimited as error:
            call.retry_after = error.retry_after
        finally:
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
        """Check the waits of *calls* that arrived together, and that they used the budget."""
        self.check_waits(calls)
        times = [at for _, at in self.sent]
        assert (len(times) - 1) / 3 / (times[-1] - times[0]) >= 0.98, (len(times) - 1) / 3 / (times[-1] - times[0])

    def check_waits(self, calls: int) -> None:
        """Check the waits of *calls* that arrived together: served in time, or rejected at once with the true wait."""
        drained_at = max(at for _, at in self.sent)

        assert calls == len(self.served) + len(self.rejected)
        assert max(call.seconds for call in self.served) <= QUEUE_SECONDS + 3 + 4 * VENDOR_SECONDS
        assert max(call.seconds for call in self.rejected) < 1
        wrong = [call for call in self.rejected if not 0.8 <= (call.retry_after or 0) / drained_at <= 1.2]
        assert [] == wrong
        times = [at for _, at in self.sent]
        assert all(fourth - at >= 1 for at, fourth in zip(times, times[3:], strict=False))
