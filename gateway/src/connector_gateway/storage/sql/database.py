"""The database: reads run on a few threads, history queries on separate ones, and writes in group commits.

Writers that arrive while a transaction is being committed share the next one. This makes a durable record per call
cheap, because the cost of a commit is divided by the calls that wait for it.

All waits for the database have a timeout. ``StorageUnavailable`` means that it is unavailable or did not respond in
time. A write may then have been committed, or be committed later. Writes that must not be lost are passed to
``write_deferred``.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Self, TypeVar

import structlog
from sqlalchemy import make_url, select, text
from sqlalchemy.sql.base import Executable

from connector_gateway.kit.clock import MonotonicClock, monotonic_seconds
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.storage.migration_runner import migrate
from connector_gateway.storage.sql.compiled_statements import Put
from connector_gateway.storage.sql.engines import WRITERS, Now, build_engine, database_clock, database_file
from connector_gateway.storage.sql.group_commit import GroupCommitter
from connector_gateway.storage.sql.group_commit_writers import FunctionWriter, RowWriter, Work, Writer
from connector_gateway.storage.sql.sqlite_checkpoints import WalCheckpointer
from connector_gateway.storage.sql.sqlite_files import check_file, make_private
from connector_gateway.storage.sql.transactions import create_transactions
from connector_gateway.storage.sql.unavailable_database import (
    drop_read_only_connection,
    storage_unavailable,
    to_storage_error,
)

log = structlog.get_logger()

T = TypeVar("T")

READERS = 4
HISTORY_READERS = 2
"""Separate threads for slow queries, because no call may wait for a query of the history."""

MAX_WAITING_HISTORY = 100
"""The maximum number of waiting history queries. Further ones are rejected immediately."""

STORAGE_SECONDS = 10.0
"""The default timeout of a database operation."""

MAX_WAITING = 10_000
"""The maximum number of waiting readers, and of waiting writers. Further ones are rejected immediately."""

MAX_DEFERRED = 10_000
"""The maximum number of writes that are retained until the database is available again."""

WITHOUT_DISK_WAIT = text("SET LOCAL synchronous_commit = off")
"""Used for transactions that may be lost if the server crashes. Their commits do not wait for the disk."""

FLUSH_STEP = 500
"""The number of deferred writes per attempt, because other writers should not wait for all of them."""


@dataclass(slots=True)
class _Readers:
    """Reader threads, and the number of callers that wait for them."""

    executor: Executor
    waiting: int = 0


class Database:
    """One database for the life of the process.

    Waits for a commit or a reader end after *seconds*. In tests, *clock* replaces the database's own clock, and the
    executors replace the threads.
    """

    def __init__(
        self,
        url: str,
        *,
        seconds: float = STORAGE_SECONDS,
        clock: Now | None = None,
        readers: Executor | None = None,
        writer: Executor | None = None,
    ) -> None:
        self.url = make_url(url)
        self.embedded = self.url.get_backend_name() == "sqlite"
        if self.embedded:
            clock = clock or MonotonicClock().now
        self._clock = clock
        self._clock_offset = 0.0
        """The difference between a server's clock and this process's monotonic clock, in seconds."""

        self.now = database_clock(self.url, clock)
        """The database's own time in seconds since the epoch, for use in statements."""

        self._seconds = seconds
        self._engine = build_engine(self.url, READERS + HISTORY_READERS, seconds / 2, clock)
        self._driver = self._engine.dialect.loaded_dbapi
        self._readers = _Readers(readers or ThreadPoolExecutor(READERS, thread_name_prefix="database-read"))
        self._history_readers = _Readers(
            readers or ThreadPoolExecutor(HISTORY_READERS, thread_name_prefix="database-history")
        )
        self._writer = writer or _writer_executor()
        self._checkpoints = self._create_checkpointer() if readers is None else None
        self._writers = [
            self._writer,
            *(_writer_executor() for _ in range(0 if self.embedded or writer else WRITERS - 1)),
        ]
        self._transactions = create_transactions(self._engine)
        self._commits = GroupCommitter(self._transactions.commit, self._writers, seconds)
        self._deferred: dict[Work[Any], tuple[Callable[[], None], str | None]] = {}
        """The deferred writes, in order of arrival."""

        self._flushing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        # Cached, because Python asks the system for the process id on every lookup.
        self._loop = asyncio.get_running_loop()
        await self._loop.run_in_executor(self._writer, self._translate_errors, self.migrate)
        self._commits.start()
        await self.synchronize_clock()
        if self._checkpoints is not None:
            await self._checkpoints.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.flush()
        if self._deferred:
            log.error("deferred records lost at shutdown", count=len(self._deferred))
        ended = await self._commits.close()
        if self._checkpoints is not None:
            await self._checkpoints.__aexit__()
        for executor in (self._readers.executor, self._history_readers.executor, *self._writers):
            executor.shutdown(wait=ended, cancel_futures=not ended)
        self._transactions.close()
        self.dispose()

    def dispose(self) -> None:
        """Close the readers' connections."""
        self._engine.dispose()

    def _create_checkpointer(self) -> WalCheckpointer | None:
        file = database_file(self.url) if self.embedded else None
        return None if file is None else WalCheckpointer(self._engine, file, self._writer)

    def migrate(self) -> None:
        """Bring the schema up to date. Raises ``UnusableDatabase`` if the file is not a database, or newer."""
        file = database_file(self.url) if self.embedded else None
        if file is not None:
            check_file(file)
            make_private(file)
        migrate(self._engine)

    async def read(self, work: Work[T]) -> T:
        """Run *work* in a separate transaction, concurrently, and return its result."""
        return await self._read(work, self._readers, MAX_WAITING)

    async def read_slow(self, work: Work[T]) -> T:
        """Like ``read``, for slow queries that no call waits for, of the run history and of expired rows."""
        return await self._read(work, self._history_readers, MAX_WAITING_HISTORY)

    async def _read(self, work: Work[T], readers: _Readers, max_waiting: int) -> T:
        def read() -> T:
            with self._engine.connect() as connection:
                return work(connection)

        return await self._run_in_thread(read, readers, max_waiting)

    async def _run_in_thread(self, work: Callable[[], T], readers: _Readers, max_waiting: int) -> T:
        if readers.waiting >= max_waiting:
            raise storage_unavailable("too many waiting readers")
        readers.waiting += 1
        try:
            async with asyncio.timeout(self._seconds) as limit:
                return await asyncio.get_running_loop().run_in_executor(readers.executor, self._translate_errors, work)
        except TimeoutError as error:
            if limit.expired():
                raise storage_unavailable("reading took too long") from error
            raise
        finally:
            readers.waiting -= 1

    def write(self, work: Work[T], about: str | None = None) -> Awaitable[T]:
        """Return the result of *work* once it is committed. Other writers may share the transaction.

        Writes *about* one subject are in order, as are writes without a subject.
        """
        committed: asyncio.Future[T] = self._loop.create_future()
        self._add_writer(FunctionWriter(work, committed, about))
        return committed

    def put(self, statement: Executable, values: dict[str, Any], about: str | None = None) -> Awaitable[bool]:
        """Execute *statement* with *values*, and return once it is committed.

        This is the cheapest way to write one row.
        """
        return self.put_all([(statement, values)], about=about)

    def put_all(self, puts: Sequence[Put], fence: Put | None = None, about: str | None = None) -> Awaitable[bool]:
        """Execute *puts* in one transaction, shared with other writers. Returns whether the *fence* held.

        The fence holds if it changes a row. If it does not hold, none of *puts* is executed. Returns once the
        transaction is committed.
        """
        committed: asyncio.Future[bool] = self._loop.create_future()
        self._add_writer(RowWriter(puts, fence, committed, about))
        return committed

    def time(self) -> float:
        """Return the database's own time in seconds since the epoch. That of a server is an estimate."""
        return self._clock() if self._clock else self._clock_offset + monotonic_seconds()

    async def synchronize_clock(self) -> None:
        """Measure the difference between a server's clock and that of this process."""
        if self._clock is None:
            started_at = monotonic_seconds()
            server_time = await self.read(lambda reading: reading.execute(select(self.now)).scalar_one())
            # The server read its clock between query and response. The midpoint is wrong by at most half of that time.
            self._clock_offset = server_time - (started_at + monotonic_seconds()) / 2

    def delete_expired(self, work: Work[int]) -> Awaitable[int]:
        """Run *work*, which deletes expired rows, and return its result.

        On a server this is a separate transaction that does not wait for the disk, because rows that a crash restores
        are deleted again.
        """
        if self.embedded:
            return self.write(work)
        return self._run_in_thread(partial(self._run_deletion, work), self._history_readers, MAX_WAITING_HISTORY)

    def _run_deletion(self, work: Work[int]) -> int:
        with (
            self._engine.connect().execution_options(writes=True) as connection,
            drop_read_only_connection(connection),
            connection.begin(),
        ):
            connection.execute(WITHOUT_DISK_WAIT)
            return work(connection)

    async def wait_until_idle(self) -> None:
        """Wait until a write would not delay others, before a write that is not urgent."""
        if self._checkpoints is not None:
            await self._checkpoints.is_idle.wait()

    def write_deferred(
        self, work: Work[Any], then: Callable[[], None] = lambda: None, about: str | None = None
    ) -> None:
        """Commit *work* once the database is available again, then call *then*. *work* must be idempotent."""
        if len(self._deferred) >= MAX_DEFERRED:
            log.error("record lost: too many deferred records")
            return
        self._deferred[work] = (then, about)
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self.flush(), name="deferred records")

    async def flush(self) -> None:
        """Commit the deferred writes. They are retained if the database is unavailable."""
        while deferred := list(islice(self._deferred.items(), FLUSH_STEP)):
            # Submitted together, they share commits. Otherwise each would wait for the previous one.
            writing = [self.write(work, about) for work, (_, about) in deferred]
            outcomes = await asyncio.gather(*writing, return_exceptions=True)
            for (work, (then, _)), outcome in zip(deferred, outcomes, strict=True):
                if isinstance(outcome, StorageUnavailable):
                    return
                if isinstance(outcome, Exception):
                    log.error("deferred record not written", exc_info=outcome)
                if self._deferred.pop(work, None) is not None:
                    then()

    @property
    def queues(self) -> Mapping[str, int]:
        """The number of waiting readers, history readers and writers, and of deferred records."""
        return {
            "read": self._readers.waiting,
            "history": self._history_readers.waiting,
            "write": self._commits.waiting,
            "owed": len(self._deferred),
        }

    @property
    def commits(self) -> GroupCommitter:
        """The group committer, with its statistics."""
        return self._commits

    def _translate_errors(self, work: Callable[[], T]) -> T:
        """Run *work*, and convert exceptions of an unavailable database to ``StorageUnavailable``."""
        try:
            return work()
        except Exception as error:
            translated = to_storage_error(error, self._driver)
            if translated is error:
                raise
            raise translated from error

    def _add_writer(self, writer: Writer) -> None:
        if self._commits.waiting >= MAX_WAITING:
            writer.committed.set_exception(storage_unavailable("too many waiting writers"))
        else:
            self._commits.add(writer)


def _writer_executor() -> Executor:
    return ThreadPoolExecutor(1, thread_name_prefix="database-write")
