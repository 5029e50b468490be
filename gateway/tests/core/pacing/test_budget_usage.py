"""Recording and reporting of the use of upstream budgets."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from connector_gateway.core.pacing.budget_usage import (
    BUCKET_SECONDS,
    MAX_BUCKETS,
    MAX_BUDGETS,
    BudgetUsage,
    UsageTracker,
)
from connector_gateway.core.pacing.pacer import ConnectionPacer, with_slack
from connector_gateway.kit.errors import UpstreamRateLimited
from connector_gateway.kit.upstream.budget import Budget, Charge, Deadline
from connector_gateway.storage.shared.interface import ResolvedCharge
from connector_gateway.storage.shared.local_counters import LocalCounters
from harness.clocks import LoopClock, ManualClock, run_in_virtual_time

BUDGETS = {"all": Budget(2, 10), "each": Budget(5, 10)}


@dataclass
class RecordedPacer:
    """A pacer whose use is recorded."""

    clock: LoopClock = field(default_factory=LoopClock)

    def __post_init__(self) -> None:
        self.shared = LocalCounters(self.clock)
        self.usage = UsageTracker(self.shared, self.clock)

    async def send(self, *charges: Charge, account: str = "account", seconds: float = 100.0) -> None:
        pacer = ConnectionPacer(
            "notes",
            with_slack(BUDGETS),
            account,
            self.shared,
            self.clock,
            usage=self.usage,
            connection_id=f"of {account}",
        )
        await pacer.acquire(charges or (Charge("all"),), Deadline(self.clock.now() + seconds))

    def one(self) -> BudgetUsage:
        (use,) = self.usage.list()
        return use


def test_sent_requests_are_reported_with_the_remaining_budget() -> None:
    async def scenario() -> tuple[BudgetUsage, float]:
        street = RecordedPacer()
        await street.send()
        return street.one(), await street.usage.remaining(street.one())

    use, left = run_in_virtual_time(scenario())

    assert ("notes", "all", "account", "of account") == (use.connector, use.budget, use.scope_key, use.connection_id)
    assert (2, 1, 0) == (use.limit, left, use.waiting)
    assert 1 == sum(slot.sent for slot in use.history)


def test_a_waiting_request_is_counted_until_it_is_sent() -> None:
    async def scenario() -> list[tuple[int, int, float]]:
        street = RecordedPacer()
        callers = [asyncio.create_task(street.send()) for _ in range(4)]
        await asyncio.sleep(1)
        before = street.one()
        await asyncio.gather(*callers)
        after = street.one()
        return [_counts(before), _counts(after)]

    assert [(2, 2, 2), (0, 2, 4)] == run_in_virtual_time(scenario())


def _counts(use: BudgetUsage) -> tuple[int, int, float]:
    """Return how many wait, how many waited at most, and the sent units."""
    return use.waiting, max(slot.waiting for slot in use.history), sum(slot.sent for slot in use.history)


def test_a_queue_is_in_every_interval_of_its_history() -> None:
    async def scenario() -> list[int]:
        street = RecordedPacer()
        callers = [asyncio.create_task(street.send()) for _ in range(3)]
        await asyncio.sleep(9)
        use = street.one()
        await asyncio.gather(*callers)
        return [slot.waiting for slot in use.history[-2:]]

    assert [1, 1] == run_in_virtual_time(scenario())


def test_a_cancelled_request_no_longer_counts_as_waiting() -> None:
    async def scenario() -> int:
        street = RecordedPacer()
        await asyncio.gather(street.send(), street.send())
        caller = asyncio.create_task(street.send())
        await asyncio.sleep(0.1)
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        return street.one().waiting

    assert 0 == run_in_virtual_time(scenario())


def test_an_immediately_rejected_request_counts_neither_as_waiting_nor_sent() -> None:
    async def scenario() -> tuple[int, int, float]:
        street = RecordedPacer()
        await asyncio.gather(street.send(), street.send())
        with pytest.raises(UpstreamRateLimited):
            await street.send(seconds=0.5)
        return _counts(street.one())

    waiting, _, sent = run_in_virtual_time(scenario())

    assert (0, 2) == (waiting, sent)


def test_each_budget_of_a_request_is_recorded_and_queued_ones_come_first() -> None:
    async def scenario() -> list[tuple[str, str]]:
        street = RecordedPacer()
        await street.send(Charge("each", scope_key="a place"), account="first")
        callers = [asyncio.create_task(street.send(account="second")) for _ in range(3)]
        await asyncio.sleep(0.1)
        seen = [(use.budget, use.scope_key) for use in street.usage.list()]
        await asyncio.gather(*callers)
        return seen

    assert [("all", "second"), ("each", "a place")] == run_in_virtual_time(scenario())


def test_the_budget_with_more_requests_comes_first_regardless_of_its_window(clock: ManualClock) -> None:
    usage = UsageTracker(LocalCounters(clock), clock)
    usage.record_sent([ResolvedCharge("upstream:mail:day:a", Budget(2000, 86_400), 2)], "conn")
    usage.record_sent([ResolvedCharge("upstream:mail:minute:a", Budget(20, 60), 2)], "conn")

    assert ["minute", "day"] == [use.budget for use in usage.list()]


def test_usage_is_restricted_to_the_requested_connections() -> None:
    async def scenario() -> list[str]:
        street = RecordedPacer()
        await street.send(account="first")
        await street.send(account="second")
        return [use.scope_key for use in street.usage.list({"of second"})]

    assert ["second"] == run_in_virtual_time(scenario())


def test_usage_older_than_the_history_is_not_reported(clock: ManualClock) -> None:
    usage = UsageTracker(LocalCounters(clock), clock)
    usage.record_sent([_charge("a")], "conn")
    clock.at += BUCKET_SECONDS * (MAX_BUCKETS - 1)
    still = usage.list()
    clock.at += BUCKET_SECONDS * 2
    gone = usage.list()

    assert [1, 0] == [len(still), len(gone)]
    assert 1 == still[0].history[0].sent


def test_the_number_of_tracked_budgets_is_limited(clock: ManualClock) -> None:
    usage = UsageTracker(LocalCounters(clock), clock)
    for number in range(MAX_BUDGETS + 3):
        usage.record_sent([_charge(str(number))], "conn")

    assert MAX_BUDGETS == len(usage.list())


def test_a_budget_without_requests_for_a_while_has_a_gap_in_its_history(clock: ManualClock) -> None:
    usage: Any = UsageTracker(LocalCounters(clock), clock)
    usage.record_sent([_charge("a")], "conn")
    clock.at += 3 * BUCKET_SECONDS
    usage.record_sent([_charge("a")], "conn")
    (use,) = usage.list()

    assert [1, 0, 0, 1] == [slot.sent for slot in use.history[-4:]]


def _charge(scope_key: str) -> ResolvedCharge:
    return ResolvedCharge(f"upstream:notes:all:{scope_key}", Budget(10, 1))
