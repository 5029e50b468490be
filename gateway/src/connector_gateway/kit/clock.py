"""Clocks as arguments, which let tests run years of pacing in milliseconds."""

import asyncio
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Protocol

DAY_SECONDS = 24 * 60 * 60.0

MAX_EQUAL_SKEW_SECONDS = 2.0
"""The maximum difference of clocks that count as equal, because a ``Date`` has whole seconds and takes time to arrive.
"""


class Clock(Protocol):
    """Reads the time and waits."""

    def now(self) -> float:
        """Return the seconds since the Unix epoch."""

    async def sleep(self, seconds: float) -> None:
        """Wait for *seconds*. Negative values count as zero."""


class SystemClock:
    """The machine's clock."""

    now = staticmethod(time.time)
    """Seconds since the Unix epoch."""

    async def sleep(self, seconds: float) -> None:
        """Wait for *seconds*. Negative values count as zero."""
        await asyncio.sleep(max(0.0, seconds))


def monotonic_seconds() -> float:
    """Return the seconds of a clock that cannot be set and that, if the system allows, includes suspended time."""
    return time.clock_gettime(_STOPWATCH)


# CLOCK_MONOTONIC of Linux stops while the machine is suspended, so an expired lease would seem valid on resume.
_STOPWATCH = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class MonotonicClock:
    """The machine's time at creation plus the elapsed time. Setting the machine's clock has no effect."""

    def __init__(self) -> None:
        self._offset = time.time() - monotonic_seconds()

    def now(self) -> float:
        """Return the seconds since the Unix epoch."""
        return self._offset + time.clock_gettime(_STOPWATCH)

    async def sleep(self, seconds: float) -> None:
        """Wait for *seconds*. Negative values count as zero."""
        await asyncio.sleep(max(0.0, seconds))


def to_milliseconds(seconds: float) -> float:
    """Return *seconds* in milliseconds, to three decimals. ``round`` takes three times as long."""
    return int(seconds * 1_000_000 + 0.5) / 1000


def utc_datetime(seconds: float) -> datetime:
    """Return the aware UTC datetime of *seconds* since the epoch, to the millisecond."""
    return datetime.fromtimestamp(round(seconds, 3), UTC)


def clock_skew(date: str | None, now: float) -> float:
    """Return the seconds by which the sender's clock is ahead, if it wrote the header *date* at our time *now*."""
    try:
        difference = parsedate_to_datetime(date or "").timestamp() - now
    except ValueError:
        return 0.0
    return 0.0 if abs(difference) <= MAX_EQUAL_SKEW_SECONDS else difference
