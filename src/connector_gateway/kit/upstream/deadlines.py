"""A time limit for many tasks at once, kept by a single timer."""

import asyncio
from typing import Any

_Due = tuple[float, int]
"""A task's deadline by the loop's clock, and how often it had been cancelled when it entered."""


class Deadlines:
    """Cancels a task when its deadline passes, and raises ``TimeoutError`` in it; all tasks have the same time limit.

    A task can be inside once at a time. The task that entered first is due first, so one timer is enough. A timer for
    each would take a seventh of the time that a request to a third party costs (decision 15).
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._inside: dict[asyncio.Task[Any], _Due] = {}
        self._overdue: dict[asyncio.Task[Any], _Due] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop of all tasks, kept since Python asks the system for the process each time (decision 82)."""

    def __enter__(self) -> None:
        loop = self._loop = self._loop or asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("Only what runs in a task can be interrupted.")
        self._inside[task] = (loop.time() + self._seconds, task.cancelling())
        if self._timer is None:
            self._timer = loop.call_later(self._seconds, self._interrupt)

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, _: object) -> None:
        task = asyncio.current_task(self._loop)
        if task is None or self._inside.pop(task, None) is not None:
            return
        _, cancelling = self._overdue.pop(task)
        # If others have cancelled the task too, it was not only the deadline: their cancellation has to go on.
        if task.uncancel() <= cancelling and kind is asyncio.CancelledError:
            raise TimeoutError(f"It took longer than {self._seconds:g} seconds.") from fault

    def _interrupt(self) -> None:
        """Cancel the tasks that are due, and set the timer for the next one."""
        loop = asyncio.get_running_loop()
        self._timer = None
        while self._inside:
            # Dictionaries keep the order of entry, and all have the same time: the first is due first (decision 15).
            task, (at, _) = next(iter(self._inside.items()))
            if at > loop.time():
                self._timer = loop.call_at(at, self._interrupt)
                return
            self._overdue[task] = self._inside.pop(task)
            task.cancel()
