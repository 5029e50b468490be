"""Tasks that go on in the background until whoever started them is closed."""

import asyncio
from contextlib import suppress


async def cancel_and_wait(task: asyncio.Task[None]) -> None:
    """Cancel *task* and wait until it has ended; what it failed with before is raised."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
