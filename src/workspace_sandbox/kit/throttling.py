"""How vendors count what may still be asked for."""

from collections import deque


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
