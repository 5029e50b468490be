"""Checkpoints of an embedded database, which copy its write-ahead log into its file without blocking writers.

By default SQLite does so inside the commit that made the log long. Callers that waited for that commit then also waited
for the disk, for 50 to 200 ms with some million runs.
"""

import asyncio
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import structlog
from sqlalchemy import Engine, event, exc

from connector_gateway.kit.task_cancellation import cancel_and_wait

POLL_SECONDS = 1.0
LONG_BYTES = 4 * 1024 * 1024
"""Shorter logs are not checkpointed, as in SQLite's default."""

MAX_ROUNDS = 8
"""The maximum number of rounds to copy pages written in the meantime."""

CALM_PAGES = 250
IDLE_CHECKS = 3
"""A restarted log with at most this many pages in each of several consecutive checks is truncated.

Under load a truncation would block writers for 100 ms, and the log would grow again immediately.
"""

LONG_PAGES = 16_384
FEW_PAGES = 30
"""From 64 MiB on the log is restarted between two commits, if little is left to copy."""

MAX_PAGES = 131_072
"""At 512 MiB the log is restarted in any case."""

log = structlog.get_logger()


class WalCheckpointer:
    """Keeps the log of an embedded database short while the context is active."""

    def __init__(self, engine: Engine, file: Path, writer: Executor) -> None:
        self._engine = engine
        self._log = file.with_name(f"{file.name}-wal")
        self._writer = writer
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="database-checkpoint")
        self._seen_at = 0
        self._idle_checks = 0
        self.is_idle = asyncio.Event()
        """Cleared while the log is about to be restarted. Writes that can wait are delayed then."""

        self.is_idle.set()
        event.listen(engine, "connect", _disable_auto_checkpoint)

    async def __aenter__(self) -> Self:
        self._loop_task = asyncio.create_task(self._checkpoint_loop(), name="checkpoints")
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_and_wait(self._loop_task)
        self._executor.shutdown()

    async def _checkpoint_loop(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            # Not on the event loop, because reading a file's size can block on a busy disk.
            if await asyncio.get_running_loop().run_in_executor(self._executor, self._is_long):
                try:
                    await self._move()
                except exc.SQLAlchemyError as error:
                    # No data is lost: the log grows until there is space for its content.
                    log.warning("database log not shortened", private=str(error))

    def _is_long(self) -> bool:
        """Return True if the log is long and has been written to since the last check."""
        try:
            status = self._log.stat()
        except OSError:
            return False
        before, self._seen_at = self._seen_at, status.st_mtime_ns
        return status.st_size >= LONG_BYTES and status.st_mtime_ns != before

    async def _move(self) -> None:
        """Copy all pages. Once none are left, the next writer restarts the log."""
        pages, pages_left = await self._copy_in_rounds()
        self._idle_checks = self._idle_checks + 1 if pages <= CALM_PAGES else 0
        if self._idle_checks >= IDLE_CHECKS:
            await self._checkpoint_in_writer("TRUNCATE")
        elif pages >= LONG_PAGES:
            await self._restart_log(pages, pages_left)

    async def _restart_log(self, pages: int, pages_left: int) -> None:
        """Restart a long log between two commits, once so little is left that no writer has to wait."""
        self.is_idle.clear()
        try:
            if pages_left > FEW_PAGES:
                pages, pages_left = await self._copy_in_rounds()
            if pages_left <= FEW_PAGES or pages >= MAX_PAGES:
                await self._checkpoint_in_writer("RESTART")
        finally:
            self.is_idle.set()

    async def _copy_in_rounds(self) -> tuple[int, int]:
        """Copy pages in rounds, and those written in the meantime in the next one.

        Returns the length of the log and approximately the number of pages left.
        """
        loop = asyncio.get_running_loop()
        before = pages = pages_left = 0
        for _ in range(MAX_ROUNDS):
            pages, moved = await loop.run_in_executor(self._executor, self._checkpoint, "PASSIVE")
            # SQLite does not count pages written during a round, which are fewer than those that the round had to copy.
            pages_left = pages - min(moved, before)
            before = pages
            if pages_left <= FEW_PAGES:
                break
        return pages, pages_left

    async def _checkpoint_in_writer(self, mode: str) -> None:
        # In the writer's thread. Any other thread would make it wait for a lock, longer each time.
        await asyncio.get_running_loop().run_in_executor(self._writer, self._checkpoint, mode)

    def _checkpoint(self, mode: str) -> tuple[int, int]:
        """Copy the pages that can be copied without waiting.

        Returns the number of pages in the log, and of those copied.
        """
        with self._engine.connect() as connection:
            cursor = connection.connection.cursor()
            (timeout,) = cursor.execute("PRAGMA busy_timeout").fetchone()
            cursor.execute("PRAGMA busy_timeout=0")
            try:
                _, pages, moved = cursor.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
            finally:
                cursor.execute(f"PRAGMA busy_timeout={timeout}")
        return pages, moved


def _disable_auto_checkpoint(connection: Any, _: object) -> None:
    connection.execute("PRAGMA wal_autocheckpoint=0")
