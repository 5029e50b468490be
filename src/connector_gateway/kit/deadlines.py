"""A limit to how long something may take, kept by one timer for all who are at it."""

import asyncio
from typing import Any

_Due = tuple[float, int]
"""Until when a task may take, by the loop's clock, and how many others wanted it to end when it began."""


class Deadlines:
    """The same time for everybody inside: whoever takes longer is interrupted, and leaves with ``TimeoutError``.

    A task can be inside once at a time. Who entered first is due first, so that one timer is enough; a timer for each
    would be a seventh of what a request to a third party costs.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._inside: dict[asyncio.Task[Any], _Due] = {}
        self._overdue: dict[asyncio.Task[Any], _Due] = {}
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.current_task(loop)
        if task is None:
            raise RuntimeError("Only what runs in a task can be interrupted.")
        self._inside[task] = (loop.time() + self._seconds, task.cancelling())
        if self._timer is None:
            self._timer = loop.call_later(self._seconds, self._interrupt)

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, _: object) -> None:
        task = asyncio.current_task()
        if task is None or self._inside.pop(task, None) is not None:
            return
        _, cancelling = self._overdue.pop(task)
        # If others have cancelled the task too, it was not only the deadline: their cancellation has to go on.
        if task.uncancel() <= cancelling and kind is asyncio.CancelledError:
            raise TimeoutError(f"It took longer than {self._seconds:g} seconds.") from fault

    def _interrupt(self) -> None:
        """Interrupt who is due, and wait for who is next."""
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
