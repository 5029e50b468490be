"""A cumulative histogram of durations."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""The upper bounds of the buckets, in seconds."""


@dataclass(slots=True)
class DurationHistogram:
    """The number of durations in each bucket, and their sum in seconds."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def observe(self, seconds: float) -> None:
        """Add a duration."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds

    @property
    def samples(self) -> tuple[Sequence[tuple[str, float]], float]:
        """The cumulative number of durations by upper bound, and their sum in seconds."""
        return list(zip([*map(str, BOUNDS), "+Inf"], accumulate(self.counts), strict=True)), self.seconds
