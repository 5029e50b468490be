"""Cancellation of background tasks when their owner is closed."""

import asyncio
from contextlib import suppress


async def cancel_and_wait(task: asyncio.Task[None]) -> None:
    """Cancel *task* and wait for it to finish. Re-raises any earlier exception."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
