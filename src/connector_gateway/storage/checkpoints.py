"""Checkpoints of an embedded database: what is in its write-ahead log is moved into its file, beside all writers.

By itself SQLite does so inside the commit that made the log long. Whoever waited for that commit then waited for the
disk as well: 50 to 200 ms with some million runs (decision 37).
"""

import asyncio
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import structlog
from sqlalchemy import Engine, event, exc

LOOK_SECONDS = 1.0
LONG_BYTES = 4 * 1024 * 1024
"""A log up to this size is left alone, as SQLite would."""

TURNS = 8
"""How often is moved what was written meanwhile, until nothing is left."""

CALM_PAGES = 250
"""A log that has begun anew and has no more than that is made short again: nobody is in a hurry."""

LONG_PAGES = 16_384
FEW_PAGES = 30
"""From 64 MiB on the log begins anew between two commits, if next to nothing is left to move."""

MOST_PAGES = 131_072
"""At 512 MiB it does so whatever is left."""

log = structlog.get_logger()


class Checkpoints:
    """While it is entered, the log of an embedded database is kept short."""

    def __init__(self, engine: Engine, file: Path, writer: Executor) -> None:
        self._engine = engine
        self._log = file.with_name(f"{file.name}-wal")
        self._writer = writer
        self._mover = ThreadPoolExecutor(1, thread_name_prefix="database-checkpoint")
        self._seen_at = 0
        event.listen(engine, "connect", _leave_log)

    async def __aenter__(self) -> Self:
        self._moving = asyncio.create_task(self._move_forever(), name="checkpoints")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._moving.cancel()
        with suppress(asyncio.CancelledError):
            await self._moving
        self._mover.shutdown()

    async def _move_forever(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            if self._is_long():
                try:
                    await self._move()
                except exc.SQLAlchemyError as fault:
                    # Nothing is lost: the log grows until there is room for what it holds.
                    log.warning("the log of the database cannot be shortened", private=str(fault))

    def _is_long(self) -> bool:
        """Whether the log is long, and was written to since it was last looked at."""
        try:
            found = self._log.stat()
        except OSError:
            return False
        before, self._seen_at = self._seen_at, found.st_mtime_ns
        return found.st_size >= LONG_BYTES and found.st_mtime_ns != before

    async def _move(self) -> None:
        """Move everything; once nothing is left, whoever writes next begins the log anew."""
        loop = asyncio.get_running_loop()
        for _ in range(TURNS):
            # What is written meanwhile is left over for the next turn, which is the shorter for that.
            pages, left = await loop.run_in_executor(self._mover, self._checkpoint, "PASSIVE")
            if not left:
                break
        # In the thread that writes: elsewhere it would make that one wait for a lock, longer and longer each time.
        if pages <= CALM_PAGES:
            await loop.run_in_executor(self._writer, self._checkpoint, "TRUNCATE")
        elif pages >= (LONG_PAGES if left <= FEW_PAGES else MOST_PAGES):
            await loop.run_in_executor(self._writer, self._checkpoint, "RESTART")

    def _checkpoint(self, how: str) -> tuple[int, int]:
        """Move what can be moved without waiting for anybody; how many pages the log has, and how many are left."""
        with self._engine.connect() as connection:
            cursor = connection.connection.cursor()
            (waits,) = cursor.execute("PRAGMA busy_timeout").fetchone()
            cursor.execute("PRAGMA busy_timeout=0")
            try:
                _, pages, moved = cursor.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
            finally:
                cursor.execute(f"PRAGMA busy_timeout={waits}")
        return pages, pages - moved


def _leave_log(connection: Any, _: object) -> None:
    connection.execute("PRAGMA wal_autocheckpoint=0")
