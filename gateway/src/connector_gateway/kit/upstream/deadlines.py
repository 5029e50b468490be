"""A common time limit for many tasks, enforced by a single timer."""

import asyncio
from typing import Any

_Due = tuple[float, int]
"""A task's deadline by the loop's clock, and its number of cancellation requests when it entered."""


class Deadlines:
    """Cancels a task when its deadline passes, and raises ``TimeoutError`` in it. All tasks have the same time limit.

    A task can be inside once at a time. The task that entered first is due first, so one timer is enough. A timer for
    each would take a seventh of the time that an upstream request costs.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._inside: dict[asyncio.Task[Any], _Due] = {}
        self._overdue: dict[asyncio.Task[Any], _Due] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        """The loop of all tasks. It is cached because Python asks the system for the process id on every lookup."""

    def __enter__(self) -> None:
        loop = self._loop = self._loop or asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("A deadline needs a running task.")
        self._inside[task] = (loop.time() + self._seconds, task.cancelling())
        if self._timer is None:
            self._timer = loop.call_later(self._seconds, self._interrupt)

    def __exit__(self, error_type: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        task = asyncio.current_task(self._loop)
        if task is None or self._inside.pop(task, None) is not None:
            return
        _, cancelling = self._overdue.pop(task)
        # If the task was also cancelled by others, their cancellation has to continue.
        if task.uncancel() <= cancelling and error_type is asyncio.CancelledError:
            raise TimeoutError(f"Timed out after {self._seconds:g} seconds.") from error

    def _interrupt(self) -> None:
        """Cancel the tasks that are due, and set the timer for the next one."""
        loop = asyncio.get_running_loop()
        self._timer = None
        while self._inside:
            # Dictionaries preserve the order of entry, and the time limit is the same for all, so the first is due
            # first.
            task, (due_at, _) = next(iter(self._inside.items()))
            if due_at > loop.time():
                self._timer = loop.call_at(due_at, self._interrupt)
                return
            self._overdue[task] = self._inside.pop(task)
            task.cancel()
