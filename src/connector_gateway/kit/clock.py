"""Clocks that are passed in, so that tests can run years of pacing in milliseconds."""

import asyncio
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol

SAME_SECONDS = 2.0
"""Clocks no further apart than this count as the same: a ``Date`` tells whole seconds, and takes time to arrive."""


class Clock(Protocol):
    """Tells the time and waits."""

    def now(self) -> float:
        """Seconds since the Unix epoch."""

    async def sleep(self, seconds: float) -> None:
        """Wait for that many seconds; negative counts as zero."""


class SystemClock:
    """The machine's clock."""

    now = staticmethod(time.time)
    """Seconds since the Unix epoch."""

    async def sleep(self, seconds: float) -> None:
        """Wait for that many seconds; negative counts as zero."""
        await asyncio.sleep(max(0.0, seconds))


def monotonic_seconds() -> float:
    """Seconds on a clock that nobody can set and that, where the system allows, goes on while the machine sleeps."""
    return time.clock_gettime(_STOPWATCH)


# CLOCK_MONOTONIC of Linux stands still while the machine sleeps, and a lease would seem fresh on waking.
_STOPWATCH = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class MonotonicClock:
    """The machine's time when this was made plus what has elapsed, so that setting the clock moves nothing."""

    def __init__(self) -> None:
        self._ahead = time.time() - monotonic_seconds()

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self._ahead + time.clock_gettime(_STOPWATCH)

    async def sleep(self, seconds: float) -> None:
        """Wait for that many seconds; negative counts as zero."""
        await asyncio.sleep(max(0.0, seconds))


def utc_datetime(seconds: float) -> datetime:
    """The aware UTC datetime of *seconds* since the epoch, to the millisecond."""
    return datetime.fromtimestamp(round(seconds, 3), UTC)


def clock_skew(date: str | None, now: float) -> float:
    """How many seconds the sender's clock is ahead of ours, if it wrote the header *date* at our time *now*."""
    try:
        difference = parsedate_to_datetime(date or "").timestamp() - now
    except ValueError:
        return 0.0
    return 0.0 if abs(difference) <= SAME_SECONDS else difference
