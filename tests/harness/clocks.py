"""Clocks for tests."""

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from connector_gateway.connector_check.virtual_time import VirtualTimeLoop

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


def run_in_virtual_time(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run *coroutine* in virtual time and return its result; for code without threads and sockets."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        return runner.run(coroutine)
