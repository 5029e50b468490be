"""Time as a thing handed in, so that tests can move it."""

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


class SteeredClock:
    """Another clock that testers can set, stop and move on; all that waits by it is woken when it moves."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.ahead = 0.0
        """Seconds that it is ahead of the clock below it."""
        self.stopped_at: float | None = None
        """The time that it stands still at."""
        self._waiting: set[asyncio.Future[None]] = set()

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self._clock.now() + self.ahead if self.stopped_at is None else self.stopped_at

    @property
    def frozen(self) -> bool:
        """Whether it stands still until it is moved."""
        return self.stopped_at is not None

    @property
    def is_steered(self) -> bool:
        """Whether it tells another time than the clock below it, or stands still."""
        return self.frozen or self.ahead != 0

    def set(self, at: float) -> None:
        """Tell this time from now on."""
        if self.stopped_at is None:
            self.ahead = at - self._clock.now()
        else:
            self.stopped_at = at
        self._wake()

    def freeze(self) -> None:
        """Stand still."""
        self.stopped_at = self.now()
        self._wake()

    def run(self) -> None:
        """Go on from the time it tells."""
        if self.stopped_at is not None:
            at, self.stopped_at = self.stopped_at, None
            self.set(at)

    def steer(self, *, ahead: float, stopped_at: float | None) -> None:
        """Be so far ahead of the clock below it, or stand still."""
        self.ahead, self.stopped_at = ahead, stopped_at
        self._wake()

    def release(self) -> None:
        """Tell the time of the clock below it again."""
        self.steer(ahead=0.0, stopped_at=None)

    async def sleep(self, seconds: float) -> None:
        """Wait until so many seconds have passed by this clock; negative counts as zero."""
        until = self.now() + max(0.0, seconds)
        if until <= self.now():
            # Others get their turn, as with any other clock.
            await asyncio.sleep(0)
        while (left := until - self.now()) > 0:
            await self._wait(left)

    async def _wait(self, seconds: float) -> None:
        """Wait until it is moved, or until *seconds* have passed where it does not stand still."""
        moved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Where it stands still only somebody who moves it can end the wait.
        passing = None if self.frozen else asyncio.ensure_future(self._clock.sleep(seconds))
        self._waiting.add(moved)
        try:
            await asyncio.wait([moved, *([passing] if passing else [])], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waiting.discard(moved)
            if passing:
                passing.cancel()

    def _wake(self) -> None:
        for moved in list(self._waiting):
            # Tests steer from another thread than the one that serves.
            moved.get_loop().call_soon_threadsafe(_moved, moved)


def _moved(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)


def instant(seconds: float) -> datetime:
    """The aware UTC datetime of *seconds* since the epoch, to the millisecond."""
    return datetime.fromtimestamp(round(seconds, 3), UTC)
