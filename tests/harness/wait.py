"""Waiting for vendors, threads, other processes and the database."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

LONGEST_SECONDS = 60.0
"""Much longer than anything takes, except on a busy machine."""

PAUSE_SECONDS = 0.005


def wait_until(holds: Callable[[], Any], seconds: float = LONGEST_SECONDS, pause: float = PAUSE_SECONDS) -> None:
    """Poll until *holds* is true. Raises after too long."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come true in time")
        time.sleep(pause)


async def until(holds: Callable[[], Awaitable[Any]], seconds: float = LONGEST_SECONDS) -> None:
    """Poll asynchronously until *holds* is true. Raises after too long."""
    async with asyncio.timeout(seconds):
        while not await holds():  # noqa: ASYNC110  # there is no event to wait for
            await asyncio.sleep(PAUSE_SECONDS)
