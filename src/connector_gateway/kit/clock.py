"""Time as a thing that is handed in, so that years of pacing can be tested in milliseconds."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time and waits."""

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for that many seconds; negative counts as zero."""
        ...


class SystemClock:
    """The machine's clock."""

    now = staticmethod(time.time)
    """Seconds since the Unix epoch."""

    async def sleep(self, seconds: float) -> None:
        """Wait for that many seconds; negative counts as zero."""
        await asyncio.sleep(max(0.0, seconds))


def elapsed() -> float:
    """Seconds on a stopwatch that nobody can set; where the system has one, it runs on while the machine sleeps."""
    return time.clock_gettime(_STOPWATCH)


_STOPWATCH = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SteadyClock:
    """The machine's time when this was made, and what has elapsed since: setting the machine's clock moves nothing."""

    def __init__(self) -> None:
        self._ahead = time.time() - elapsed()

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self._ahead + elapsed()


def instant(seconds: float) -> datetime:
    """The aware UTC datetime of *seconds* since the epoch, to the millisecond."""
    return datetime.fromtimestamp(round(seconds, 3), UTC)
