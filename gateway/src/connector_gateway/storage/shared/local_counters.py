"""Counters for a single process, in its memory."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from itertools import islice
from math import inf

from msgspec import Struct

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.kit.upstream.client import Timeouts
from connector_gateway.storage.shared.budget_queue import Waiter
from connector_gateway.storage.shared.interface import (
    HEADROOM,
    NEGLIGIBLE_SECONDS,
    STALE_FRACTION,
    UPSTREAM,
    CallPosition,
    RateLimitWindow,
    ResolvedCharge,
)
from connector_gateway.storage.shared.locks import NamedLocks
from connector_gateway.storage.shared.sliding_window import LogEntry, SlidingWindowLog, max_delay

MAX_IDLE_LOGS = 10_000
"""While there are fewer logs than this, idle ones are retained if they have measured the vendor's response times."""

CHECK_BATCH = 5_000
"""The number of logs to check in one call, which takes a few milliseconds."""

LAST = (inf, 0)
"""A position after all calls."""

CHECKS_PER_NEW_LOG = 2
"""The number of logs to check for each new one, so that the number of idle ones stays limited."""


class LocalReservation(Struct):
    """A request in the budgets' logs, or in the queue of one of them."""

    counters: "LocalCounters"
    charges: Sequence[ResolvedCharge]
    key: tuple[float, int]
    """The position of its call."""

    at: float
    """The time at which the units were taken."""

    is_new: bool = False
    """Whether it is the first one of its call."""

    wait: float = 0.0
    granted: bool = True
    taken: Sequence[tuple[SlidingWindowLog, LogEntry]] = ()
    waiter: Waiter | None = None

    def begin_sending(self) -> bool:
        """Count the request from now on, or return False if the reservation has expired."""
        now = self.counters.clock.now()
        late = now - self.at
        if late <= NEGLIGIBLE_SECONDS:
            return True
        if any(late > window.budget.per_seconds * STALE_FRACTION for window, _ in self.taken):
            return False
        for window, entry in self.taken:
            window.move(entry, now)
        return True

    async def wait_turn(self) -> None:
        """Wait until the request should be confirmed."""
        if self.waiter is not None:
            await self.waiter.wait(self.counters.clock, self.wait)

    async def confirm(self) -> float:
        """Take the units if they fit now after those of earlier calls.

        Returns 0 if the request may be sent now, otherwise the seconds to wait.
        """
        # The units of an expired reservation are taken again, from the current time.
        self._return_units()
        now = self.counters.clock.now()
        self.counters.place(self, now)
        if self.wait > 0 and self.waiter is not None:
            self.waiter.wake_others(now + self.wait)
        return self.wait

    def _return_units(self) -> None:
        for window, entry in self.taken:
            window.remove(entry)
        self.taken = ()

    def release(self) -> None:
        """Release the reservation."""
        if self.waiter is not None:
            self.waiter.leave()
        self._return_units()
        self.counters.expect_nothing(self.charges, self.key)

    def record_end(self, *, responded: bool) -> None:
        """Count the request from the latest time at which it can have arrived. It has ended now."""
        now = self.counters.clock.now()
        for window, entry in self.taken:
            window.record_end(entry, now, responded=responded)


class LocalCounters:
    """Counters, reservations and locks in the memory of one process."""

    state = "memory"
    unavailable_seconds = None
    """None, because it is always available."""

    counted_locally = 0

    def __init__(self, clock: Clock, timeouts: Timeouts | None = None) -> None:
        self.clock = clock
        self._locks = NamedLocks(timeouts or Timeouts())
        self._logs: dict[str, SlidingWindowLog] = {}
        self._unchecked_names: Iterator[str] = iter(())
        """The names of the logs that are still to be checked in this round."""

        self._blocked_until: dict[str, float] = {}
        """The end of each vendor's block by budget name, including budgets without a log."""

        self._added_since_check = 0
        """The number of logs added since the last check."""

    async def consume(self, charge: ResolvedCharge) -> RateLimitWindow:
        """Take units now, or none if the window has too few left."""
        self._drop_idle_before_use()
        now, window = self.clock.now(), self._get_log(charge)
        at = window.earliest(now, charge.units)
        if at <= now:
            window.insert(LogEntry(now, charge.units))
        return RateLimitWindow(int(charge.budget.limit), int(window.remaining_now), at - now)

    async def peek(self, charge: ResolvedCharge) -> RateLimitWindow:
        """Return the state of the window without taking anything."""
        self._drop_idle_before_use()
        return RateLimitWindow(int(charge.budget.limit), int(self._get_log(charge).remaining(self.clock.now())))

    async def reserve(
        self, charges: Sequence[ResolvedCharge], max_wait_seconds: float, position: CallPosition | None = None
    ) -> LocalReservation:
        """Reserve all *charges* after those of earlier calls, or nothing if that is after *max_wait_seconds*."""
        now = self.clock.now()
        position = position or CallPosition(now)
        reservation = LocalReservation(self, charges, (position.arrived_at, position.number), now)
        reservation.is_new, position.is_new = position.is_new, False
        self.place(reservation, now, now + max_wait_seconds)
        return reservation

    def place(self, reservation: LocalReservation, now: float, start_by: float | None = None) -> None:
        """Take the units of *reservation* if they fit *now* after those of earlier calls, otherwise queue it.

        A new one has a *start_by*, and is rejected if it is expected to wait for longer.
        """
        self._drop_idle_before_use()
        key = reservation.key
        requested = [(self._get_log(charge), charge) for charge in reservation.charges]
        due, slowest = now, None
        for window, charge in requested:
            at = window.earliest(now, window.units_before(key, now)[0] + charge.units)
            if at > due:
                due, slowest = at, (window, charge)
        if slowest is None:
            self._take(reservation, requested, now)
            return
        # Calls that were queued earlier may need further requests, which go first.
        if start_by is not None:
            due = max(
                [_expected_due(window, charge, key, now, is_new=reservation.is_new) for window, charge in requested]
            )
        reservation.wait = due - now
        # Rejected immediately, with the correct waiting time, instead of after the wait.
        if start_by is not None and due > start_by:
            reservation.granted = False
            return
        window, charge = slowest
        if reservation.waiter is None:
            reservation.waiter = Waiter(key, inf if start_by is None else start_by)
        reservation.waiter.join(window.get_waiting(), charge)

    def _take(
        self, reservation: LocalReservation, requested: Sequence[tuple[SlidingWindowLog, ResolvedCharge]], now: float
    ) -> None:
        if reservation.waiter is not None:
            reservation.waiter.leave()
        reservation.at, reservation.wait = now, 0.0
        reservation.taken = [(window, window.take(reservation.key, charge, now)) for window, charge in requested]

    def expect_nothing(self, charges: Sequence[ResolvedCharge], key: tuple[float, int]) -> None:
        """Expect no further requests of the call of *key*."""
        for charge in charges:
            window = self._logs.get(charge.name)
            if window is not None and window.waiting is not None:
                window.waiting.expect(key, 0.0, self.clock.now())

    async def count_sent(self, charges: Sequence[ResolvedCharge]) -> None:
        """Count a request that has been sent already, even if it does not fit."""
        self.count(charges, 0)

    async def hold_place(
        self, charges: Sequence[ResolvedCharge], max_wait_seconds: float, position: CallPosition
    ) -> float:
        """Hold the place of a call that waits for another one, or return when its turn is, if that is too late."""
        self._drop_idle_before_use()
        now, key = self.clock.now(), (position.arrived_at, position.number)
        requested = [(self._get_log(charge), charge) for charge in charges]
        wait = max(
            [_expected_due(window, charge, key, now, is_new=position.is_new) - now for window, charge in requested]
        )
        if wait > max_wait_seconds:
            return wait
        position.is_new = False
        for window, charge in requested:
            window.get_waiting().expect(key, charge.expected_units, inf)
        return 0.0

    def leave_place(self, charges: Sequence[ResolvedCharge], position: CallPosition) -> None:
        """Expect the requests of a call that held a place very soon."""
        for charge in charges:
            window = self._logs.get(charge.name)
            if window is not None and window.waiting is not None:
                key = (position.arrived_at, position.number)
                window.waiting.expect(key, charge.expected_units, self.clock.now())

    async def try_reserve_idle(self, charges: Sequence[ResolvedCharge]) -> LocalReservation:
        """Reserve the current time if that leaves ``HEADROOM`` for calls.

        Otherwise reserves nothing, and returns when to try again.
        """
        self._drop_idle_before_use()
        now = self.clock.now()
        requested = [(self._get_log(charge), charge) for charge in charges]
        due = max(
            [
                window.earliest(now, window.units_before(LAST, now)[0] + with_headroom(charge))
                for window, charge in requested
            ],
            default=now,
        )
        reservation = LocalReservation(self, charges, LAST, now, wait=due - now, granted=due <= now)
        if reservation.granted:
            self._take(reservation, requested, now)
        return reservation

    def count(self, charges: Sequence[ResolvedCharge], number: int) -> None:
        """Count a request that the shared store let through under *number*, now, even if it does not fit here."""
        self._drop_idle_before_use()
        now = self.clock.now()
        for charge in charges:
            window = self._get_log(charge)
            # This also removes entries that have left the window.
            window.remaining(now)
            window.insert(LogEntry(now, charge.units, number=number))

    def forget(self, charges: Sequence[ResolvedCharge], number: int) -> None:
        """Remove the request counted under *number*."""
        for charge in charges:
            if (window := self._logs.get(charge.name)) is not None:
                window.forget_number(number)

    @property
    def names(self) -> list[str]:
        """The names of the known budgets."""
        return list(self._logs)

    def recent_requests(self, name: str, late: float) -> tuple[Budget, list[LogEntry]] | None:
        """Return a budget and the sent requests that may be in the window that ends now, or None if it is unknown.

        A request may have arrived up to *late* seconds after it was let through, but at most half a window.
        """
        window = self._logs.get(name)
        if window is None:
            return None
        return window.full_budget, window.sent_units(self.clock.now(), min(late, max_delay(window.full_budget)))

    async def block(self, charges: Sequence[ResolvedCharge], seconds: float) -> None:
        """Block these budgets for *seconds*."""
        self.set_blocked({charge.name: seconds for charge in charges})

    def set_blocked(self, seconds_by_name: Mapping[str, float]) -> None:
        """Record the seconds for which budgets are blocked, by name, including budgets not used here."""
        now = self.clock.now()
        self._blocked_until = {name: until for name, until in self._blocked_until.items() if until > now}
        for name, seconds in seconds_by_name.items():
            until = self._blocked_until[name] = max(self._blocked_until.get(name, 0.0), now + seconds)
            if (window := self._logs.get(name)) is not None:
                window.blocked_until = max(window.blocked_until, until)

    def unblock(self, prefix: str = UPSTREAM) -> None:
        """Unblock the budgets that vendors have blocked, if their names begin with *prefix*."""
        self._blocked_until = {
            name: until for name, until in self._blocked_until.items() if not name.startswith(prefix)
        }
        for name, window in self._logs.items():
            if name.startswith(prefix):
                window.blocked_until = 0.0

    def blocked_seconds(self, name: str) -> float:
        """Return the seconds for which a budget is still blocked by the vendor, ignoring suspensions."""
        until = self._blocked_until.get(name)
        return 0.0 if until is None else max(0.0, until - self.clock.now())

    def suspend(self, charge: ResolvedCharge, seconds: float) -> None:
        """Block a budget for *seconds* in this process only."""
        window = self._get_log(charge)
        window.blocked_until = max(window.blocked_until, self.clock.now() + seconds)

    def lock(self, name: str) -> AbstractAsyncContextManager[None]:
        """Lock the object *name* inside the context. Raises ``UpstreamConflict`` if that takes too long."""
        return self._locks.acquire(name)

    def _get_log(self, charge: ResolvedCharge) -> SlidingWindowLog:
        window = self._logs.get(charge.name)
        if window is None:
            self._added_since_check += 1
            window = self._logs[charge.name] = SlidingWindowLog(charge.budget)
            window.blocked_until = self._blocked_until.get(charge.name, 0.0)
        # Settings may have changed the budget since. Earlier requests stay counted.
        window.budget, window.full_budget = charge.budget, charge.full_budget or charge.budget
        return window

    def _drop_idle_before_use(self) -> None:
        # This must precede any use of a log, because an idle one in use by a request would be dropped with its new
        # entry.
        if self._added_since_check:
            self._drop_idle_logs(CHECKS_PER_NEW_LOG * self._added_since_check)
            self._added_since_check = 0

    async def evict_idle(self) -> None:
        """Drop the entries of idle logs, a limited number in each call."""
        self._drop_idle_logs(CHECK_BATCH)

    def _drop_idle_logs(self, count: int) -> None:
        now, names = self.clock.now(), list(islice(self._unchecked_names, count))
        if len(names) < count:
            self._unchecked_names = iter(list(self._logs))
        for name in names:
            window = self._logs.get(name)
            if (
                window is not None
                and window.drop_if_idle(now)
                and (not window.has_samples or len(self._logs) > MAX_IDLE_LOGS)
            ):
                del self._logs[name]


def _expected_due(
    window: SlidingWindowLog, charge: ResolvedCharge, key: tuple[float, int], now: float, *, is_new: bool
) -> float:
    """Return the time by which everything ahead is expected to have been sent, and the units of *charge*."""
    units = charge.units
    # A new call must not delay others that have been accepted. If they arrived later, all its requests precede theirs.
    if is_new and window.has_after(key):
        units += charge.expected_units
    return window.earliest(now, window.units_before(LAST if is_new else key, now)[1] + units)


def with_headroom(charge: ResolvedCharge) -> float:
    """Return the units of *charge* plus the headroom for calls, limited to the budget."""
    return min(charge.units + max(1, charge.budget.limit * HEADROOM), charge.budget.limit)
