"""Time as a thing handed in, so that tests can move it."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Any, Protocol


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


class ControllableClock:
    """Another clock that testers can set, stop and move on; all that waits by it is woken when it moves."""

    def __init__(self, clock: Clock) -> None:
        self.below = clock
        self.ahead = 0.0
        """Seconds that it is ahead of the clock below it."""
        self.stopped_at: float | None = None
        """The time that it stands still at."""
        self._waiting: set[asyncio.Future[float]] = set()

    def now(self) -> float:
        """Seconds since the Unix epoch."""
        return self.below.now() + self.ahead if self.stopped_at is None else self.stopped_at

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
            self.steer(ahead=at - self.below.now(), stopped_at=None)
        else:
            self.steer(ahead=self.ahead, stopped_at=at)

    def freeze(self) -> None:
        """Stand still."""
        self.steer(ahead=self.ahead, stopped_at=self.now())

    def run(self) -> None:
        """Go on from the time it tells."""
        if self.stopped_at is not None:
            self.steer(ahead=self.stopped_at - self.below.now(), stopped_at=None)

    def steer(self, *, ahead: float, stopped_at: float | None) -> None:
        """Be so far ahead of the clock below it, or stand still."""
        before = self.now()
        self.ahead, self.stopped_at = ahead, stopped_at
        self._wake(before)

    def release(self) -> None:
        """Tell the time of the clock below it again."""
        self.steer(ahead=0.0, stopped_at=None)

    async def sleep(self, seconds: float) -> None:
        """Wait for *seconds* by this clock; negative counts as zero. Time that goes back does not lengthen the wait."""
        until = self.now() + max(0.0, seconds)
        if until <= self.now():
            # Others get their turn, as with any other clock.
            await asyncio.sleep(0)
        while (left := until - self.now()) > 0:
            until -= await self._wait(left)

    async def _wait(self, seconds: float) -> float:
        """Wait until the clock is moved, or until *seconds* have passed if it does not stand still.

        Returns by how much the time has gone back.
        """
        moved: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        waits: list[asyncio.Future[Any]] = [moved]
        # Where it stands still only somebody who moves it can end the wait.
        if not self.frozen:
            waits.append(asyncio.ensure_future(self.below.sleep(seconds)))
        self._waiting.add(moved)
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return moved.result() if moved.done() else 0.0
        finally:
            self._waiting.discard(moved)
            for wait in waits:
                wait.cancel()

    def _wake(self, before: float) -> None:
        """Wake all that waits; the time was *before* until now."""
        gone_back = max(0.0, before - self.now())
        for moved in list(self._waiting):
            # Tests steer from another thread than the one that serves.
            moved.get_loop().call_soon_threadsafe(_moved, moved, gone_back)


def _moved(waiting: asyncio.Future[float], gone_back: float) -> None:
    if not waiting.done():
        waiting.set_result(gone_back)


def now_below(clock: Clock) -> float:
    """Return the time of the clock below a steered one: the time of all who are not steered with it."""
    return clock.below.now() if isinstance(clock, ControllableClock) else clock.now()


def has_passed(seconds: float, since: float, now: float) -> bool:
    """Return True if *seconds* have passed since an instant, or if time has gone back to before that instant."""
    # What happens within a request may be a moment later than its *now*.
    return now >= since + seconds or now < since - 1


def instant(seconds: float) -> datetime:
    """The aware UTC datetime of *seconds* since the epoch, to the millisecond."""
    return datetime.fromtimestamp(round(seconds, 3), UTC)
