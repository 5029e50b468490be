"""The queue of one budget in this process: requests in order of the arrival of their calls."""

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from itertools import islice
from operator import attrgetter
from typing import Any

from msgspec import Struct, field

from connector_gateway.kit.clock import Clock
from connector_gateway.storage.shared.interface import ResolvedCharge

SILENT_SECONDS = 0.7
"""Seconds after which a request no longer counts if nothing is heard of it. `counting.lua` has the same value."""

ASK_SECONDS = 0.25
"""The maximum seconds between two attempts of the first request. Requests ahead in other processes can disappear."""


class Waiter(Struct, eq=False):
    """A request that waits for a budget."""

    key: Any
    """The position of its call. A smaller one goes first."""

    start_by: float
    """The time until which the request can wait."""

    units: float = 0.0
    rest: float = 0.0
    """The units that its call is expected to use after all of its waiting requests. Only the latest one has it."""

    line: "BudgetQueue | None" = None
    """The queue of the budget that it waits for, which is the one with the longest wait."""

    woken: asyncio.Event = field(default_factory=asyncio.Event)

    def join(self, line: "BudgetQueue", charge: ResolvedCharge) -> None:
        """Wait for the units of *charge* in *line*, and in no other."""
        if self.line is not line:
            self.leave()
            self.line, self.units, self.rest = line, charge.units, charge.expected_units
            line.add(self)

    def leave(self) -> None:
        """Wait no longer."""
        if self.line is not None:
            self.line.remove(self)
            self.line = None

    def wake_others(self, time: float) -> None:
        """Wake the requests behind this one that cannot wait until *time*, if it is the first one."""
        if self.line is not None and self.line.first is self:
            self.line.wake_before(time)

    async def wait(self, clock: Clock, seconds: float) -> None:
        """Wait until the request should be attempted: after *seconds* if it is the first one of its line."""
        timer = None
        if self.line is None or self.line.first is self:
            timer = asyncio.ensure_future(clock.sleep(min(seconds, ASK_SECONDS)))
            timer.add_done_callback(lambda ended: None if ended.cancelled() else self.woken.set())
        try:
            await self.woken.wait()
        finally:
            self.woken.clear()
            if timer is not None:
                timer.cancel()


_key = attrgetter("key")


class BudgetQueue:
    """Waiting requests. Only the first one is attempted, because no other can precede it."""

    __slots__ = ("__weakref__", "_continuing", "_rest", "_units", "_waiters")

    def __init__(self) -> None:
        self._waiters: list[Waiter] = []
        self._units = self._rest = 0.0
        """The sums of all waiters. Without them, each newcomer would pass over the whole queue."""

        self._continuing: dict[Any, tuple[float, float]] = {}
        """Calls whose requests are in progress: the units that they are expected to use afterwards, and until when."""

    def __len__(self) -> int:
        return len(self._waiters)

    @property
    def is_empty(self) -> bool:
        """Whether no request waits, and no call is expected to send another."""
        return not self._waiters and not self._continuing

    @property
    def first(self) -> Waiter | None:
        """The request that goes next."""
        return self._waiters[0] if self._waiters else None

    def add(self, waiter: Waiter) -> None:
        """Add *waiter* behind requests of its own and earlier calls."""
        for other in self._of_call(waiter.key):
            self._rest -= other.rest
            other.rest = 0.0
        self._continuing.pop(waiter.key, None)
        insort(self._waiters, waiter, key=_key)
        self._units, self._rest = self._units + waiter.units, self._rest + waiter.rest

    def remove(self, waiter: Waiter) -> None:
        """Remove *waiter*, and wake the first request if it has changed."""
        index = bisect_left(self._waiters, waiter.key, key=_key)
        while self._waiters[index] is not waiter:
            index += 1
        del self._waiters[index]
        if waiter.rest and (others := self._of_call(waiter.key)):
            others[-1].rest, waiter.rest = waiter.rest, 0.0
        self._units, self._rest = self._units - waiter.units, self._rest - waiter.rest
        if index == 0 and self._waiters:
            self._waiters[0].woken.set()

    def _of_call(self, key: Any) -> Sequence[Waiter]:
        waiters = self._waiters
        return waiters[bisect_left(waiters, key, key=_key) : bisect_right(waiters, key, key=_key)]

    def has_after(self, key: Any) -> bool:
        """Return whether a request of a later call than *key* waits or is expected."""
        return bool(self._waiters and self._waiters[-1].key > key) or any(call > key for call in self._continuing)

    def expect(self, key: Any, units: float, now: float) -> None:
        """Expect the call of *key* to use more *units* soon after *now*, unless requests of it are waiting."""
        if units > 0 and not self._of_call(key):
            self._continuing[key] = (units, now + SILENT_SECONDS)
        else:
            self._continuing.pop(key, None)

    def count_before(self, key: Any, now: float) -> tuple[float, float]:
        """Return the units of requests of calls before *key*, and the units that these calls are expected to use."""
        if self._continuing:
            self._continuing = {call: entry for call, entry in self._continuing.items() if entry[1] >= now}
        continuing = sum([units for call, (units, _) in self._continuing.items() if call < key])
        index, waiters = bisect_left(self._waiters, key, key=_key), self._waiters
        if index <= len(waiters) / 2:
            units, rest = sum([waiter.units for waiter in waiters[:index]]), sum([w.rest for w in waiters[:index]])
        else:
            after = waiters[index:]
            units = self._units - sum([waiter.units for waiter in after])
            rest = self._rest - sum([waiter.rest for waiter in after])
        return units, units + rest + continuing

    def wake_before(self, time: float) -> None:
        """Wake the requests that cannot wait until *time*, but not the first one."""
        for waiter in islice(self._waiters, 1, None):
            if waiter.start_by < time:
                waiter.woken.set()
