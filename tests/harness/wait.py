"""Waiting for vendors, threads, other processes and the database."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

LONGEST_SECONDS = 60.0
"""Much longer than anything takes, except on a busy machine."""

PAUSE_SECONDS = 0.005


def wait_until(is_met: Callable[[], Any], seconds: float = LONGEST_SECONDS, pause: float = PAUSE_SECONDS) -> None:
    """Poll until *is_met* is true. Raises after too long."""
    deadline = time.monotonic() + seconds
    while not is_met():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come true in time")
        time.sleep(pause)


async def until(is_met: Callable[[], Awaitable[Any]], seconds: float = LONGEST_SECONDS) -> None:
    """Poll asynchronously until *is_met* is true. Raises after too long."""
    async with asyncio.timeout(seconds):
        while not await is_met():  # noqa: ASYNC110  # there is no event to wait for
            await asyncio.sleep(PAUSE_SECONDS)
