"""An event loop in a thread of its own, beside what blocks."""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

LONGEST_SECONDS = 60.0
"""How long anything may take that is waited for; far longer than it does."""


class LoopThread:
    """Runs coroutines on the loop of another thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What comes of *work*."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(LONGEST_SECONDS)


@contextmanager
def event_loop_thread(name: str) -> Iterator[LoopThread]:
    """A loop that runs in a thread called *name* while inside; what it has not ended by then is cancelled."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=name, daemon=True)
    thread.start()
    beside = LoopThread(loop)
    try:
        yield beside
    finally:
        # Requests whose caller has left are still carried out; Python tells whoever closes the loop before they end.
        beside.run(_cancel_others())
        loop.call_soon_threadsafe(loop.stop)
        thread.join(LONGEST_SECONDS)
        loop.close()


async def _cancel_others() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
