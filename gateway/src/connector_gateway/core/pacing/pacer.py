"""Pacing of upstream requests, in order and at the rate that the vendor allows.

A request waits for its rate-limit reservation if its deadline permits, and is rejected otherwise.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from connector_gateway.core.pacing.budget_usage import UsageTracker
from connector_gateway.core.pacing.call_costs import CallCost
from connector_gateway.core.shutdown import Shutdown
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import UpstreamRateLimited
from connector_gateway.kit.upstream.budget import Budget, Charge, Deadline, Reservation
from connector_gateway.storage.shared.interface import (
    UPSTREAM,
    CallPosition,
    ResolvedCharge,
    SharedState,
    StoredReservation,
)

YIELD_SECONDS = 20.0
"""Seconds for which a poll's request yields to other requests."""

SLACK = 1.003
"""The factor by which local windows are longer than the vendor's, because clocks differ slightly."""

SLACK_SECONDS = 0.006
"""The minimum seconds by which local windows are longer. The latency of a request is known only from its response,
which can arrive after a short window has ended.
"""


MARGIN = 1.07
"""The factor by which a queue may be slower than expected, because requests leave late and calls differ."""


def with_slack(budgets: Mapping[str, Budget]) -> Mapping[str, Budget]:
    """Return *budgets* with windows lengthened by the factor ``SLACK``, and by at least ``SLACK_SECONDS``."""
    return {
        name: Budget(budget.limit, max(budget.per_seconds * SLACK, budget.per_seconds + SLACK_SECONDS))
        for name, budget in budgets.items()
    }


def without_slack(per_seconds: float) -> float:
    """Return the vendor's window, given a window that ``with_slack`` has lengthened."""
    return min(per_seconds / SLACK, per_seconds - SLACK_SECONDS)


HOLD_AFTER_SECONDS = 0.01
"""Seconds after which a call that waits for another one's look-up takes a place. The look-up itself must be in the
queue before, or it would be behind the places of all calls that need it.
"""

T = TypeVar("T")


class ConnectionPacer:
    """Paces the requests of one connection by its connector's budgets."""

    def __init__(
        self,
        connector: str,
        budgets: Mapping[str, Budget],
        account: str,
        shared: SharedState,
        clock: Clock,
        *,
        shutdown: Shutdown | None = None,
        usage: UsageTracker | None = None,
        connection_id: str = "",
        cost: CallCost | None = None,
    ) -> None:
        self._connector = connector
        self._budgets = budgets
        self._account = account
        self._shared = shared
        self._clock = clock
        self._shutdown = shutdown or Shutdown()
        self._usage = usage or UsageTracker(shared, clock)
        self._connection_id = connection_id
        self._cost = cost or CallCost()
        self._has_sent = False
        """Whether a request was sent. If so, the call may finish during shutdown."""

        self._margin = MARGIN
        """``MARGIN``, or 1 once the call was accepted because it holds a place."""

    def acquire(self, charges: Sequence[Charge], deadline: Deadline) -> Awaitable[StoredReservation]:
        """Wait for a reservation. Raises ``UpstreamRateLimited`` immediately if it cannot start by *deadline*."""
        if not self._has_sent:
            self._shutdown.check()
        return self._reserve(charges, deadline)

    async def _reserve(self, charges: Sequence[Charge], deadline: Deadline) -> StoredReservation:
        cost = self._cost
        if charges:
            cost.add(charges, self._budgets)
        if cost.position is None:
            cost.position = CallPosition(self._clock.now())
        resolved = self._resolve_charges(charges)
        max_wait = self._remaining(deadline)
        # A call that is not accepted can be repeated. One that has started would be wasted.
        if not self._has_sent:
            max_wait /= self._margin
        reservation = await self._shared.reserve(resolved, max_wait, cost.position)
        if reservation.wait > 0:
            if not reservation.granted:
                raise _too_long(reservation.wait)
            with self._usage.track_waiting(resolved, self._connection_id):
                await self._wait(reservation, deadline)
        self._usage.record_sent(resolved, self._connection_id)
        self._has_sent = True
        return reservation

    async def wait_for_lookup(self, lookup: asyncio.Future[T], deadline: Deadline) -> T:
        """Wait for a *lookup* that another call has begun, and hold the place for this call's own requests meanwhile.

        Raises ``UpstreamRateLimited`` early if they cannot start by *deadline*.
        """
        timer = asyncio.ensure_future(self._clock.sleep(HOLD_AFTER_SECONDS))
        either: set[asyncio.Future[Any]] = {lookup, timer}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            timer.cancel()
        if not lookup.done():
            async with self._hold_place(deadline):
                return await asyncio.shield(lookup)
        return await asyncio.shield(lookup)

    @asynccontextmanager
    async def _hold_place(self, deadline: Deadline) -> AsyncIterator[None]:
        """Hold the place of the call inside the context. Raises ``UpstreamRateLimited`` if it cannot start in time."""
        cost = self._cost
        charges = [Charge(budget) for budget in cost.typical if cost.remaining(budget) > 0]
        if cost.position is None or not charges:
            yield
            return
        max_wait = self._remaining(deadline) / (1 if self._has_sent else self._margin)
        wait = await self._shared.hold_place(self._resolve_charges(charges), max_wait, cost.position)
        if wait > 0:
            raise _too_long(wait)
        self._margin = 1.0
        try:
            yield
        except BaseException:
            # Without the look-up, the call sends nothing.
            cost.typical = {}
            raise
        finally:
            self._shared.leave_place(self._resolve_charges(charges), cost.position)

    async def reacquire(self, reservation: Reservation, deadline: Deadline) -> None:
        """Wait until the expired *reservation* is confirmed again. Raises like ``acquire``."""
        # Otherwise a process that is delayed each time would repeat this forever.
        if (remaining := self._remaining(deadline)) < 0:
            reservation.release()
            raise _too_long(-remaining)
        await reservation.confirm()
        await self._wait(reservation, deadline)

    async def _wait(self, reservation: Reservation, deadline: Deadline) -> None:
        """Wait until *reservation* is confirmed. Raises if earlier requests delay it beyond *deadline*."""
        try:
            while reservation.wait > 0:
                await self._wait_turn(reservation)
                wait = await reservation.confirm()
                if wait > 0 and wait > self._remaining(deadline):
                    raise _too_long(wait)
        # Release it even if the caller is cancelled: an unused reservation would delay the requests behind it.
        except BaseException:
            reservation.release()
            raise

    def _remaining(self, deadline: Deadline) -> float:
        """Return the seconds until *deadline*. The requests of a call itself take as long as its budgets are slow."""
        return deadline.start_by + self._cost.own_seconds - self._clock.now()

    def _wait_turn(self, reservation: Reservation) -> Awaitable[None]:
        turn = reservation.wait_turn()
        return turn if self._has_sent else self._shutdown.wait(turn)

    async def block(self, charges: Sequence[Charge], seconds: float) -> None:
        """Block these budgets for *seconds*, as the vendor's throttling response demands."""
        resolved = self._resolve_charges(charges)
        self._usage.record_throttled(resolved)
        await self._shared.block(resolved, seconds)

    def _resolve_charges(self, charges: Sequence[Charge]) -> list[ResolvedCharge]:
        return [self._resolve_charge(charge) for charge in charges]

    def _resolve_charge(self, charge: Charge) -> ResolvedCharge:
        name = f"{UPSTREAM}:{self._connector}:{charge.budget}:{charge.scope_key or self._account}"
        budget = self._budgets[charge.budget]
        # Otherwise a request that costs more than the limit of its budget would never be sent.
        expected = self._cost.remaining(charge.budget)
        return ResolvedCharge(name, budget, min(charge.units, budget.limit), expected_units=expected)


class BackgroundPacer(ConnectionPacer):
    """Paces the requests of polls. They yield to calls, and leave headroom for the next calls."""

    async def acquire(self, charges: Sequence[Charge], deadline: Deadline) -> StoredReservation:
        """Wait until the budgets are idle. After ``YIELD_SECONDS``, queue like a call."""
        resolved = self._resolve_charges(charges)
        yields_until = min(self._clock.now() + YIELD_SECONDS, deadline.start_by)
        while (remaining := yields_until - self._clock.now()) > 0:
            reservation = await self._shared.try_reserve_idle(resolved)
            if reservation.granted:
                self._usage.record_sent(resolved, self._connection_id)
                return reservation
            await self._clock.sleep(min(reservation.wait, remaining))
        self._has_sent = True
        self._cost = CallCost()
        return await self._reserve(charges, deadline)


class AnonymousPacer(ConnectionPacer):
    """Paces requests whose account is not known yet, and charges them to that account once it is."""

    def __init__(
        self, connector: str, budgets: Mapping[str, Budget], secrets: str, shared: SharedState, clock: Clock
    ) -> None:
        super().__init__(connector, budgets, secrets, shared, clock)
        self._sent_charges: list[Charge] = []

    async def acquire(self, charges: Sequence[Charge], deadline: Deadline) -> StoredReservation:
        """Wait for a reservation. Other requests compete only for the budgets that all accounts share."""
        reservation = await super().acquire(charges, deadline)
        self._sent_charges += [charge for charge in charges if not charge.scope_key]
        return reservation

    async def attribute_to(self, account: str) -> None:
        """Charge the sent requests to *account*, because its next call can fall into the same window."""
        self._account = account
        for charge in self._sent_charges:
            await self._shared.count_sent(self._resolve_charges([charge]))


def _too_long(wait: float) -> UpstreamRateLimited:
    return UpstreamRateLimited(
        "The vendor's rate limit for this account is used up for longer than a call can wait.", retry_after=wait
    )
