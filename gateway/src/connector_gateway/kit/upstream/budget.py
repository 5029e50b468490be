"""Budgets that vendors grant, and the charges and reservations of requests against them."""

import math
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Protocol

from msgspec import Struct


@dataclass(frozen=True, slots=True)
class Budget:
    """At most ``limit`` units in any ``per_seconds`` seconds."""

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
    """The units of one budget that one request uses.

    ``scope_key`` names what they are counted for, by default the account.
    """

    budget: str
    scope_key: str = ""
    units: float = 1


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

    def is_expired(self) -> bool:
        """Return True if the reservation has expired.

        A request sent now could fall into a window that others have used.
        """

    def record_sent(self) -> None:
        """Count the request from now on, because it is sent now and not at its reserved time."""

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

    async def block(self, charges: Sequence[Charge], seconds: float) -> None:
        """Block these budgets for *seconds*, because the vendor throttled a request."""
