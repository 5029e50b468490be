"""How many requests a third party allows, and how much of that one request uses."""

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
        """The budget written as ``limit/seconds``: ``3/1``, ``100/10``; anything else is a ``ValueError``."""
        limit, _, seconds = text.partition("/")
        try:
            budget = cls(float(limit), float(seconds or 1))
        except ValueError:
            budget = cls(0, 0)
        if not (1 <= budget.limit < math.inf and 0 < budget.per_seconds < math.inf):
            raise ValueError(f"{text!r} is no budget; write it as requests/seconds, such as 3/1.")
        return budget


@dataclass(frozen=True, slots=True)
class Charge:
    """What one request uses of one budget; ``on`` names what that is counted for, by default the account."""

    budget: str
    scope_key: str = ""
    units: float = 1


class Deadline(Struct, frozen=True):
    """How long a request may wait."""

    start_by: float
    """Until when for its turn, in epoch seconds."""

    max_blocked_seconds: float = math.inf
    """For a budget that the third party has closed: not at all if it stays so for as long."""


class Reservation(Protocol):
    """A request's place in the order."""

    def expired(self) -> bool:
        """Whether it came so long ago that a request which leaves now might be in a window of others."""

    def left(self) -> None:
        """Count the request from now on: it leaves, maybe later than its turn came."""

    async def confirm(self) -> float:
        """Confirm that it has come, or has come again: 0, or the seconds still to wait."""

    def release(self) -> None:
        """Give it back, since it will not be used."""

    def record_response(self) -> None:
        """Record that the request was answered: the third party has counted it by now."""


class Pacer(Protocol):
    """Lets requests through at the pace that one connector's budgets allow, in order."""

    def acquire(self, charges: Sequence[Charge], deadline: Deadline) -> Awaitable[Reservation]:
        """Wait for a turn; ``UpstreamRateLimited`` at once when it cannot come by *deadline*."""

    async def reacquire(self, turn: Reservation, deadline: Deadline) -> None:
        """Wait until *turn*, which was let through and is stale, comes again; raises as ``admit`` does."""

    async def block(self, charges: Sequence[Charge], seconds: float) -> None:
        """Let no request through on these budgets for so many seconds, because the third party refused one."""
