"""Budgets that vendors grant, and the charges and reservations of requests against them."""

import math
from asyncio import Future
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Protocol, TypeVar

from msgspec import Struct

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Budget:
    """At most ``limit`` units in any ``per_seconds`` seconds.

    Its name in ``Connector.budgets`` is only a label. Charges decide what it is counted for.
    """

    limit: float
    per_seconds: float

    @classmethod
    def parse(cls, text: str) -> "Budget":
        """Parse a budget written as ``limit/seconds``, such as ``3/1`` or ``100/10``.

        Raises ``ValueError`` for any other text.
        """
        limit, _, seconds = text.partition("/")
        try:
            budget = cls(float(limit), float(seconds or 1))
        except ValueError:
            budget = cls(0, 0)
        if not (1 <= budget.limit < math.inf and 0 < budget.per_seconds < math.inf):
            raise ValueError(f"{text!r} is not a budget. Write it as requests/seconds, such as 3/1.")
        return budget


@dataclass(frozen=True, slots=True)
class Charge:
    """The units of one budget that one request uses."""

    budget: str
    """Its name in ``Connector.budgets``."""

    scope_key: str = ""
    """Names what the units are counted for: a constant if all accounts share the budget, as they share that of an app,
    or the object that it is granted for, such as a channel.

    If empty, they are counted for the account. All its connections share them, whatever their tokens. Without
    ``Connector.identify``, they are counted for the credentials.
    """

    units: float = 1


Requests = tuple[tuple[Charge, ...], ...]
"""Requests to a vendor, each by its charges."""


@dataclass(frozen=True)
class TypicalRequests:
    """The vendor requests of a typical call. Queues are estimated by it until calls of the operation have been seen.

    It is optional, and only needed by operations that send several requests.
    """

    cold: Requests = ()
    """With empty caches."""

    warm: Requests = ()
    """With the caches that an earlier call has filled."""

    besides: str = ""
    """The purposes of those besides the operation's own request, for the reference."""

    @cached_property
    def cold_units(self) -> Mapping[str, float]:
        """The units of each budget with empty caches."""
        return _sum_units(self.cold)

    @cached_property
    def warm_units(self) -> Mapping[str, float]:
        """The units of each budget with filled caches."""
        return _sum_units(self.warm)


def _sum_units(requests: Iterable[Iterable[Charge]]) -> Mapping[str, float]:
    units: dict[str, float] = {}
    for charge in chain.from_iterable(requests):
        units[charge.budget] = units.get(charge.budget, 0) + charge.units
    return units


class Deadline(Struct, frozen=True):
    """The limit on the wait of a request."""

    start_by: float
    """The time by which its reservation must be due, in epoch seconds, without the time that the call itself needs."""


class Reservation(Protocol):
    """A request's reserved units of its budgets, or its position in the queue for them."""

    @property
    def wait(self) -> float:
        """The seconds until the request can be sent, at the time of the last attempt. 0 if it may be sent."""

    async def wait_turn(self) -> None:
        """Wait until ``confirm`` should be called: when the request is due, or can no longer be in time."""

    def begin_sending(self) -> bool:
        """Count the request from now on, because it is sent now and not at its reserved time.

        Returns False if the reservation has expired: a request sent now could fall into a window that others have used.
        """

    async def confirm(self) -> float:
        """Confirm the reservation. Returns 0 if the request may be sent now, otherwise the seconds to wait."""

    def release(self) -> None:
        """Release the reservation, because it will not be used."""

    def record_end(self, *, responded: bool) -> None:
        """Count the request from the latest time at which it can have arrived.

        It has ended now, with a response or without. Without one it may still arrive.
        """


class Pacer(Protocol):
    """Releases requests in order, at the pace that the budgets of one connector allow."""

    def acquire(self, charges: Sequence[Charge], deadline: Deadline) -> Awaitable[Reservation]:
        """Wait for a reservation.

        Raises ``UpstreamRateLimited`` immediately if it cannot become due before *deadline*.
        """

    async def reacquire(self, reservation: Reservation, deadline: Deadline) -> None:
        """Wait until the expired *reservation* is due again. Raises like ``acquire``."""

    async def wait_for_lookup(self, lookup: Future[T], deadline: Deadline) -> T:
        """Wait for a *lookup* that another call has begun, and hold the place for this call's own requests meanwhile.

        Raises ``UpstreamRateLimited`` early if they cannot start by *deadline*.
        """

    async def block(self, charges: Sequence[Charge], seconds: float) -> None:
        """Block these budgets for *seconds*, because the vendor throttled a request."""
