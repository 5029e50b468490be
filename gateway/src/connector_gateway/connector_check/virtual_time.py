"""An event loop in virtual time, for code without threads and sockets."""

import asyncio
import selectors
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, TypeVar, TypeVarTuple

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class Stalled(Exception):
    """Every task waits, and no timer is set."""


class _InstantSelector(selectors.SelectSelector):
    """Never waits: if no event is ready, time advances to the next timer."""

    def __init__(self, time: float) -> None:
        super().__init__()
        self.time = time

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise Stalled("Every task waits, and no timer is set.")
            self.time += timeout
        return ready


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """Starts at *time* in seconds. Work for threads is done at once."""

    def __init__(self, time: float = 0.0) -> None:
        self._ticks = _InstantSelector(time)
        super().__init__(self._ticks)

    def time(self) -> float:
        """Return the virtual time."""
        return self._ticks.time

    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> asyncio.Future[T]:
        """Call *func* on this loop."""
        del executor

        async def call() -> T:
            return func(*args)

        return self.create_task(call())
