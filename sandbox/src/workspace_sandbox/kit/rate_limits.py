"""The rate limits of vendors."""

from collections import deque
from dataclasses import dataclass

from workspace_sandbox.kit.clock import has_passed
from workspace_sandbox.kit.emulator_context import EmulatorContext


class SlidingWindow:
    """A limit of ``limit`` units in any ``per_seconds``, as a strict vendor counts."""

    def __init__(self, limit: float, per_seconds: float) -> None:
        self.limit = limit
        self.per_seconds = per_seconds
        self._spent: deque[tuple[float, float]] = deque()
        self._sum = 0.0

    def spend(self, now: float, units: float = 1) -> float:
        """Spend *units* and return 0, or spend nothing and return the seconds until there is room."""
        self._forget(now)
        if self._sum + units <= self.limit:
            self._spent.append((now, units))
            self._sum += units
            return 0.0
        missing = self._sum + units - self.limit
        for at, spent in self._spent:
            missing -= spent
            if missing <= 0:
                return at + self.per_seconds - now
        return self.per_seconds

    def remaining(self, now: float) -> float:
        """Return the units that can be spent now."""
        self._forget(now)
        return self.limit - self._sum

    def _forget(self, now: float) -> None:
        # Setting the clock back releases units that were counted in the future.
        while self._spent and self._spent[-1][0] > now:
            self._sum -= self._spent.pop()[1]
        # Counted per request and not per fixed window: a strict vendor allows no burst at the boundary of two windows.
        while self._spent and self._spent[0][0] <= now - self.per_seconds:
            self._sum -= self._spent.popleft()[1]


class TokenBucket:
    """A limit of ``rate`` units per second on average, with up to ``burst`` saved units."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate = rate
        self.burst = burst
        self._level = burst
        self._at = 0.0

    def spend(self, now: float, units: float = 1) -> float:
        """Spend *units* and return 0, or spend nothing and return the seconds until there is room."""
        # Setting the clock back fills the bucket, which was emptied in the future.
        missed = self.burst if now < self._at else (now - self._at) * self.rate
        self._level, self._at = min(self.burst, self._level + missed), now
        if self._level >= units:
            self._level -= units
            return 0.0
        return (units - self._level) / self.rate


@dataclass(frozen=True)
class Budget:
    """A documented budget: a number of units, or the value of a knob, per number of seconds."""

    limit: float | str
    per_seconds: float
    burst: float = 0.0
    """Maximum number of saved units if the budget limits the average. 0 for a sliding window."""


class Budgets:
    """The spent units of budgets by owner. Nothing is counted if the knob ``limits`` is off."""

    def __init__(self, context: EmulatorContext) -> None:
        self._context = context
        self._windows: dict[tuple[Budget, str], SlidingWindow | TokenBucket] = {}
        self._blocks: dict[str, tuple[float, float]] = {}
        """The start and the length in seconds of each owner's block."""

    @property
    def is_enabled(self) -> bool:
        """Whether units are counted."""
        return bool(self._context.knobs["limits"])

    def limit(self, budget: Budget) -> float:
        """Return the units of *budget*."""
        limit = budget.limit
        return float(self._context.knobs[limit]) if isinstance(limit, str) else limit

    def spend(self, budget: Budget, owner: str, units: float = 1) -> float:
        """Spend *units* and return 0, or spend nothing and return the seconds until there is room."""
        return self._window(budget, owner).spend(self._context.now(), units) if self.is_enabled else 0.0

    def remaining(self, budget: Budget, owner: str) -> int:
        """Return the units that can be spent now."""
        window = self._window(budget, owner)
        return int(window.remaining(self._context.now())) if isinstance(window, SlidingWindow) else 0

    def block(self, owner: str, seconds: float) -> None:
        """Block *owner* for *seconds*."""
        self._blocks[owner] = self._context.now(), seconds

    def block_seconds(self, owner: str) -> float:
        """Return the remaining seconds of *owner*'s block."""
        now = self._context.now()
        since, seconds = self._blocks.get(owner, (now, 0.0))
        return 0.0 if has_passed(seconds, since, now) or not self.is_enabled else since + seconds - now

    def _window(self, budget: Budget, owner: str) -> SlidingWindow | TokenBucket:
        limit, seconds, key = self.limit(budget), budget.per_seconds, (budget, owner)
        if budget.burst:
            return self._windows.setdefault(key, TokenBucket(limit / seconds, budget.burst))
        window = self._windows.setdefault(key, SlidingWindow(limit, seconds))
        if isinstance(window, SlidingWindow):
            window.limit = limit
        return window
