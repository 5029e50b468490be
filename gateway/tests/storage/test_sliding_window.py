"""The arithmetic of sliding windows, with random histories by hypothesis."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from itertools import count
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connector_gateway.core.pacing.pacer import with_slack
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.sliding_window import PRUNE_FROM, LogEntry, SlidingWindowLog

NOON = 1_795_000_000.0
TICK = 0.05


@dataclass
class History:
    """Requests on one log that wait in order, are cancelled, wake late and are sent, with the times of sending."""

    window: SlidingWindowLog
    now: float = NOON
    waiting: list[float] = field(default_factory=list)
    gone: list[tuple[float, float]] = field(default_factory=list)

    def send_due(self) -> None:
        """Send the waiting requests that fit now."""
        while self.waiting and self.window.earliest(self.now, self.waiting[0]) <= self.now:
            units = self.waiting.pop(0)
            self.window.insert(LogEntry(self.now, units))
            self.gone.append((self.now, units))

    def step(self, kind: str, number: int) -> None:
        """Perform one step."""
        limit = int(self.window.budget.limit)
        if kind == "reserve":
            self.waiting.append(number % limit + 1)
        elif kind == "leave" and self.waiting:
            self.waiting.pop(number % len(self.waiting))
        elif kind == "wake":
            self.send_due()
        elif kind == "close":
            self.window.blocked_until = max(self.window.blocked_until, self.now + number * TICK)
        elif kind == "time":
            self.now += number * TICK

    def run(self, steps: Iterable[tuple[str, int]]) -> None:
        """Perform all steps, then send the waiting requests when they are due."""
        for kind, number in steps:
            self.step(kind, number)
        self.send_all()

    def send_all(self) -> None:
        """Send the waiting requests when they are due."""
        self.send_due()
        while self.waiting:
            self.now = self.window.earliest(self.now, self.waiting[0])
            self.send_due()

    @property
    def max_sent(self) -> float:
        """The maximum of units that were sent in any window."""
        per_seconds = self.window.budget.per_seconds
        return max(
            (sum(units for at, units in self.gone if start <= at < start + per_seconds) for start, _ in self.gone),
            default=0.0,
        )


@given(
    limit=st.integers(1, 6),
    per_seconds=st.sampled_from([0.5, 1.0, 1.015, 10.0]),
    steps=st.lists(
        st.tuples(st.sampled_from(["reserve", "reserve", "wake", "time", "leave", "close"]), st.integers(0, 40)),
        max_size=60,
    ),
)
@settings(max_examples=400, deadline=None)
def test_no_window_contains_more_than_the_limit(limit: int, per_seconds: float, steps: list[tuple[str, int]]) -> None:
    history = History(SlidingWindowLog(Budget(limit, per_seconds)))
    history.run(steps)

    assert history.max_sent <= limit


@given(
    sent=st.lists(st.floats(0, 3), max_size=20),
    waiting=st.integers(1, 40),
    blocked_seconds=st.sampled_from([0.0, 0.0, 0.5, 7.0]),
)
@settings(max_examples=200, deadline=None)
def test_the_last_of_equal_requests_is_sent_when_expected(
    sent: list[float], waiting: int, blocked_seconds: float
) -> None:
    history = History(SlidingWindowLog(Budget(5, 2)))
    for pause in sent:
        history.now += pause
        history.waiting.append(1)
        history.send_all()
    history.window.blocked_until = history.now + blocked_seconds
    expected = history.window.earliest(history.now, waiting)
    history.waiting = [1.0] * waiting
    history.send_all()

    assert pytest.approx(expected) == history.now


@given(st.lists(st.integers(1, 5), min_size=1, max_size=60))
@settings(max_examples=200, deadline=None)
def test_requests_are_expected_no_later_than_one_per_window(requests: list[int]) -> None:
    window = SlidingWindowLog(Budget(5, 1.0))

    assert window.earliest(NOON, sum(requests)) - NOON <= len(requests) - 1


def test_expired_units_cannot_be_released() -> None:
    window = SlidingWindowLog(Budget(2, 10))
    past = LogEntry(NOON, 1)
    window.insert(past)
    window.insert(LogEntry(NOON + 5, 1))
    window.earliest(NOON + 11, 1)
    window.remove(past)

    assert 1 == window.remaining(NOON + 11)


def test_a_blocked_log_grants_no_time_before_the_block_ends() -> None:
    window = SlidingWindowLog(Budget(3, 1))
    window.blocked_until = NOON + 30

    assert NOON + 30 == window.earliest(NOON, 1)


def test_a_blocked_log_is_not_idle() -> None:
    window = SlidingWindowLog(Budget(3, 1))
    window.blocked_until = NOON + 30

    assert not window.drop_if_idle(NOON)
    assert window.drop_if_idle(NOON + 30)


def test_a_log_is_idle_once_its_window_is_empty() -> None:
    window = SlidingWindowLog(Budget(3, 1))
    window.insert(LogEntry(NOON, 1))

    assert not window.drop_if_idle(NOON + 0.5)
    assert window.drop_if_idle(NOON + 1)


def test_old_entries_are_dropped() -> None:
    window = SlidingWindowLog(Budget(10_000, 1))
    for number in range(PRUNE_FROM * 3):
        window.earliest(NOON + number, 1)
        window.insert(LogEntry(NOON + number, 1))

    assert len(window._entries) <= PRUNE_FROM + 1


Travel = Callable[[Random, int], float]
"""Returns the seconds that a request, or its response, is on its way, given its number."""


def steady(random: Random, _: int, *, shortest: float, mean_excess: float) -> float:
    return shortest + random.expovariate(1 / mean_excess)


def uniform(random: Random, _: int, *, shortest: float, longest: float) -> float:
    return random.uniform(shortest, longest)


def slower(random: Random, number: int) -> float:
    """Return the time on a network that takes a longer route after some responses."""
    return steady(random, number, shortest=0.01 if number < 200 else 0.06, mean_excess=0.001)


def saturate(limit: int, requests: int, travel: Travel, seed: int) -> list[float]:
    """Return the times, in order, at which *requests* that are sent as early as allowed arrive at a vendor.

    The vendor's window is one second.
    """
    random, numbers, now = Random(seed), count(), NOON
    window = SlidingWindowLog(with_slack({"all": Budget(limit, 1)})["all"])
    arrived: list[float] = []
    ends: list[tuple[float, int, LogEntry]] = []
    while len(arrived) < requests:
        due = window.earliest(now, 1)
        if ends and ends[0][0] <= due:
            now, _, entry = heappop(ends)
            window.record_end(entry, now, responded=True)
            continue
        now, entry, number = due, LogEntry(due, 1), next(numbers)
        window.insert(entry)
        arrived.append(now + travel(random, number))
        heappush(ends, (arrived[-1] + travel(random, number), number, entry))
    return sorted(arrived)


@pytest.mark.parametrize("limit", [1, 3, 5, 50])
@pytest.mark.parametrize(("shortest", "longest"), [(0.005, 0.2), (0.05, 0.15), (0.01, 0.06)])
def test_no_window_of_the_vendor_contains_more_than_the_limit_if_response_times_vary(
    limit: int, shortest: float, longest: float
) -> None:
    travel = partial(uniform, shortest=shortest, longest=longest)
    for seed in range(30):
        arrived = saturate(limit, 20 * limit + 40, travel, seed)

        assert all(after - at >= 1 for at, after in zip(arrived, arrived[limit:], strict=False)), seed


@pytest.mark.parametrize("limit", [3, 5, 50])
@pytest.mark.parametrize(("shortest", "mean_excess"), [(0.01, 0.001), (0.04, 0.002), (0.1, 0.001)])
def test_at_least_98_percent_of_a_budget_is_used_if_response_times_vary_little(
    limit: int, shortest: float, mean_excess: float
) -> None:
    for seed in range(5):
        arrived = saturate(limit, 40 * limit + 1, partial(steady, shortest=shortest, mean_excess=mean_excess), seed)

        assert 40 / (arrived[-1] - arrived[0]) >= 0.98, seed


def test_a_budget_is_used_again_some_time_after_the_network_has_become_slower() -> None:
    arrived = saturate(3, 3001, slower, seed=1)

    assert 100 / (arrived[-1] - arrived[-301]) >= 0.98
