"""The arithmetic of sliding windows, with random histories by hypothesis."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
