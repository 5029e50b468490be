"""Clocks as arguments, which let tests control the time."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Any, Protocol


class Clock(Protocol):
    """A source of time that can also wait."""

    def now(self) -> float:
        """Return the time in seconds since the Unix epoch."""

    async def sleep(self, seconds: float) -> None:
        """Wait for *seconds*. Negative values count as zero."""


class SystemClock:
    """The machine's clock."""

    now = staticmethod(time.time)
    """Seconds since the Unix epoch."""

    async def sleep(self, seconds: float) -> None:
        """Wait for *seconds*. Negative values count as zero."""
        await asyncio.sleep(max(0.0, seconds))


class ControllableClock:
    """A clock that testers can set, stop and advance. Moving it wakes everything that waits for it."""

    def __init__(self, clock: Clock) -> None:
        self.underlying = clock
        self.offset = 0.0
        """Seconds that this clock is ahead of the underlying one."""
        self.stopped_at: float | None = None
        """The time at which the clock is stopped, or None if it runs."""
        self._waiting: set[asyncio.Future[float]] = set()

    def now(self) -> float:
        """Return the time in seconds since the Unix epoch."""
        return self.underlying.now() + self.offset if self.stopped_at is None else self.stopped_at

    @property
    def frozen(self) -> bool:
        """Whether the clock is stopped."""
        return self.stopped_at is not None

    @property
    def is_adjusted(self) -> bool:
        """Whether the clock is stopped or differs from the underlying one."""
        return self.frozen or self.offset != 0

    def set(self, at: float) -> None:
        """Set the clock to *at*."""
        if self.stopped_at is None:
            self.adjust(ahead=at - self.underlying.now(), stopped_at=None)
        else:
            self.adjust(ahead=self.offset, stopped_at=at)

    def freeze(self) -> None:
        """Stop the clock."""
        self.adjust(ahead=self.offset, stopped_at=self.now())

    def run(self) -> None:
        """Start a stopped clock from the time that it shows."""
        if self.stopped_at is not None:
            self.adjust(ahead=self.stopped_at - self.underlying.now(), stopped_at=None)

    def adjust(self, *, ahead: float, stopped_at: float | None) -> None:
        """Set the lead over the underlying clock, or stop the clock at a time."""
        before = self.now()
        self.offset, self.stopped_at = ahead, stopped_at
        self._wake(before)

    def release(self) -> None:
        """Follow the underlying clock again."""
        self.adjust(ahead=0.0, stopped_at=None)

    async def sleep(self, seconds: float) -> None:
        """Wait for *seconds* of this clock.

        Negative values count as zero. Setting the clock back does not lengthen the wait.
        """
        until = self.now() + max(0.0, seconds)
        if until <= self.now():
            # Other tasks run in between, as with any other clock.
            await asyncio.sleep(0)
        while (remaining := until - self.now()) > 0:
            until -= await self._wait(remaining)

    async def _wait(self, seconds: float) -> float:
        """Wait until the clock is moved, or until *seconds* have passed if it is not stopped.

        Returns the seconds by which the clock was set back.
        """
        moved: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        waits: list[asyncio.Future[Any]] = [moved]
        # A stopped clock ends the wait only when it is moved.
        if not self.frozen:
            waits.append(asyncio.ensure_future(self.underlying.sleep(seconds)))
        self._waiting.add(moved)
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return moved.result() if moved.done() else 0.0
        finally:
            self._waiting.discard(moved)
            for wait in waits:
                wait.cancel()

    def _wake(self, before: float) -> None:
        """Wake all waiting tasks. *before* is the time before the clock was moved."""
        set_back = max(0.0, before - self.now())
        for moved in list(self._waiting):
            # Tests control the clock from another thread than the one that serves.
            moved.get_loop().call_soon_threadsafe(_finish_wait, moved, set_back)


def _finish_wait(waiting: asyncio.Future[float], set_back: float) -> None:
    if not waiting.done():
        waiting.set_result(set_back)


def underlying_time(clock: Clock) -> float:
    """Return the time of the underlying clock, which testers cannot change."""
    return clock.underlying.now() if isinstance(clock, ControllableClock) else clock.now()


def has_passed(seconds: float, since: float, now: float) -> bool:
    """Return True if *seconds* have passed since *since*, or if the clock was set back to before *since*."""
    # Events within a request can be slightly later than its *now*.
    return now >= since + seconds or now < since - 1


def to_datetime(seconds: float) -> datetime:
    """Return the UTC datetime of *seconds* since the epoch, rounded to milliseconds."""
    return datetime.fromtimestamp(round(seconds, 3), UTC)


def format_timestamp(seconds: float) -> str:
    """Return *seconds* since the epoch as a UTC timestamp with milliseconds, such as 2026-11-22T12:00:00.000Z."""
    return to_datetime(seconds).isoformat(timespec="milliseconds").replace("+00:00", "Z")
