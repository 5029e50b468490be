"""How vendors count what may still be asked for."""

from collections import deque
from dataclasses import dataclass

from workspace_sandbox.kit.clock import has_passed
from workspace_sandbox.kit.stage import EmulatorContext


class SlidingWindow:
    """At most ``limit`` units in any ``per_seconds``, as a strict vendor counts."""

    def __init__(self, limit: float, per_seconds: float) -> None:
        self.limit = limit
        self.per_seconds = per_seconds
        self._spent: deque[tuple[float, float]] = deque()
        self._sum = 0.0

    def take(self, now: float, units: float = 1) -> float:
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
        """Units that could be spent now."""
        self._forget(now)
        return self.limit - self._sum

    def _forget(self, now: float) -> None:
        # Time that has gone back releases what was counted in the future.
        while self._spent and self._spent[-1][0] > now:
            self._sum -= self._spent.pop()[1]
        # By request and not by whole windows: a strict vendor lets no burst through at the edge of two windows.
        while self._spent and self._spent[0][0] <= now - self.per_seconds:
            self._sum -= self._spent.popleft()[1]


class TokenBucket:
    """``rate`` units a second on average, with at most ``burst`` saved up."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate = rate
        self.burst = burst
        self._level = burst
        self._at = 0.0

    def take(self, now: float, units: float = 1) -> float:
        """Spend *units* and return 0, or spend nothing and return the seconds until there is room."""
        # Time that has gone back fills the bucket: it was emptied in the future.
        missed = self.burst if now < self._at else (now - self._at) * self.rate
        self._level, self._at = min(self.burst, self._level + missed), now
        if self._level >= units:
            self._level -= units
            return 0.0
        return (units - self._level) / self.rate


@dataclass(frozen=True)
class Budget:
    """A documented budget: so many units, or as many as a knob says, in so many seconds."""

    limit: float | str
    per_seconds: float
    burst: float = 0.0
    """Units that can be saved up, if it counts an average and not any such time."""


class Budgets:
    """What was spent of budgets, by their owners. Without the knob ``limits``, nothing is counted."""

    def __init__(self, stage: EmulatorContext) -> None:
        self._stage = stage
        self._windows: dict[tuple[Budget, str], SlidingWindow | TokenBucket] = {}
        self._closed: dict[str, tuple[float, float]] = {}
        """Since when owners are shut out, and for how many seconds."""

    @property
    def count(self) -> bool:
        """Whether anything is counted."""
        return bool(self._stage.knobs["limits"])

    def limit(self, budget: Budget) -> float:
        """Return the units of *budget*."""
        limit = budget.limit
        return float(self._stage.knobs[limit]) if isinstance(limit, str) else limit

    def take(self, budget: Budget, owner: str, units: float = 1) -> float:
        """Spend *units* and return 0, or spend nothing and return the seconds until there is room."""
        return self._window(budget, owner).take(self._stage.now(), units) if self.count else 0.0

    def remaining(self, budget: Budget, owner: str) -> int:
        """Return the units that could be spent now."""
        window = self._window(budget, owner)
        return int(window.remaining(self._stage.now())) if isinstance(window, SlidingWindow) else 0

    def close(self, owner: str, seconds: float) -> None:
        """Shut *owner* out for so long."""
        self._closed[owner] = self._stage.now(), seconds

    def closed(self, owner: str) -> float:
        """Return for how many more seconds *owner* is shut out."""
        now = self._stage.now()
        since, seconds = self._closed.get(owner, (now, 0.0))
        return 0.0 if has_passed(seconds, since, now) or not self.count else since + seconds - now

    def _window(self, budget: Budget, owner: str) -> SlidingWindow | TokenBucket:
        limit, seconds, key = self.limit(budget), budget.per_seconds, (budget, owner)
        if budget.burst:
            return self._windows.setdefault(key, TokenBucket(limit / seconds, budget.burst))
        window = self._windows.setdefault(key, SlidingWindow(limit, seconds))
        if isinstance(window, SlidingWindow):
            window.limit = limit
        return window
