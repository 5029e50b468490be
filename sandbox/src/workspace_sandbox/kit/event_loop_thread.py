"""An event loop in a background thread."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

TIMEOUT_SECONDS = 60.0
"""Maximum seconds to wait for any result, far longer than needed."""


class LoopThread:
    """Runs coroutines on the loop of another thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run *work* on the loop and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(TIMEOUT_SECONDS)


@contextmanager
def event_loop_thread(name: str) -> Iterator[LoopThread]:
    """Run an event loop in a thread called *name* for the duration of the context, then cancel its remaining tasks."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=name, daemon=True)
    thread.start()
    loop_thread = LoopThread(loop)
    try:
        yield loop_thread
    finally:
        # Requests of disconnected clients are still running, and Python warns about tasks that outlive their loop.
        loop_thread.run(_cancel_others())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(TIMEOUT_SECONDS)
        loop.close()


async def _cancel_others() -> None:
    remaining = asyncio.all_tasks() - {asyncio.current_task()}
    for task in remaining:
        task.cancel()
    await asyncio.gather(*remaining, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
