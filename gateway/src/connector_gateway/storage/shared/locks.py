"""Locks by name, granted in order of arrival, with limited waiting times."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from connector_gateway.kit.errors import UpstreamConflict
from connector_gateway.kit.upstream.client import Timeouts

RETRY_SECONDS = 5.0
"""Seconds after which a caller should try again for a lock."""


@dataclass(slots=True)
class _Queue:
    """One lock, the number of tasks that hold it or wait for it, and the latest deadlines of those that wait."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    waiting: dict[asyncio.Timeout, float] = field(default_factory=dict)


class NamedLocks:
    """Locks by name.

    A task stops waiting if the lock was not released for ``queue_seconds``, or after ``run_seconds`` in total. While a
    queue moves, no task is rejected before that, however long the queue is. Behind a call that hangs, all are rejected
    soon.
    """

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._queues: dict[str, _Queue] = {}

    @asynccontextmanager
    async def acquire(self, name: str) -> AsyncIterator[None]:
        """Acquire the lock *name* inside the context. Raises ``UpstreamConflict`` if that takes too long."""
        queue = self._queues.setdefault(name, _Queue())
        queue.users += 1
        try:
            # Nearly every lock is free, and is acquired without a timer.
            await (queue.lock.acquire() if queue.users == 1 else self._wait_in_queue(queue))
            try:
                yield
            finally:
                queue.lock.release()
                self._extend_waits(queue)
        finally:
            queue.users -= 1
            if not queue.users:
                del self._queues[name]

    async def _wait_in_queue(self, queue: _Queue) -> None:
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
                "An earlier call is still changing the same object; this change was not sent.",
                retry_after=RETRY_SECONDS,
            ) from None

    def _extend_waits(self, queue: _Queue) -> None:
        """Restart the queueing time of all waiting tasks, because the lock was released."""
        until = asyncio.get_running_loop().time() + self._timeouts.queue_seconds
        for limit, latest in queue.waiting.items():
            if not limit.expired():
                limit.reschedule(min(until, latest))
