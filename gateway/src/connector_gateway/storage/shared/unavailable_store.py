"""Degraded mode: while the shared store is unavailable, each process counts within a local share of every budget.

It lasts for up to a minute.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import structlog

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import SharedStoreUnavailable
from connector_gateway.kit.task_cancellation import cancel_and_wait
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.data_loss_recovery import DataLossRecovery
from connector_gateway.storage.shared.interface import (
    CallPosition,
    Lease,
    RateLimitWindow,
    ResolvedCharge,
    StoredReservation,
    StoreUnavailable,
)
from connector_gateway.storage.shared.local_counters import LocalCounters
from connector_gateway.storage.sql.backup_restore_witness import Epoch

if TYPE_CHECKING:
    from connector_gateway.storage.shared.valkey import ValkeyCounters, ValkeyReservation

LOCAL_QUOTA = 0.5
"""The part of a budget that all processes together use in degraded mode. Earlier requests may be in the same window."""

MAX_WAITED_WINDOW_SECONDS = 2.0
"""Windows up to this length are waited out, because it is unknown how much of them others have used."""

MAX_DEGRADED_SECONDS = 60.0
"""The maximum duration of degraded mode: the window of a key."""

MAX_TRACKED_BUDGETS = 10_000
"""The number of budgets whose largest request is remembered. Each account has its own."""

PROBE_SECONDS = 0.5
"""Seconds between two probes of the store."""

PROBE_VALID_SECONDS = 1.5 * PROBE_SECONDS
"""Seconds after a failed probe for which the store is known to be unavailable."""

log = structlog.get_logger()


@dataclass(slots=True)
class FallbackReservation:
    """A reservation in the store, or in the local share while the store is unavailable."""

    shared: "FallbackCounters"
    charges: Sequence[ResolvedCharge]
    position: CallPosition
    stored: "ValkeyReservation | None" = None
    """The reservation in the store, or None if the store has not been reachable yet."""

    local: StoredReservation | None = None
    """The reservation of the local share, or None while the store is available."""

    is_recorded: bool = False
    """Whether this process has recorded that the store let the request through."""

    @property
    def granted(self) -> bool:
        """False if the reservation would have been due too late."""
        reservation = self.local or self.stored
        return reservation is None or reservation.granted

    @property
    def wait(self) -> float:
        """The seconds until the request can be sent, or until the next attempt, at the time of the last one."""
        if self.local is not None:
            # A queued request may return to the store's queue as soon as the store is available.
            return min(self.local.wait, PROBE_SECONDS) if self.local.granted else self.local.wait
        return 0.0 if self.stored is None else self.stored.wait

    async def wait_turn(self) -> None:
        """Wait until the request should be confirmed."""
        reservation = self.local or self.stored
        if reservation is not None:
            await reservation.wait_turn()

    def begin_sending(self) -> bool:
        """Count the request from now on, or return False if the reservation has expired."""
        reservation = self.local or self.stored
        return reservation is None or reservation.begin_sending()

    async def confirm(self) -> float:
        """Confirm the reservation.

        Returns 0 if the request may be sent now, otherwise the seconds until the next try.
        """
        unavailable = None
        if self.shared.unavailable_seconds is None:
            try:
                return await self._confirm_in_store()
            except StoreUnavailable as error:
                unavailable = error
        return await self._confirm_locally(unavailable)

    async def _confirm_in_store(self) -> float:
        if self.stored is None:
            self.stored = await self.shared.store.reserve(self.charges, inf, self.position)
        else:
            await self.stored.confirm()
        if self.local is not None:
            self.local.release()
            self.local = None
        if self.is_recorded:
            self.shared.forget(self.charges, self.stored.number)
        self.is_recorded = self.stored.wait <= 0
        if self.is_recorded:
            self.shared.record(self.charges, self.stored.number)
        return self.stored.wait

    async def _confirm_locally(self, unavailable: StoreUnavailable | None) -> float:
        if self.local is None:
            self.local = await self.shared.reserve_local_quota(self.charges, inf, self.position, unavailable)
        else:
            if unavailable is not None:
                self.shared.enter_degraded_mode(unavailable)
            self.shared.suspend_short_windows(self.charges)
            await self.local.confirm()
        if self.stored is not None:
            self.stored.release()
        if self.local.wait <= 0:
            self.shared.recount.mark_dirty(self.charges)
        return self.wait

    def release(self) -> None:
        """Release the reservation."""
        for reservation in (self.stored, self.local):
            if reservation is not None:
                reservation.release()

    def record_end(self, *, responded: bool) -> None:
        """Count the request from the latest time at which it can have arrived."""
        reservation = self.local or self.stored
        if reservation is not None:
            reservation.record_end(responded=responded)


class FallbackCounters:
    """The shared store, with local counters as a fallback while it is unavailable."""

    name = "shared store"

    def __init__(
        self,
        store: "ValkeyCounters",
        local: LocalCounters,
        clock: Clock,
        processes: Callable[[], int],
    ) -> None:
        self.store = store
        self._local = local
        self.clock = clock
        self._processes = processes
        """Returns the number of live processes, including this one."""

        self._unavailable_since: float | None = None
        self._probe_succeeded = False
        """Whether the last probe succeeded. Other processes may not have noticed the store yet."""

        self._failed_at = -inf
        """The time of the last probe, if it failed to reach the store."""

        self._last_error = ""
        self._max_units: dict[str, float] = {}
        """The largest number of units that a single request has used of each budget."""

        self.counted_locally = 0
        self.recount = DataLossRecovery(store, local, clock)

    @asynccontextmanager
    async def open(self, installation_id: str, *, is_new: bool) -> AsyncIterator[None]:
        """Connect to the store inside the context, if it is available."""
        async with self.store:
            await self._begin(installation_id, is_new=is_new)
            probing = asyncio.create_task(self._probe_loop(), name="probing the shared store")
            try:
                yield
            finally:
                await cancel_and_wait(probing)

    async def _begin(self, installation_id: str, *, is_new: bool) -> None:
        try:
            await self.store.begin(installation_id, is_new=is_new)
            await self.store.check()
        except StoreUnavailable as error:
            self.enter_degraded_mode(error)

    async def read(self, installation_id: str) -> Epoch | None:
        """Return the last database epoch known to the store (0 if none), or None while the store is unavailable."""
        if self._unavailable_since is None:
            with suppress(StoreUnavailable):
                return Epoch(installation_id, await self.store.epoch() or 0)
        return None

    async def write(self, epoch: Epoch) -> None:
        """Store the database epoch, unless the store is unavailable."""
        if self._unavailable_since is None:
            with suppress(StoreUnavailable):
                await self.store.set_epoch(epoch.number)

    @property
    def unavailable_seconds(self) -> float | None:
        """The seconds for which the store has been unavailable, or None while it is available."""
        return None if self._unavailable_since is None else self.clock.now() - self._unavailable_since

    async def check(self) -> None:
        """Raise an error if calls are rejected because the store has been unavailable for too long."""
        if self.unavailable_seconds is not None:
            self._check_not_too_long()

    @property
    def state(self) -> str:
        """The name of the store, and whether it is available."""
        seconds = self.unavailable_seconds
        if seconds is None:
            return self.store.name
        if seconds < MAX_DEGRADED_SECONDS:
            return f"{self.store.name} is unavailable; local share for another {MAX_DEGRADED_SECONDS - seconds:.0f} s"
        return f"{self.store.name} is unavailable"

    async def consume(self, charge: ResolvedCharge) -> RateLimitWindow:
        """Take units now, or none if the window has too few left."""
        window = await self._query_with_fallback(self.store.consume, charge, self._local.consume)
        if window.retry_after <= 0:
            if window.is_local:
                self.recount.mark_dirty([charge])
            else:
                self.record([charge], window.number)
        return window

    async def peek(self, charge: ResolvedCharge) -> RateLimitWindow:
        """Return the state of the window without taking anything."""
        return await self._query_with_fallback(self.store.peek, charge, self._local.peek)

    async def _query_with_fallback(
        self,
        query: Callable[[ResolvedCharge], Awaitable[RateLimitWindow]],
        charge: ResolvedCharge,
        query_local: Callable[[ResolvedCharge], Awaitable[RateLimitWindow]],
    ) -> RateLimitWindow:
        try:
            if self._unavailable_since is None:
                return await query(charge)
        except StoreUnavailable as error:
            self.enter_degraded_mode(error)
        self._check_not_too_long()
        self.counted_locally += 1
        window = await query_local(self._local_charge(charge))
        window.is_local = True
        return window

    async def reserve(
        self, charges: Sequence[ResolvedCharge], max_wait_seconds: float, position: CallPosition | None = None
    ) -> StoredReservation:
        """Reserve all *charges* after those of earlier calls, or nothing if that is after *max_wait_seconds*."""
        position = position or CallPosition(self.clock.now())
        unavailable = None
        if self._unavailable_since is None:
            try:
                stored = await self.store.reserve(charges, max_wait_seconds, position)
                return self._wrap_reservation(charges, position, stored)
            except StoreUnavailable as error:
                unavailable = error
        local = await self.reserve_local_quota(charges, max_wait_seconds, position, unavailable)
        if local.wait <= 0:
            self.recount.mark_dirty(charges)
        return FallbackReservation(self, charges, position, local=local)

    async def reserve_local_quota(
        self,
        charges: Sequence[ResolvedCharge],
        max_wait_seconds: float,
        position: CallPosition,
        error: StoreUnavailable | None = None,
    ) -> StoredReservation:
        """Reserve units of the local share."""
        if error is not None:
            self.enter_degraded_mode(error)
        self._check_not_too_long()
        self.counted_locally += 1
        return await self._local.reserve(self._local_charges(charges), max_wait_seconds, position)

    async def hold_place(
        self, charges: Sequence[ResolvedCharge], max_wait_seconds: float, position: CallPosition
    ) -> float:
        """Hold the place of a call that waits for another one, or return when its turn is, if that is too late."""
        try:
            if self._unavailable_since is None:
                return await self.store.hold_place(charges, max_wait_seconds, position)
        except StoreUnavailable as error:
            self.enter_degraded_mode(error)
        self._check_not_too_long()
        return await self._local.hold_place(self._local_charges(charges), max_wait_seconds, position)

    def leave_place(self, charges: Sequence[ResolvedCharge], position: CallPosition) -> None:
        """Expect the requests of a call that held a place very soon."""
        if self._unavailable_since is None:
            self.store.leave_place(charges, position)
            charges = [ResolvedCharge(charge.name, charge.budget, 0) for charge in charges]
        self._local.leave_place(charges, position)

    async def try_reserve_idle(self, charges: Sequence[ResolvedCharge]) -> StoredReservation:
        """Reserve the current time if that leaves ``HEADROOM`` for calls.

        Otherwise reserves nothing, and returns when to try again.
        """
        try:
            if self._unavailable_since is None:
                position = CallPosition(self.clock.now())
                return self._wrap_reservation(charges, position, await self.store.try_reserve_idle(charges))
        except StoreUnavailable as error:
            self.enter_degraded_mode(error)
        self._check_not_too_long()
        self.counted_locally += 1
        reservation = await self._local.try_reserve_idle(self._local_charges(charges))
        if reservation.granted:
            self.recount.mark_dirty(charges)
        return reservation

    def _wrap_reservation(
        self, charges: Sequence[ResolvedCharge], position: CallPosition, reservation: "ValkeyReservation"
    ) -> StoredReservation:
        is_sent = reservation.granted and reservation.wait <= 0
        if is_sent:
            self.record(charges, reservation.number)
        return FallbackReservation(self, charges, position, reservation, is_recorded=is_sent)

    async def count_sent(self, charges: Sequence[ResolvedCharge]) -> None:
        """Count a request that has been sent already, even if it does not fit."""
        try:
            if self._unavailable_since is None:
                await self.store.count_sent(charges)
                return
        except StoreUnavailable as error:
            self.enter_degraded_mode(error)
        await self._local.count_sent(self._local_charges(charges))
        self.recount.mark_dirty(charges)

    def record(self, charges: Sequence[ResolvedCharge], number: int) -> None:
        """Record a request that the store has granted, because the local share includes earlier requests."""
        self._local.count(charges, number)

    def forget(self, charges: Sequence[ResolvedCharge], number: int) -> None:
        """Remove the record of a reservation that has to be confirmed again."""
        self._local.forget(charges, number)

    async def block(self, charges: Sequence[ResolvedCharge], seconds: float) -> None:
        """Block these budgets for *seconds*, in the store and in the local share."""
        # Also block the local share. If the store becomes unavailable next, the share must not ignore this block.
        await self._local.block([self._local_charge(charge) for charge in charges], seconds)
        try:
            if self._unavailable_since is None:
                await self.store.block(charges, seconds)
                return
        except StoreUnavailable as error:
            self.enter_degraded_mode(error)
        self.recount.mark_dirty(charges)

    def blocked_seconds(self, name: str) -> float:
        """Return the seconds for which a vendor has blocked a budget, as far as this process knows."""
        return self._local.blocked_seconds(name)

    @asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[Lease | None]:
        """Lock the object *name* inside the context. Without the store, this requires that no other process lives.

        The local lock comes first, so that at most one task of each process requests the lease.
        """
        async with self._local.lock(name):
            # Entered by hand: only the start can fail without the store, and an error inside belongs to the caller.
            lease = self.store.lock(name)
            try:
                acquired = None if self._unavailable_since is not None else await lease.__aenter__()
            except StoreUnavailable as error:
                self.enter_degraded_mode(error)
                acquired = None
            if acquired is None:
                self._check_exclusive()
                yield None
                return
            try:
                yield acquired
            finally:
                await lease.__aexit__(None, None, None)

    async def evict_idle(self) -> None:
        """Remove state that is no longer used."""
        await self._local.evict_idle()

    def _local_charges(self, charges: Sequence[ResolvedCharge]) -> list[ResolvedCharge]:
        self.suspend_short_windows(charges)
        return [self._local_charge(charge) for charge in charges]

    def suspend_short_windows(self, charges: Sequence[ResolvedCharge]) -> None:
        """Block the shares of short windows while other processes may use these windows."""
        if self._processes() > 1:
            for charge in charges:
                seconds = self._seconds_of_others(charge.budget.per_seconds)
                if seconds > 0:
                    self._local.suspend(self._local_charge(charge), seconds)

    def _seconds_of_others(self, per_seconds: float) -> float:
        """Return the seconds for which other processes may still use a window, if it is a short one."""
        if per_seconds > MAX_WAITED_WINDOW_SECONDS:
            return 0.0
        now = self.clock.now()
        # The store may be available again and in use by others. A process that was frozen, or that alone noticed a
        # short failure, learns that with the next probe.
        unsure = PROBE_SECONDS if now - self._failed_at > PROBE_VALID_SECONDS else 0.0
        return max(unsure, per_seconds - (self.unavailable_seconds or 0.0))

    def _local_charge(self, charge: ResolvedCharge) -> ResolvedCharge:
        """Return the charge against the local share of the budget, which may be smaller than a single request."""
        budget, max_units = charge.budget, max(charge.units, self._max_units.get(charge.name, 1.0))
        if max_units > 1:
            self._remember_units(charge.name, max_units)
        # Every live process takes the same share, and none knows what the others use.
        limit = budget.limit * LOCAL_QUOTA / max(1, self._processes())
        if limit >= max_units:
            return ResolvedCharge(
                charge.name, Budget(limit, budget.per_seconds), charge.units, budget, charge.expected_units
            )
        # A share smaller than one request would never release it, so the same rate applies over a longer window.
        long_budget = Budget(max_units, budget.per_seconds * max_units / limit)
        return ResolvedCharge(charge.name, long_budget, charge.units, budget, charge.expected_units)

    def _remember_units(self, name: str, units: float) -> None:
        # Reinserted, so that the first entry is the least recently used one.
        self._max_units.pop(name, None)
        self._max_units[name] = units
        if len(self._max_units) > MAX_TRACKED_BUDGETS:
            del self._max_units[next(iter(self._max_units))]

    def enter_degraded_mode(self, error: StoreUnavailable) -> None:
        """Work without the store from now on."""
        if self._unavailable_since is None:
            self._unavailable_since = self.clock.now()
            log.warning("shared store unavailable", store=self.store.name, private=str(error))
        self._record_failure(error)

    def _record_failure(self, error: StoreUnavailable) -> None:
        self._last_error, self._failed_at = str(error), self.clock.now()

    def _check_not_too_long(self) -> None:
        if (self.unavailable_seconds or 0.0) >= MAX_DEGRADED_SECONDS:
            raise self._unavailable("The shared store has been unavailable for too long to count calls without it.")

    def _check_exclusive(self) -> None:
        if self._processes() > 1:
            raise self._unavailable("No object can be locked while the shared store is unavailable; nothing was sent.")

    def _unavailable(self, message: str) -> SharedStoreUnavailable:
        return SharedStoreUnavailable(message, private=self._last_error, retry_after=PROBE_SECONDS)

    async def _probe_loop(self) -> None:
        while True:
            await self.clock.sleep(PROBE_SECONDS)
            await self._probe()

    async def _probe(self) -> None:
        try:
            if self._unavailable_since is not None:
                await self.store.check()
            # Before the store is used again, it must know what was used without it.
            await self.recount.replay()
        except StoreUnavailable as error:
            self._record_failure(error)
            self._probe_succeeded = False
        else:
            self._failed_at = -inf
            self._leave_degraded_mode()

    def _leave_degraded_mode(self) -> None:
        """Return to the store after two successful probes. Until then, other processes may still use their shares."""
        if self._unavailable_since is not None and self._probe_succeeded:
            self._unavailable_since = None
            log.warning("shared store available again", store=self.store.name)
        self._probe_succeeded = self._unavailable_since is not None
