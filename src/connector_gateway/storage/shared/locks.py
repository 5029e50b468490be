"""Locks by name: one holder at a time, in order of arrival, and with a limit to every wait."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from connector_gateway.kit.errors import UpstreamConflict
from connector_gateway.kit.upstream.client import Timeouts

RETRY_SECONDS = 5.0
"""How long a caller should wait before trying again for a lock."""


@dataclass(slots=True)
class _Queue:
    """One lock, how many tasks hold it or wait for it, and their latest deadlines."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    waiting: dict[asyncio.Timeout, float] = field(default_factory=dict)


class NamedLocks:
    """Locks by name.

    A task stops waiting when the lock was not released for ``queue_seconds``, or after ``run_seconds`` in all. In a
    queue that moves, nobody is refused before that, however long the queue is. Behind a call that hangs, everybody is
    refused soon.
    """

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._queues: dict[str, _Queue] = {}

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """Hold the lock *name* while inside; ``UpstreamConflict`` if it cannot be taken in time."""
        queue = self._queues.setdefault(name, _Queue())
        queue.users += 1
        try:
            # A free lock is had without a timer, which is what nearly every call finds.
            await (queue.lock.acquire() if queue.users == 1 else self._turn(queue))
            try:
                yield
            finally:
                queue.lock.release()
                self._moved(queue)
        finally:
            queue.users -= 1
            if not queue.users:
                del self._queues[name]

    async def _turn(self, queue: _Queue) -> None:
        now = asyncio.get_running_loop().time()
        latest = now + self._timeouts.run_seconds
        try:
            async with asyncio.timeout_at(min(now + self._timeouts.queue_seconds, latest)) as limit:
                queue.waiting[limit] = latest
                try:
                    await queue.lock.acquire()
                finally:
                    del queue.waiting[limit]
        except TimeoutError:
            raise UpstreamConflict(
                "A call that goes first is not done with the same object; what waited for it was not sent.",
                retry_after=RETRY_SECONDS,
            ) from None

    def _moved(self, queue: _Queue) -> None:
        """Restart the queueing time of all who wait, since the lock was released."""
        until = asyncio.get_running_loop().time() + self._timeouts.queue_seconds
        for limit, latest in queue.waiting.items():
            if not limit.expired():
                limit.reschedule(min(until, latest))
