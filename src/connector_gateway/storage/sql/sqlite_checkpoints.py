"""Checkpoints of an embedded database: what is in its write-ahead log is moved into its file, beside all writers.

By itself SQLite does so inside the commit that made the log long. Whoever waited for that commit then waited for the
disk as well: 50 to 200 ms with some million runs (decisions 37 and 52).
"""

import asyncio
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import structlog
from sqlalchemy import Engine, event, exc

from connector_gateway.kit.tasks import cancel_and_wait

POLL_SECONDS = 1.0
LONG_BYTES = 4 * 1024 * 1024
"""A log up to this size is left alone, as SQLite would."""

TURNS = 8
"""How often is moved what was written meanwhile, until nothing is left."""

CALM_PAGES = 250
CALM_LOOKS = 3
"""A log that has begun anew and has no more than that, look after look, is made short again.

Under a load it would hold whoever writes for 100 ms, and grow again at once.
"""

LONG_PAGES = 16_384
FEW_PAGES = 30
"""From 64 MiB on the log begins anew between two commits, if next to nothing is left to move."""

MOST_PAGES = 131_072
"""At 512 MiB it does so whatever is left."""

log = structlog.get_logger()


class WalCheckpointer:
    """While it is entered, the log of an embedded database is kept short."""

    def __init__(self, engine: Engine, file: Path, writer: Executor) -> None:
        self._engine = engine
        self._log = file.with_name(f"{file.name}-wal")
        self._writer = writer
        self._mover = ThreadPoolExecutor(1, thread_name_prefix="database-checkpoint")
        self._seen_at = 0
        self._calm_looks = 0
        self.calm = asyncio.Event()
        """Not set while the log is about to begin anew: what can wait writes nothing then."""

        self.calm.set()
        event.listen(engine, "connect", _leave_log)

    async def __aenter__(self) -> Self:
        self._moving = asyncio.create_task(self._move_forever(), name="checkpoints")
        return self

    async def __aexit__(self, *_: object) -> None:
        await cancel_and_wait(self._moving)
        self._mover.shutdown()

    async def _move_forever(self) -> None:
        while True:
            await asyncio.sleep(POLL_SECONDS)
            # Not on the event loop: a disk that is busy may keep whoever asks for the size of a file waiting.
            if await asyncio.get_running_loop().run_in_executor(self._mover, self._is_long):
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
        pages, left = await self._move_beside()
        self._calm_looks = self._calm_looks + 1 if pages <= CALM_PAGES else 0
        if self._calm_looks >= CALM_LOOKS:
            await self._in_writer("TRUNCATE")
        elif pages >= LONG_PAGES:
            await self._begin_anew(pages, left)

    async def _begin_anew(self, pages: int, left: int) -> None:
        """Begin a long log anew between two commits, once so little is left that nobody has to wait for it."""
        self.calm.clear()
        try:
            if left > FEW_PAGES:
                pages, left = await self._move_beside()
            if left <= FEW_PAGES or pages >= MOST_PAGES:
                await self._in_writer("RESTART")
        finally:
            self.calm.set()

    async def _move_beside(self) -> tuple[int, int]:
        """Move in turns what was written during the last one; how long the log is, and about how much is left."""
        loop = asyncio.get_running_loop()
        before = pages = left = 0
        for _ in range(TURNS):
            pages, moved = await loop.run_in_executor(self._mover, self._checkpoint, "PASSIVE")
            # SQLite does not count what was written during the turn, which is less than what this turn had to move.
            left = pages - min(moved, before)
            before = pages
            if left <= FEW_PAGES:
                break
        return pages, left

    async def _in_writer(self, how: str) -> None:
        # In the thread that writes: elsewhere it would make that one wait for a lock, longer and longer each time.
        await asyncio.get_running_loop().run_in_executor(self._writer, self._checkpoint, how)

    def _checkpoint(self, how: str) -> tuple[int, int]:
        """Move what can be moved without waiting for anybody; how many pages the log had, and how many are moved."""
        with self._engine.connect() as connection:
            cursor = connection.connection.cursor()
            (waits,) = cursor.execute("PRAGMA busy_timeout").fetchone()
            cursor.execute("PRAGMA busy_timeout=0")
            try:
                _, pages, moved = cursor.execute(f"PRAGMA wal_checkpoint({how})").fetchone()
            finally:
                cursor.execute(f"PRAGMA busy_timeout={waits}")
        return pages, moved


def _leave_log(connection: Any, _: object) -> None:
    connection.execute("PRAGMA wal_autocheckpoint=0")
