"""Who holds what alone: one at a time, in order of arrival, and nobody waits for ever."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from connector_gateway.kit.errors import UpstreamConflict
from connector_gateway.kit.upstream import Timeouts

RETRY_SECONDS = 5.0
"""When to try again what has waited in vain."""


@dataclass(slots=True)
class _Queue:
    """One lock, how many hold it or wait for it, and when those who wait give up at the latest."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    waiting: dict[asyncio.Timeout, float] = field(default_factory=dict)


class Locks:
    """Locks by name. Who waits gives up when nobody let go for the queueing time, or after the time of a run in all.

    In a queue that moves, nobody is refused before that, however long it is; behind a call that hangs, everybody is
    soon.
    """

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._queues: dict[str, _Queue] = {}

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """Hold *name* alone while inside; ``UpstreamConflict`` where it cannot be had in time."""
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
        """Give those who wait their time anew."""
        until = asyncio.get_running_loop().time() + self._timeouts.queue_seconds
        for limit, latest in queue.waiting.items():
            if not limit.expired():
                limit.reschedule(min(until, latest))
