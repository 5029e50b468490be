"""The state that all processes of an installation share: rate-limit windows, upstream budgets, and object locks.

``SharedState`` is the interface. ``memory`` implements it for one process, ``valkey`` for several. The store has the
only clock: callers pass and receive durations, so that no process's clock has to be correct.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from itertools import count
from typing import Protocol

from msgspec import Struct, field

from connector_gateway.kit.upstream.budget import Budget, Reservation

STALE_FRACTION = 0.5
"""The part of a window after which a reservation must be confirmed again if its request has not been sent yet."""

NEGLIGIBLE_SECONDS = 0.005
"""Shorter delays count as none. It is less than the margin added to windows."""

HEADROOM = 0.2
"""The part of a budget that polls leave to calls, at least one unit, so that searches for evidence need not wait."""

UPSTREAM = "upstream"
"""The prefix of the names of upstream budgets."""


class StoreUnavailable(Exception):
    """The store could not be reached, or cannot count. The effect of the request is unknown."""


class ResolvedCharge(Struct):
    """``units`` to be taken of ``budget``. ``name`` identifies whose budget it is."""

    name: str
    budget: Budget
    units: float = 1
    full_budget: Budget | None = None
    """The budget that ``budget`` is a share of, if it is one."""

    expected_units: float = 0.0
    """The units that the call is expected to use afterwards."""


class CallPosition(Struct):
    """The position of a call in the queues for budgets. All its requests have the same."""

    arrived_at: float
    """The arrival of the call, by this process's clock."""

    number: int = field(default_factory=partial(next, count()))
    """Distinguishes calls of the same instant."""

    is_new: bool = True
    """Whether the call has had no place in a queue yet."""

    key: int | None = None
    """The position by the clock of the shared store, once it has assigned one."""


class RateLimitWindow(Struct):
    """The state of a rate-limit window. If ``retry_after`` is above 0, the request was not counted."""

    limit: int
    remaining: int
    retry_after: float = 0.0
    is_local: bool = False
    """Whether only the local share was counted, because the store is unavailable."""

    number: int = 0
    """The number under which an external store counts the request."""


class StoredReservation(Reservation, Protocol):
    """A reservation of the store, with its result."""

    @property
    def granted(self) -> bool:
        """False if that would have been too late. Nothing was reserved then."""


class Lease(Protocol):
    """The exclusive right to change an object."""

    def check(self) -> None:
        """Raise ``UpstreamConflict`` if another process may have the lease by now."""


class SharedCounters(Protocol):
    """Counters, reservations and leases that all processes share.

    ``release`` and ``record_end`` return immediately and do not wait for the store.
    """

    async def consume(self, charge: ResolvedCharge) -> RateLimitWindow:
        """Take units now, or none if the window has too few left."""

    async def peek(self, charge: ResolvedCharge) -> RateLimitWindow:
        """Return the state of the window without taking anything."""

    async def reserve(
        self, charges: Sequence[ResolvedCharge], max_wait_seconds: float, position: CallPosition | None = None
    ) -> StoredReservation:
        """Reserve all *charges* after those of earlier calls, or nothing if that is after *max_wait_seconds*.

        A call without a *position* has arrived now. A reservation that is due immediately is always granted. All
        budgets belong to one connector.
        """

    async def hold_place(
        self, charges: Sequence[ResolvedCharge], max_wait_seconds: float, position: CallPosition
    ) -> float:
        """Hold the place of a call that waits for another one before it sends its own requests, until ``leave_place``.

        The units of *charges* are those of its next request, and the expected ones are all that it will use. Returns 0,
        or the seconds until its turn if that is after *max_wait_seconds*. Then it holds no place.
        """

    def leave_place(self, charges: Sequence[ResolvedCharge], position: CallPosition) -> None:
        """Expect the requests of a call that held a place very soon. Returns immediately, without the store."""

    async def try_reserve_idle(self, charges: Sequence[ResolvedCharge]) -> StoredReservation:
        """Reserve the current time if that leaves ``HEADROOM`` for calls.

        Otherwise reserves nothing, and returns when to try again.
        """

    async def count_sent(self, charges: Sequence[ResolvedCharge]) -> None:
        """Count a request that has been sent already, even if it does not fit."""

    async def block(self, charges: Sequence[ResolvedCharge], seconds: float) -> None:
        """Block these budgets for *seconds*."""

    def lock(self, name: str) -> AbstractAsyncContextManager[Lease | None]:
        """Lock the object *name* inside the context. Raises ``UpstreamConflict`` if that takes too long.

        Yields the lease, or None if no other process can acquire it.
        """

    async def evict_idle(self) -> None:
        """Remove state that is no longer used. It is called periodically, and each call is short."""


class SharedState(SharedCounters, Protocol):
    """Shared counters, the state that only this process has, and the condition of the store."""

    def blocked_seconds(self, name: str) -> float:
        """Return the seconds for which a vendor has blocked a budget, as far as this process knows."""

    @property
    def state(self) -> str:
        """The name of the store, and whether it is available."""

    @property
    def unavailable_seconds(self) -> float | None:
        """The seconds for which the store has been unavailable, or None while it is available."""

    @property
    def counted_locally(self) -> int:
        """The number of times that the local share was used instead of the budget."""
