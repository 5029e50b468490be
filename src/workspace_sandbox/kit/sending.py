"""What a stand-in sends of its own accord: in the background of its application, by one client."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import aiohttp
from aiohttp import web

HOLD_SECONDS = 0.25
"""How long every other event is held back when they are to arrive in disorder."""

JOURNAL_LENGTH = 10_000
"""Deliveries that are remembered."""


class Background:
    """Tasks on the loop of the application that they are started with; *cancelled* is called when they are dropped."""

    def __init__(self, cancelled: Callable[[], None] | None = None, **session: Any) -> None:
        self._cancelled = cancelled
        self._options = session
        self._loop: asyncio.AbstractEventLoop | None = None
        self._session: aiohttp.ClientSession | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self, _: web.Application) -> None:
        """Be ready to send from the running loop."""
        self._loop = asyncio.get_running_loop()

    async def stop(self, _: web.Application) -> None:
        """Drop what is under way and close."""
        tasks = list(self._tasks)
        self._cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()
        self._loop = self._session = None

    @property
    def session(self) -> aiohttp.ClientSession:
        """The client, which is made on the loop that uses it."""
        if self._session is None:
            self._session = aiohttp.ClientSession(**self._options)
        return self._session

    def begin(self, work: Callable[..., Coroutine[Any, Any, None]], *about: Any) -> None:
        """Start *work*, from whichever thread: acts arrive from a test's thread as well as from the server's loop."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self.spawn, work, *about)

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *about: Any) -> None:
        """Start *work*, from the loop itself."""
        task = asyncio.get_running_loop().create_task(work(*about))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def drop(self) -> None:
        """Cancel what is under way, from whichever thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._cancelled is not None:
            self._cancelled()
        for task in self._tasks:
            task.cancel()
