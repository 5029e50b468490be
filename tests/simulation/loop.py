"""One loop for everything in a history: time is virtual, no thread is used, and a process can be stopped dead."""

import asyncio
import contextvars
import heapq
from collections import deque
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any, Protocol, TypeVar, TypeVarTuple

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class Stopped(Exception):
    """Everything waits, and nothing will ever happen."""


class Host(Protocol):
    """What code runs on: a process of the gateway, which may stop running."""

    def take(self, handle: asyncio.Handle) -> bool:
        """Whether *handle* runs now; a frozen process keeps it for later, a dead one drops it."""
        ...

    def work(self, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """The result of *function*, which in production runs on a thread."""
        ...


HOST: contextvars.ContextVar[Host | None] = contextvars.ContextVar("HOST", default=None)
"""The process that the running code belongs to; none for callers, vendors and the history itself."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs callbacks in order; where none is ready, time moves on to the next timer.

    A callback belongs to the process in whose context it was made.
    When that process was killed, the callback never runs, so no ``finally`` has any effect, as after ``kill -9``.
    """

    _ready: deque[asyncio.Handle]

    def __init__(self) -> None:
        super().__init__()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        """A heap; the numbers put timers that are due at the same time in the order in which they were set."""

        self._numbers = count()
        self._now = 0.0
        self.errors: list[BaseException] = []
        """What went wrong with the simulation itself."""

    def blame(self, task: asyncio.Task[Any]) -> None:
        """Note how *task*, which is no part of what is tried here, has failed."""
        if not task.cancelled() and (error := task.exception()):
            self.errors.append(error)

    def time(self) -> float:
        """Seconds since the history began, steady for everybody."""
        return self._now

    def set_time(self, seconds: float) -> None:
        """Move time on while nothing is under way."""
        self._now = max(self._now, seconds)

    def call_soon(
        self, callback: Callable[[*Arguments], object], *args: *Arguments, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """Call *callback* in the next round; without the checks of the base class, which take as long."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append(handle)
        return handle

    def call_at(
        self,
        when: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: contextvars.Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call *callback* at that time; the heap of the base class compares timers in Python, which takes longer."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """The same as ``call_soon``: there is one thread only."""
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """The result of *func*, run on this loop: at once, or when the process that asks gets to it."""
        host = HOST.get()
        if host is not None:
            return host.work(func, *args)
        done: asyncio.Future[T] = self.create_future()
        done.set_result(func(*args))
        return done

    def _run_once(self) -> None:
        self._move_on()
        for _ in range(len(self._ready)):
            handle = self._ready.popleft()
            if handle._cancelled:
                continue
            host = handle._context.get(HOST)  # type: ignore[attr-defined]
            if host is None or host.take(handle):
                handle._run()

    def _move_on(self) -> None:
        """Make ready what is due; where nothing is, let time pass until something is."""
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)
        if not self._ready:
            if not timers:
                raise Stopped
            self._now = max(self._now, timers[0][0])
        while timers and timers[0][0] <= self._now:
            self._ready.append(heapq.heappop(timers)[2])


def simulated_loop() -> SimulatedLoop:
    """The loop that everything runs on."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimulatedLoop)
    return loop


def later(delay: float, function: Callable[..., object], *arguments: Any) -> asyncio.TimerHandle:
    """Call *function* after *delay* seconds, for the process that asks."""
    return asyncio.get_running_loop().call_later(delay, function, *arguments)


def apart(coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task that belongs to no process of the gateway, so that it goes on when one dies."""
    context = contextvars.copy_context()
    context.run(HOST.set, None)
    loop = simulated_loop()
    task = loop.create_task(coroutine, context=context)
    task.add_done_callback(loop.blame)
    return task


ENDED: list[SimulatedLoop] = []
"""Loops that have ended. They are kept: if what waits on them were deleted, its ``finally`` would run."""


def simulate(main: Coroutine[Any, Any, T]) -> T:
    """The result of *main* on a loop of its own; what is left behind never takes another step."""
    loop = SimulatedLoop()
    ENDED.append(loop)
    loop.set_exception_handler(lambda *_: None)
    try:
        result = loop.run_until_complete(main)
        if loop.errors:
            raise loop.errors[0]
        return result
    finally:
        for task in asyncio.all_tasks(loop):
            task._log_destroy_pending = False  # type: ignore[attr-defined]
