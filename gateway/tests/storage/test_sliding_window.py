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
    """Requests on one log that reserve, are cancelled, wake late and are sent, with the times of sending."""

    window: SlidingWindowLog
    now: float = NOON
    waiting: list[LogEntry] = field(default_factory=list)
    gone: list[tuple[float, float]] = field(default_factory=list)
    queue_numbers: int = 0

    def reserve(self, units: float) -> None:
        """Reserve the earliest time."""
        at = self.window.earliest(self.now, units)
        self.queue_numbers += 1
        entry = LogEntry(at, units, self.queue_numbers if at > self.now else 0)
        self.window.insert(entry)
        if at > self.now:
            self.waiting.append(entry)
        else:
            self.send(entry)

    def send(self, entry: LogEntry) -> None:
        """Record that a request was sent."""
        entry.queue_number = 0
        self.gone.append((self.now, entry.units))

    def cancel(self, index: int) -> None:
        """Cancel one of the waiting requests."""
        if self.waiting:
            self.window.remove(self.waiting.pop(index % len(self.waiting)))

    def wake(self, index: int) -> None:
        """Wake one of the due requests, which may have to wait longer."""
        awake = [entry for entry in self.waiting if entry.at <= self.now]
        if awake:
            entry = awake[index % len(awake)]
            due = self.window.due_at(entry, self.now)
            assert due >= self.now
            self.window.remove(entry)
            entry.at = due
            self.window.insert(entry)
            if due <= self.now:
                self.waiting.remove(entry)
                self.send(entry)

    def step(self, kind: str, number: int) -> None:
        """Perform one step."""
        limit = int(self.window.budget.limit)
        if kind == "reserve":
            self.reserve(number % limit + 1)
        elif kind == "leave":
            self.cancel(number)
        elif kind == "wake":
            self.wake(number)
        elif kind == "close":
            self.window.blocked_until = max(self.window.blocked_until, self.now + number * TICK)
        else:
            self.now += number * TICK

    def run(self, steps: Iterable[tuple[str, int]]) -> None:
        """Perform all steps, then send the waiting requests in the order of their times."""
        for kind, number in steps:
            self.step(kind, number)
        while self.waiting:
            self.now = max(self.now, min(entry.at for entry in self.waiting))
            self.wake(0)

    @property
    def max_sent(self) -> float:
        """The maximum of units that were sent in any window."""
        per_seconds = self.window.budget.per_seconds
        return max(
            (sum(units for at, units in self.gone if start <= at < start + per_seconds) for start, _ in self.gone),
            default=0.0,
        )


def granted_times(window: SlidingWindowLog, *requests: tuple[float, float]) -> list[float]:
    """Return the times that are granted to *requests* of (units, seconds after the previous one)."""
    now, times = NOON, []
    for units, pause in requests:
        now += pause
        times.append(window.earliest(now, units))
        window.insert(LogEntry(times[-1], units))
    return times


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


@given(st.lists(st.tuples(st.just(1.0), st.floats(0, 3)), max_size=60))
@settings(max_examples=200, deadline=None)
def test_equal_requests_are_granted_in_order_of_arrival(requests: list[tuple[float, float]]) -> None:
    times = granted_times(SlidingWindowLog(Budget(5, 2)), *requests)

    assert sorted(times) == times


@given(st.lists(st.integers(1, 5), min_size=1, max_size=60))
@settings(max_examples=200, deadline=None)
def test_the_earliest_time_is_never_later_than_necessary(requests: list[int]) -> None:
    times = granted_times(SlidingWindowLog(Budget(5, 1.0)), *((units, 0.0) for units in requests))

    assert max(times) - NOON <= len(requests) - 1


def test_released_units_can_be_reserved_again() -> None:
    window = SlidingWindowLog(Budget(1, 10))
    window.insert(LogEntry(NOON, 1))
    waiting = LogEntry(window.earliest(NOON, 1), 1)
    window.insert(waiting)
    window.remove(waiting)

    assert NOON + 10 == window.earliest(NOON, 1)


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


def test_an_unblocked_log_grants_the_same_times_as_before() -> None:
    window = SlidingWindowLog(Budget(1, 1))
    window.insert(LogEntry(NOON, 1))
    before = window.earliest(NOON, 1)
    window.blocked_until = NOON + 3600
    closed = window.earliest(NOON, 1)

    window.unblock()

    assert (NOON + 1, NOON + 3600) == (before, closed)
    assert before == window.earliest(NOON, 1)


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


def test_a_request_above_the_limit_is_rejected() -> None:
    with pytest.raises(ValueError, match="exceed a budget"):
        SlidingWindowLog(Budget(3, 1)).earliest(NOON, 4)


def test_a_small_request_uses_a_gap_that_a_large_one_cannot() -> None:
    window = SlidingWindowLog(Budget(5, 10))
    window.insert(LogEntry(NOON, 4))
    large = window.earliest(NOON, 3)
    window.insert(LogEntry(large, 3))

    assert (NOON + 10, NOON) == (large, window.earliest(NOON, 1))


def test_old_entries_are_dropped() -> None:
    window = SlidingWindowLog(Budget(10_000, 1))
    granted_times(window, *[(1.0, 1.0)] * (PRUNE_FROM * 3))

    assert len(window._entries) <= PRUNE_FROM + 1
