"""What a process counts by itself while the shared store is away: its share of budgets, for a minute (decision 57)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import structlog

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import SharedStoreUnavailable
from connector_gateway.kit.tasks import cancel_and_wait
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.storage.shared.interface import (
    Lease,
    RateLimitWindow,
    Reservation,
    ResolvedCharge,
    StoreUnavailable,
)
from connector_gateway.storage.shared.memory import LocalCounters
from connector_gateway.storage.shared.recovery import CountRecovery
from connector_gateway.storage.sql.epochs import Epoch

if TYPE_CHECKING:
    from connector_gateway.storage.shared.valkey import ValkeyCounters, ValkeyReservation

LOCAL_QUOTA = 0.5
"""The part of a budget that all processes together go on with: what was taken before may be in the same window."""

SHORT_SECONDS = 2.0
"""Windows up to this are waited for: nothing is taken while it is not known what others took of them."""

LONGEST_SECONDS = 60.0
"""How long a process goes on without the store: the window of a key."""

REMEMBERED = 10_000
"""Budgets whose largest request is remembered; each account has its own."""

PROBE_SECONDS = 0.5
"""How often it is tried whether the store is back."""

KNOWN_SECONDS = 1.5 * PROBE_SECONDS
"""For how long after such a try it is known that the store is away."""

log = structlog.get_logger()


@dataclass(slots=True)
class FallbackReservation:
    """A turn of the store; while that is away, one of this process's share, which may come first."""

    shared: "FallbackCounters"
    takes: Sequence[ResolvedCharge]
    turn: "ValkeyReservation | None" = None
    """That of the store, unless it could not be asked yet."""

    turn_at: float = 0.0
    """When that comes, or when the store is to be asked again."""

    local: Reservation | None = None
    """That of the share, unless the store was never away."""

    local_at: float = 0.0
    """When that comes."""

    noted: bool = False
    """Whether this process has noted that the store let it through."""

    @property
    def granted(self) -> bool:
        """False where it would have come too late."""
        first = self.turn or self.local
        return first is None or first.granted

    @property
    def wait(self) -> float:
        """Seconds until it comes, or until it is to be confirmed again, when it was given."""
        if self.turn is not None:
            return self.turn.wait
        # Whoever waits for the share goes back to the store's queue as soon as the store is back (decision 65).
        longest = PROBE_SECONDS if self.granted else inf
        return min(self.local.wait, longest) if self.local is not None else 0.0

    def expired(self) -> bool:
        """Whether it came so long ago that a request which leaves now might be in a window of others."""
        turn = self.local or self.turn
        return turn is not None and turn.expired()

    def left(self) -> None:
        """Count the request from now on."""
        turn = self.local or self.turn
        if turn is not None:
            turn.left()

    async def confirm(self) -> float:
        """Confirm that it has come: 0, or the seconds until it is to be confirmed again."""
        away = None
        if self.shared.unavailable_seconds is None:
            try:
                return await self._confirm_in_store()
            except StoreUnavailable as fault:
                away = fault
        return await self._confirm_locally(away)

    async def _confirm_in_store(self) -> float:
        rest = self.turn_at - self.shared.clock.now()
        if self.turn is None:
            self.turn = await self.shared.store.reserve(self.takes, inf)
            wait = self.turn.wait
        # All who wait come at once when the store is back; it would be slow again if each of them asked it.
        elif rest > 0 and self.local is not None:
            wait = rest
        else:
            wait = await self.turn.confirm()
        self.turn_at = self.shared.clock.now() + wait
        if self.local is not None:
            self.local.release()
            self.local = None
        if self.noted:
            self.shared.forget(self.takes, self.turn.number)
        self.noted = wait <= 0
        if self.noted:
            self.shared.note(self.takes, self.turn.number)
        return wait

    async def _confirm_locally(self, away: StoreUnavailable | None) -> float:
        if self.local is None:
            self.local = await self.shared.reserve_local_quota(self.takes, inf, away)
            self.local_at = self.shared.clock.now() + self.local.wait
        elif away is not None:
            self.shared.enter_degraded_mode(away)
        rest = self.local_at - self.shared.clock.now()
        if rest <= 0:
            self.shared.hold_back(self.takes)
            rest = await self.local.confirm()
            self.local_at = self.shared.clock.now() + rest
        if rest <= 0:
            self.shared.recount.mark_dirty(self.takes)
            if self.turn is not None:
                self.turn.release()
        return min(rest, PROBE_SECONDS)

    def release(self) -> None:
        """Give it back."""
        for turn in (self.turn, self.local):
            if turn is not None:
                turn.release()

    def record_response(self) -> None:
        """Count the request from the latest instant at which it can have arrived."""
        turn = self.local or self.turn
        if turn is not None:
            turn.record_response()


class FallbackCounters:
    """The shared store, and what stands in for it while it is away."""

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
        """How many processes live, this one included."""

        self._away_since: float | None = None
        self._returning = False
        """Whether the store was there when it was tried last, and others may not know yet."""

        self._failed_at = -inf
        """When the store could not be reached, if that is what came of the last try."""

        self._why = ""
        self._most: dict[str, float] = {}
        """The most units that were taken at once of each budget by itself."""

        self.counted_locally = 0
        self.recount = CountRecovery(store, local, clock)

    @asynccontextmanager
    async def opened(self, installation_id: str, *, fresh: bool) -> AsyncIterator[None]:
        """Connected while inside, as far as the store is there."""
        async with self.store:
            await self._begin(installation_id, fresh=fresh)
            probing = asyncio.create_task(self._probe_forever(), name="probing the shared store")
            try:
                yield
            finally:
                await cancel_and_wait(probing)

    async def _begin(self, installation_id: str, *, fresh: bool) -> None:
        try:
            await self.store.begin(installation_id, fresh=fresh)
            await self.store.check()
        except StoreUnavailable as away:
            self.enter_degraded_mode(away)

    async def read(self, installation_id: str) -> Epoch | None:
        """Return the last epoch of the database that the store knows, number 0 if none; None while it is away."""
        if self._away_since is None:
            with suppress(StoreUnavailable):
                return Epoch(installation_id, await self.store.epoch() or 0)
        return None

    async def write(self, epoch: Epoch) -> None:
        """Write down the epoch of the database, unless the store is away."""
        if self._away_since is None:
            with suppress(StoreUnavailable):
                await self.store.set_epoch(epoch.number)

    @property
    def unavailable_seconds(self) -> float | None:
        """For how long the store has been away; None while it is there."""
        return None if self._away_since is None else self.clock.now() - self._away_since

    async def check(self) -> None:
        """Raise an error where calls are refused because the store has been away for long."""
        if self.unavailable_seconds is not None:
            self._require_time()

    @property
    def state(self) -> str:
        """The store, and whether it is there."""
        away = self.unavailable_seconds
        if away is None:
            return self.store.name
        if away < LONGEST_SECONDS:
            return f"{self.store.name} is away; local share for another {LONGEST_SECONDS - away:.0f} s"
        return f"{self.store.name} is away"

    async def consume(self, take: ResolvedCharge) -> RateLimitWindow:
        """Take units now, or none if the window has too few left."""
        allowance = await self._or_locally(self.store.consume, take, self._local.consume)
        if allowance.retry_after <= 0:
            if allowance.local:
                self.recount.mark_dirty([take])
            else:
                self.note([take], allowance.number)
        return allowance

    async def peek(self, take: ResolvedCharge) -> RateLimitWindow:
        """What is left of the window; nothing is taken."""
        return await self._or_locally(self.store.peek, take, self._local.peek)

    async def _or_locally(
        self,
        ask: Callable[[ResolvedCharge], Awaitable[RateLimitWindow]],
        take: ResolvedCharge,
        instead: Callable[[ResolvedCharge], Awaitable[RateLimitWindow]],
    ) -> RateLimitWindow:
        try:
            if self._away_since is None:
                return await ask(take)
        except StoreUnavailable as away:
            self.enter_degraded_mode(away)
        self._require_time()
        self.counted_locally += 1
        allowance = await instead(self._share(take))
        allowance.local = True
        return allowance

    async def reserve(self, takes: Sequence[ResolvedCharge], max_wait_seconds: float) -> Reservation:
        """Reserve the next turn at which all *takes* fit; nothing is taken if it comes after *max_wait_seconds*."""
        away = None
        if self._away_since is None:
            try:
                return self._given(takes, await self.store.reserve(takes, max_wait_seconds))
            except StoreUnavailable as fault:
                away = fault
        local = await self.reserve_local_quota(takes, max_wait_seconds, away)
        if local.wait <= 0:
            self.recount.mark_dirty(takes)
        return FallbackReservation(self, takes, local=local, local_at=self.clock.now() + local.wait)

    async def reserve_local_quota(
        self, takes: Sequence[ResolvedCharge], max_wait_seconds: float, away: StoreUnavailable | None = None
    ) -> Reservation:
        """Reserve a turn of this process's share."""
        if away is not None:
            self.enter_degraded_mode(away)
        self._require_time()
        self.counted_locally += 1
        return await self._local.reserve(self._shares(takes), max_wait_seconds)

    async def try_reserve_idle(self, takes: Sequence[ResolvedCharge]) -> Reservation:
        """Reserve a turn that comes at once and leaves ``ROOM`` for calls; otherwise none, and when to ask again."""
        try:
            if self._away_since is None:
                return self._given(takes, await self.store.try_reserve_idle(takes))
        except StoreUnavailable as away:
            self.enter_degraded_mode(away)
        self._require_time()
        self.counted_locally += 1
        turn = await self._local.try_reserve_idle(self._shares(takes))
        if turn.granted:
            self.recount.mark_dirty(takes)
        return turn

    def _given(self, takes: Sequence[ResolvedCharge], turn: "ValkeyReservation") -> Reservation:
        noted = turn.granted and turn.wait <= 0
        if noted:
            self.note(takes, turn.number)
        return FallbackReservation(self, takes, turn, self.clock.now() + turn.wait, noted=noted)

    def note(self, takes: Sequence[ResolvedCharge], number: int) -> None:
        """Note what the store let through: the share begins with what this process has used already (decision 65)."""
        self._local.count(takes, number)

    def forget(self, takes: Sequence[ResolvedCharge], number: int) -> None:
        """Forget what was noted of a turn that comes again."""
        self._local.forget(takes, number)

    async def close(self, takes: Sequence[ResolvedCharge], seconds: float) -> None:
        """Give no turns of these budgets for so many seconds, nor of this process's share."""
        # Here too, or the share of a store that goes away next would begin with what was just refused.
        await self._local.close([self._share(take) for take in takes], seconds)
        try:
            if self._away_since is None:
                await self.store.close(takes, seconds)
                return
        except StoreUnavailable as away:
            self.enter_degraded_mode(away)
        self.recount.mark_dirty(takes)

    def blocked_seconds(self, name: str) -> float:
        """For how many seconds a third party has closed a budget, as far as this process knows."""
        return self._local.blocked_seconds(name)

    @asynccontextmanager
    async def lock(self, name: str) -> AsyncIterator[Lease | None]:
        """Hold the object *name* while inside; without the store only where no other process lives.

        The process's own lock comes first, so that of each process one at most asks for the lease.
        """
        async with self._local.lock(name):
            # Entered by hand: only its beginning can be done without, and what fails inside is the caller's own.
            lease = self.store.lock(name)
            try:
                held = None if self._away_since is not None else await lease.__aenter__()
            except StoreUnavailable as away:
                self.enter_degraded_mode(away)
                held = None
            if held is None:
                self._require_alone()
                yield None
                return
            try:
                yield held
            finally:
                await lease.__aexit__(None, None, None)

    async def evict_idle(self) -> None:
        """Let go of what is not used any more."""
        await self._local.evict_idle()

    def _shares(self, takes: Sequence[ResolvedCharge]) -> list[ResolvedCharge]:
        self.hold_back(takes)
        return [self._share(take) for take in takes]

    def hold_back(self, takes: Sequence[ResolvedCharge]) -> None:
        """Give no turns of the shares of short windows while others may use these windows."""
        if self._processes() > 1:
            for take in takes:
                seconds = self._others_seconds(take.budget.per_seconds)
                if seconds > 0:
                    self._local.suspend(self._share(take), seconds)

    def _others_seconds(self, per_seconds: float) -> float:
        """For how long others may still use a window, if it is a short one."""
        if per_seconds > SHORT_SECONDS:
            return 0.0
        now = self.clock.now()
        # The store may be back, and others count in it already: one who stood still, or who alone has noticed that it
        # was away for a moment, learns that with the next try.
        unsure = PROBE_SECONDS if now - self._failed_at > KNOWN_SECONDS else 0.0
        return max(unsure, per_seconds - (self.unavailable_seconds or 0.0))

    def _share(self, take: ResolvedCharge) -> ResolvedCharge:
        """The same of this process's share of the budget, which may be less than one request needs at a time."""
        budget, most = take.budget, max(take.units, self._most.get(take.name, 1.0))
        if most > 1:
            self._remember(take.name, most)
        # Every live process takes as much, and none knows what the others take.
        limit = budget.limit * LOCAL_QUOTA / max(1, self._processes())
        if limit >= most:
            return ResolvedCharge(take.name, Budget(limit, budget.per_seconds), take.units, budget)
        # A share smaller than one request would never let it go: the same pace, over a longer window.
        return ResolvedCharge(take.name, Budget(most, budget.per_seconds * most / limit), take.units, budget)

    def _remember(self, name: str, most: float) -> None:
        # Taken out and put in again, so that the first is the one that was not asked for the longest.
        self._most.pop(name, None)
        self._most[name] = most
        if len(self._most) > REMEMBERED:
            del self._most[next(iter(self._most))]

    def enter_degraded_mode(self, away: StoreUnavailable) -> None:
        """Go on without the store from now on."""
        if self._away_since is None:
            self._away_since = self.clock.now()
            log.warning("the shared store is away", store=self.store.name, private=str(away))
        self._failed(away)

    def _failed(self, away: StoreUnavailable) -> None:
        self._why, self._failed_at = str(away), self.clock.now()

    def _require_time(self) -> None:
        if (self.unavailable_seconds or 0.0) >= LONGEST_SECONDS:
            raise self._unavailable("The shared store has been away for too long to count calls without it.")

    def _require_alone(self) -> None:
        if self._processes() > 1:
            raise self._unavailable("An object cannot be held alone while the shared store is away; nothing was sent.")

    def _unavailable(self, message: str) -> SharedStoreUnavailable:
        return SharedStoreUnavailable(message, private=self._why, retry_after=PROBE_SECONDS)

    async def _probe_forever(self) -> None:
        while True:
            await self.clock.sleep(PROBE_SECONDS)
            await self._probe()

    async def _probe(self) -> None:
        try:
            if self._away_since is not None:
                await self.store.check()
            # Before it is asked again, it is to know what was used without it.
            await self.recount.replay()
        except StoreUnavailable as away:
            self._failed(away)
            self._returning = False
        else:
            self._failed_at = -inf
            self._return()

    def _return(self) -> None:
        """Go back to the store; at the second try only, since until then others may still use their shares."""
        if self._away_since is not None and self._returning:
            self._away_since = None
            log.warning("the shared store is back", store=self.store.name)
        self._returning = self._away_since is not None
