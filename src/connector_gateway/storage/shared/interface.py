"""What all processes of an installation count together: the windows of keys, upstream budgets, and who holds an object.

``Shared`` is the interface. ``storage.memory`` implements it for one process, ``storage.valkey`` for several (decision
56). The store has the only clock: callers give durations and get durations, so that nobody's clock has to be right.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct

from connector_gateway.kit.upstream.budget import Budget

STALE = 0.5
"""The part of a window after which a turn is confirmed once more if its request has not left yet (decision 93)."""

QUICK_SECONDS = 0.005
"""What took no longer is as good as at once: less than what windows are stretched by."""

HEADROOM = 0.2
"""The part of a budget that polls leave to calls, one unit at least: whoever is in doubt looks without waiting."""

UPSTREAM = "upstream"
"""What the names of upstream budgets begin with."""


class StoreUnavailable(Exception):
    """The store could not be asked, or cannot count: nothing is known of what it has done."""


class ResolvedCharge(Struct):
    """``units`` to be taken of ``budget``; ``name`` tells whose it is."""

    name: str
    budget: Budget
    units: float = 1
    full_budget: Budget | None = None
    """What ``budget`` is a share of, if it is one."""


class RateLimitWindow(Struct):
    """What is left of a window; with ``retry_after`` above 0, nothing was taken."""

    limit: int
    remaining: int
    retry_after: float = 0.0
    local: bool = False
    """Whether only this process's share was counted, since the store is away."""

    number: int = 0
    """Under which a store that is elsewhere counts what was taken."""


class Reservation(Protocol):
    """A place in the order of requests; what else it holds is the store's own."""

    @property
    def wait(self) -> float:
        """Seconds until it comes, when it was given."""

    @property
    def granted(self) -> bool:
        """False where it would have come too late: nothing was reserved then."""

    def expired(self) -> bool:
        """Whether it came so long ago that a request which leaves now might be in a window of others."""

    def left(self) -> None:
        """Count the request from now on: it leaves, maybe later than its turn came."""

    async def confirm(self) -> float:
        """Confirm that it has come, or has come again: 0, or the seconds still to wait because others were late."""

    def release(self) -> None:
        """Give it back, since it will not be used."""

    def record_response(self) -> None:
        """Count the request from the latest instant at which it can have arrived; it was answered now."""


class Lease(Protocol):
    """The right to change an object alone."""

    def check(self) -> None:
        """Raise ``UpstreamConflict`` if others may have the right by now."""


class SharedCounters(Protocol):
    """Counters, turns and leases that hold for everyone who shares them.

    Nobody waits for what is only told: ``release`` and ``answered`` return at once.
    """

    async def consume(self, take: ResolvedCharge) -> RateLimitWindow:
        """Take units now, or none if the window has too few left."""

    async def peek(self, take: ResolvedCharge) -> RateLimitWindow:
        """What is left of the window; nothing is taken."""

    async def reserve(self, takes: Sequence[ResolvedCharge], max_wait_seconds: float) -> Reservation:
        """Reserve the next turn at which all *takes* fit; nothing is taken if it comes after *max_wait_seconds*.

        A turn that comes at once is always given. The budgets belong to one connector.
        """

    async def try_reserve_idle(self, takes: Sequence[ResolvedCharge]) -> Reservation:
        """Reserve a turn that comes at once and leaves ``ROOM`` for calls; otherwise none, and when to ask again."""

    async def close(self, takes: Sequence[ResolvedCharge], seconds: float) -> None:
        """Give no turns of these budgets for so many seconds."""

    def lock(self, name: str) -> AbstractAsyncContextManager[Lease | None]:
        """Hold the object *name* while inside; ``UpstreamConflict`` if it cannot be had in time.

        Gives the lease, unless no other process can get it.
        """

    async def evict_idle(self) -> None:
        """Let go of what is not used any more; asked for now and then, and quick each time."""


class SharedState(SharedCounters, Protocol):
    """The same, what only this process holds, and how the store is."""

    def blocked_seconds(self, name: str) -> float:
        """For how many seconds a third party has closed a budget, as far as this process knows."""

    @property
    def state(self) -> str:
        """What is counted in, and whether it is there."""

    @property
    def unavailable_seconds(self) -> float | None:
        """For how long the store has been away; None while it is there."""

    @property
    def counted_locally(self) -> int:
        """How often this process's share was taken instead of the budget itself."""
