"""Durations as a histogram: so many within each bound, and their sum."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Seconds."""


@dataclass(slots=True)
class DurationHistogram:
    """How many durations lie within each of the bounds, and their sum in seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def observe(self, seconds: float) -> None:
        """Count one."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds

    @property
    def samples(self) -> tuple[Sequence[tuple[str, float]], float]:
        """How many took at most so long, by the bound, and all their seconds."""
        return list(zip([*map(str, BOUNDS), "+Inf"], accumulate(self.counts), strict=True)), self.seconds
