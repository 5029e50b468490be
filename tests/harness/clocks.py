"""Clocks for tests: one that is set manually, and an event loop in virtual time."""

import asyncio
import selectors
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")

NOON = 1_795_000_000.0
"""The time at which the clocks of tests start, in seconds since the epoch."""


class ManualClock:
    """Stands still until it is set; ``sleep`` advances it."""

    def __init__(self, at: float = NOON) -> None:
        self.at = at
        self.slept = asyncio.Event()
        """Set as soon as ``sleep`` was called."""

    def now(self) -> float:
        return self.at

    async def sleep(self, seconds: float) -> None:
        self.at += max(0.0, seconds)
        self.slept.set()
        await asyncio.sleep(0)


@dataclass
class ShiftedClock:
    """The machine's time with an offset, which grows by *step* with every call."""

    ahead: float = 0.0
    step: float = 0.0

    def now(self) -> float:
        self.ahead += self.step
        return time.time() + self.ahead

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


class LoopClock:
    """The running loop's time, counted from noon."""

    def now(self) -> float:
        return NOON + asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds))


class _Selector(selectors.SelectSelector):
    """Never waits: if no event is ready, time advances to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 0.0

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "everything waits, and nothing will ever happen"
            self.time += timeout
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._ticks = _Selector()
        super().__init__(self._ticks)

    def time(self) -> float:
        return self._ticks.time


def run_in_virtual_time(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run *coroutine* in virtual time and return its result; for code without threads and sockets."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(coroutine)
