"""The event loop of a history: time is virtual, no thread is used, and a process can be killed."""

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
    """All tasks wait, and no timer is set."""


class Host(Protocol):
    """An owner of running code: a process of the gateway, which can stop running."""

    def take(self, handle: asyncio.Handle) -> bool:
        """Return True if *handle* runs now. A frozen process stores it for later, a dead one drops it."""
        ...

    def work(self, function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """Return the result of *function*, which runs on a thread in production."""
        ...


HOST: contextvars.ContextVar[Host | None] = contextvars.ContextVar("HOST", default=None)
"""The process that owns the running code. None for callers, vendors and the history itself."""


class SimulatedLoop(asyncio.BaseEventLoop):
    """Runs callbacks in order. If none is ready, time advances to the next timer.

    A callback belongs to the process in whose context it was created.
    If that process was killed, the callback never runs, so no ``finally`` has any effect, as after ``kill -9``.
    """

    _ready: deque[asyncio.Handle]

    def __init__(self) -> None:
        super().__init__()
        self._timers: list[tuple[float, int, asyncio.TimerHandle]] = []
        """A heap. Sequence numbers order timers that are due at the same time."""

        self._numbers = count()
        self._now = 0.0
        self.errors: list[BaseException] = []
        """Errors of the simulation itself."""

    def record_error(self, task: asyncio.Task[Any]) -> None:
        """Store the error of *task*, which is not part of the tested code."""
        if not task.cancelled() and (error := task.exception()):
            self.errors.append(error)

    def time(self) -> float:
        """Return the seconds since the history started, which are the same for all processes."""
        return self._now

    def set_time(self, seconds: float) -> None:
        """Advance time while nothing is running."""
        self._now = max(self._now, seconds)

    def call_soon(
        self, callback: Callable[[*Arguments], object], *args: *Arguments, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """Call *callback* in the next round, without the slow checks of the base class."""
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
        """Call *callback* at that time. The heap of the base class compares timers in Python, which is slower."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        return timer

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: contextvars.Context | None = None
    ) -> asyncio.Handle:
        """Equal to ``call_soon``, since there is only one thread."""
        return self.call_soon(callback, *args, context=context)

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """Run *func* on this loop: now, or as soon as the calling process continues."""
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
        """Schedule due timers. If there are none, advance time."""
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
    """Return the loop of the history."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SimulatedLoop)
    return loop


def later(delay: float, function: Callable[..., object], *arguments: Any) -> asyncio.TimerHandle:
    """Call *function* after *delay* seconds, for the current process."""
    return asyncio.get_running_loop().call_later(delay, function, *arguments)


def apart(coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """Create a task that belongs to no process of the gateway, so that it survives a kill."""
    context = contextvars.copy_context()
    context.run(HOST.set, None)
    loop = simulated_loop()
    task = loop.create_task(coroutine, context=context)
    task.add_done_callback(loop.record_error)
    return task


ENDED: list[SimulatedLoop] = []
"""Closed loops. They are retained: deleting them would run the ``finally`` blocks of their tasks."""


def simulate(main: Coroutine[Any, Any, T]) -> T:
    """Run *main* on a new loop, and return its result; remaining tasks are never resumed."""
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
