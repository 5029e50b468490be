"""Pacing in virtual time: minutes of queueing that take milliseconds."""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from connector_gateway.core.pacing.pacer import (
    SLACK,
    SLACK_SECONDS,
    YIELD_SECONDS,
    AnonymousPacer,
    BackgroundPacer,
    ConnectionPacer,
    with_slack,
    without_slack,
)
from connector_gateway.kit.errors import UpstreamRateLimited
from connector_gateway.kit.upstream.budget import Budget, Charge, Deadline
from connector_gateway.storage.shared.local_counters import LocalCounters
from harness.clocks import NOON, LoopClock, run_in_virtual_time
from harness.requirement import requirement

ONE = Charge("all")
BOTH = (Charge("all"), Charge("each"))


@dataclass
class PacingScenario:
    """Callers that use one pacer, and the times at which their requests were sent."""

    budgets: dict[str, Budget]
    clock: LoopClock = field(default_factory=LoopClock)
    passed: list[tuple[Any, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.shared = LocalCounters(self.clock)
        self.pacer = self.create_pacer("account")

    def create_pacer(self, account: str) -> ConnectionPacer:
        return ConnectionPacer("notes", with_slack(self.budgets), account, self.shared, self.clock)

    async def send_request(
        self, name: Any = "", *, max_wait: float = 1000.0, charges: Sequence[Charge] = (ONE,), account: str = "account"
    ) -> None:
        await self.create_pacer(account).acquire(charges, Deadline(self.clock.now() + max_wait))
        self.passed.append((name, round(self.clock.now() - NOON, 6)))

    async def poll(self, name: Any = "poll", *, max_wait: float = 1000.0) -> None:
        """Send a request for which no caller waits."""
        pacer = BackgroundPacer("notes", with_slack(self.budgets), "account", self.shared, self.clock)
        await pacer.acquire((ONE,), Deadline(self.clock.now() + max_wait))
        self.passed.append((name, round(self.clock.now() - NOON, 6)))

    async def start_callers(self, names: Iterable[int]) -> None:
        """Start callers one right after the other."""
        await asyncio.gather(*(self._arrive(position, name) for position, name in enumerate(names)))

    async def _arrive(self, position: int, name: int) -> None:
        await self.clock.sleep(position / 10_000)
        await self.send_request(name)

    @property
    def times_by_name(self) -> list[float]:
        """Return the times by the callers' names, in order."""
        return [at for _, at in sorted(self.passed)]

    @property
    def names(self) -> list[Any]:
        return [name for name, _ in self.passed]

    @property
    def times(self) -> list[float]:
        return [at for _, at in self.passed]

    def max_within(self, seconds: float) -> int:
        """Return the maximum that was sent in any window of *seconds*."""
        return max(sum(at <= other < at + seconds - 1e-6 for other in self.times) for at in self.times)


def create_scenario(*, each: str | None = None, **budgets: str) -> PacingScenario:
    more = {"each": each} if each else {}
    return PacingScenario({name: Budget.parse(text) for name, text in (budgets | more).items()})


@requirement("common-76")
def test_a_burst_is_sent_in_order_of_arrival_and_within_the_budget() -> None:
    busy = create_scenario(all="3/1")

    async def send_burst() -> None:
        await busy.start_callers(range(30))

    run_in_virtual_time(send_burst())

    assert list(range(30)) == busy.names
    assert 3 == busy.max_within(1.0)


@pytest.mark.parametrize("budget", ["3/1", "100/10", "1/1", "250/1"])
def test_at_saturation_at_least_98_percent_of_the_budget_is_used(budget: str) -> None:
    busy = create_scenario(all=budget)
    allowed = Budget.parse(budget)
    calls = int(allowed.limit * 20)

    async def send_burst() -> None:
        await busy.start_callers(range(calls))

    run_in_virtual_time(send_burst())
    rate = (calls - allowed.limit) / busy.times[-1]

    assert rate >= 0.98 * allowed.limit / allowed.per_seconds


@requirement("common-77")
def test_a_call_that_cannot_start_in_time_is_rejected_immediately_with_the_wait() -> None:
    busy = create_scenario(all="1/10")

    async def send_three() -> tuple[float, float | None]:
        waiting = asyncio.gather(busy.send_request("first"), busy.send_request("second"))
        await asyncio.sleep(1)
        with pytest.raises(UpstreamRateLimited) as raised:
            await busy.send_request("third", max_wait=15)
        answered_at = busy.clock.now() - NOON
        await waiting
        return answered_at, raised.value.retry_after

    answered_at, retry_after = run_in_virtual_time(send_three())

    assert 1.0 == answered_at
    assert 20 == retry_after
    assert ["first", "second"] == busy.names


def test_a_rejected_call_does_not_delay_waiting_calls() -> None:
    busy = create_scenario(all="1/10")

    async def send_three() -> None:
        await busy.send_request("first")
        with pytest.raises(UpstreamRateLimited):
            await busy.send_request("impatient", max_wait=1)
        await busy.send_request("patient")

    run_in_virtual_time(send_three())

    assert [0.0, round(10 * SLACK, 6)] == busy.times


def test_a_cancelled_caller_releases_the_reservation() -> None:
    busy = create_scenario(all="1/10")

    async def leave() -> None:
        await busy.send_request("first")
        leaving = asyncio.create_task(busy.send_request("leaving"))
        await asyncio.sleep(1)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        await busy.send_request("next")

    run_in_virtual_time(leave())

    assert [("first", 0.0), ("next", round(10 * SLACK, 6))] == busy.passed


def test_an_expired_reservation_is_renewed_in_order() -> None:
    busy = create_scenario(all="3/1")

    async def delayed_call() -> None:
        reservation = await busy.pacer.acquire([ONE], Deadline(NOON))
        await busy.clock.sleep(5)
        await busy.start_callers(range(4))
        await busy.pacer.reacquire(reservation, Deadline(NOON + 100))
        busy.passed.append(("late", round(busy.clock.now() - NOON, 6)))

    run_in_virtual_time(delayed_call())

    assert [0, 1, 2, 3, "late"] == busy.names
    assert 3 == busy.max_within(1.0)


def test_a_call_delayed_beyond_its_deadline_is_rejected() -> None:
    busy = create_scenario(all="3/1")

    async def delayed_call() -> None:
        reservation = await busy.pacer.acquire([ONE], Deadline(NOON))
        await busy.clock.sleep(5)
        await busy.pacer.reacquire(reservation, Deadline(NOON + 4))

    with pytest.raises(UpstreamRateLimited):
        run_in_virtual_time(delayed_call())


@pytest.mark.parametrize("seconds_before", [0.0, 2.0], ids=["closed already", "closed while it waits in line"])
def test_a_budget_blocked_beyond_the_deadline_is_reported_immediately(seconds_before: float) -> None:
    busy = create_scenario(all="1/10")

    async def send_throttled() -> float:
        await busy.send_request("first")
        closing = asyncio.create_task(_run_after(seconds_before, busy.pacer.block([ONE], 90)))
        if not seconds_before:
            await closing
        with pytest.raises(UpstreamRateLimited) as raised:
            await busy.create_pacer("account").acquire([ONE], Deadline(NOON + 30))
        await closing
        with pytest.raises(UpstreamRateLimited):
            await busy.send_request("impatient", max_wait=30)
        await busy.send_request("patient", max_wait=120)
        return raised.value.retry_after or 0

    retry_after = run_in_virtual_time(send_throttled())

    assert 80 <= retry_after <= 90
    assert [("first", 0.0), ("patient", seconds_before + 90)] == busy.passed


async def _run_after(seconds: float, work: Coroutine[Any, Any, None]) -> None:
    await asyncio.sleep(seconds)
    await work


def test_a_throttling_vendor_blocks_the_budget_for_all_calls() -> None:
    busy = create_scenario(all="3/1")

    async def throttle() -> None:
        waiting = asyncio.create_task(busy.start_callers(range(6)))
        await asyncio.sleep(0.5)
        await busy.pacer.block([ONE], 20)
        await asyncio.gather(waiting, busy.send_request("late"))

    run_in_virtual_time(throttle())

    assert 4 == len([at for at in busy.times if at >= 20.5])


def test_after_throttling_the_queue_is_sent_in_order_and_within_the_budget() -> None:
    busy = create_scenario(all="3/1")

    async def throttle() -> None:
        waiting = asyncio.create_task(busy.start_callers(range(60)))
        await asyncio.sleep(0.5)
        await busy.pacer.block([ONE], 5)
        await asyncio.sleep(0.1)
        await asyncio.gather(waiting, busy.start_callers(range(60, 70)))

    run_in_virtual_time(throttle())

    assert sorted(busy.times) == busy.times_by_name
    assert 70 == len(busy.times)
    assert 3 == busy.max_within(1.0)


def test_a_call_delayed_by_throttling_is_rejected_with_the_wait() -> None:
    busy = create_scenario(all="1/1")

    async def throttle() -> float | None:
        await busy.send_request("first")
        await busy.pacer.block([ONE], 100)
        with pytest.raises(UpstreamRateLimited) as raised:
            await busy.send_request("second", max_wait=30)
        return raised.value.retry_after

    assert 100 == run_in_virtual_time(throttle())


def test_a_waiting_call_is_rejected_when_throttling_outlasts_its_deadline() -> None:
    busy = create_scenario(all="1/1")

    async def throttle() -> None:
        await busy.send_request("first")
        waiting = asyncio.create_task(busy.send_request("second", max_wait=30))
        await asyncio.sleep(0.5)
        await busy.pacer.block([ONE], 100)
        with pytest.raises(UpstreamRateLimited):
            await waiting

    run_in_virtual_time(throttle())

    assert ["first"] == busy.names


def test_every_account_has_its_own_budget() -> None:
    busy = create_scenario(all="1/10")

    async def send_two() -> None:
        await asyncio.gather(busy.send_request("one", account="one"), busy.send_request("other", account="other"))

    run_in_virtual_time(send_two())

    assert [0.0, 0.0] == busy.times


def test_a_charge_on_a_vendor_object_is_shared_by_all_accounts() -> None:
    busy = create_scenario(all="1/10")
    charge = (Charge("all", scope_key="base"),)

    async def send_two() -> None:
        await asyncio.gather(
            busy.send_request("one", account="one", charges=charge),
            busy.send_request("other", account="other", charges=charge),
        )

    run_in_virtual_time(send_two())

    assert [0.0, round(10 * SLACK, 6)] == busy.times


def test_requests_that_identify_an_account_are_charged_to_it() -> None:
    busy = create_scenario(all="2/10", each="3/10")
    charges = (Charge("all"), Charge("each", scope_key="application"))

    async def send_three() -> None:
        pacer = AnonymousPacer("notes", with_slack(busy.budgets), "its secrets", busy.shared, busy.clock)
        await pacer.acquire(charges, Deadline(busy.clock.now()))
        await pacer.attribute_to("account")
        await asyncio.gather(*(busy.send_request(number, charges=charges) for number in range(2)))

    run_in_virtual_time(send_three())

    assert [0.0, round(10 * SLACK, 6)] == busy.times


def test_a_request_of_two_budgets_waits_for_both() -> None:
    busy = create_scenario(all="10/1", each="1/2")

    async def send_three() -> None:
        await asyncio.gather(*(busy.send_request(number, charges=BOTH) for number in range(3)))

    run_in_virtual_time(send_three())

    assert [0.0, 2 + SLACK_SECONDS, 4 + 2 * SLACK_SECONDS] == busy.times


@pytest.mark.parametrize(("text", "ours"), [("5/1", 1.006), ("100/10", 10.03), ("1/86400", 86659.2)])
def test_our_windows_are_slightly_longer_than_the_vendors(text: str, ours: float) -> None:
    budget = Budget.parse(text)
    longer = with_slack({"all": budget})["all"].per_seconds

    assert (ours, budget.per_seconds) == (round(longer, 6), round(without_slack(longer), 6))


def test_a_full_budget_does_not_delay_requests_that_do_not_use_it() -> None:
    busy = create_scenario(all="10/1", each="1/100")

    async def send_three() -> None:
        await asyncio.gather(
            busy.send_request("first", charges=BOTH),
            busy.send_request("second", charges=BOTH),
            busy.send_request("free", charges=[ONE]),
        )

    run_in_virtual_time(send_three())

    assert [("first", 0.0), ("free", 0.0), ("second", round(100 * SLACK, 6))] == busy.passed


def test_heavy_requests_use_more_of_the_budget() -> None:
    busy = create_scenario(all="10/1")

    async def send_three() -> None:
        await asyncio.gather(*(busy.send_request(number, charges=[Charge("all", units=5)]) for number in range(4)))

    run_in_virtual_time(send_three())

    assert [0.0, 0.0, 1 + SLACK_SECONDS, 1 + SLACK_SECONDS] == busy.times


def test_a_request_that_costs_nothing_never_waits() -> None:
    busy = create_scenario(all="1/100")

    async def send_two() -> None:
        await busy.send_request("first")
        await busy.send_request("free", charges=[])

    run_in_virtual_time(send_two())

    assert [0.0, 0.0] == busy.times


def test_an_immediate_reservation_is_granted_and_counted_after_the_deadline() -> None:
    busy = create_scenario(all="1/10")

    async def send_two() -> None:
        await busy.send_request("late", max_wait=-5)
        await busy.send_request("next")

    run_in_virtual_time(send_two())

    assert [0.0, round(10 * SLACK, 6)] == busy.times


def test_a_stalled_event_loop_sends_no_request_early_or_out_of_order() -> None:
    busy = create_scenario(all="3/1")

    async def stall() -> None:
        waiting = asyncio.create_task(busy.start_callers(range(30)))
        await asyncio.sleep(0.1)
        asyncio.get_running_loop()._ticks.time = 3.7  # type: ignore[attr-defined]  # the whole process was suspended
        await waiting

    run_in_virtual_time(stall())

    assert sorted(busy.times) == busy.times_by_name
    assert 3 == busy.max_within(1.0)


@requirement("common-108")
def test_a_poll_leaves_headroom_for_the_next_call() -> None:
    busy = create_scenario(all="3/1")

    async def poll_then_call() -> None:
        polls = asyncio.gather(*(busy.poll() for _ in range(20)))
        await busy.clock.sleep(2.5)
        started_at = busy.clock.now()
        await busy.send_request("call")
        assert started_at == busy.clock.now()
        await polls

    run_in_virtual_time(poll_then_call())
    polls = [at for name, at in busy.passed if name == "poll"]

    assert 20 == len(polls)
    assert 3 >= busy.max_within(1)


@requirement("common-108")
def test_queued_calls_precede_polls() -> None:
    busy = create_scenario(all="3/1")

    async def poll_among_calls() -> None:
        calls = asyncio.create_task(busy.start_callers(range(30)))
        await busy.clock.sleep(0.5)
        await busy.poll()
        await calls

    run_in_virtual_time(poll_among_calls())

    assert [*range(30), "poll"] == busy.names


@requirement("common-108")
def test_polls_leave_a_fifth_of_a_budget_to_calls() -> None:
    busy = create_scenario(all="50/60")

    async def call_among_polls() -> None:
        polls = [asyncio.create_task(busy.poll()) for _ in range(60)]
        await busy.clock.sleep(10)
        await busy.start_callers(range(10))
        for poll in polls:
            poll.cancel()

    run_in_virtual_time(call_among_polls())

    assert ["poll"] * 40 + [*range(10)] == busy.names
    assert 11 > busy.times[-1]


@requirement("common-108")
def test_a_poll_is_eventually_sent_despite_many_calls() -> None:
    busy = create_scenario(all="3/1")

    async def poll_endlessly() -> None:
        calls = asyncio.create_task(busy.start_callers(range(300)))
        await busy.clock.sleep(1)
        await busy.poll()
        calls.cancel()

    run_in_virtual_time(poll_endlessly())

    assert YIELD_SECONDS < busy.passed[-1][1]
