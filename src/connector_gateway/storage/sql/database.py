"""The database: reads on a few threads, those of the history on others, writes in group commits.

Writers that arrive while a transaction is being committed share the next one.
That is what makes a durable record per call cheap: the cost of a commit is divided by the calls that wait for it.

Nobody waits for storage without end. ``StorageUnavailable`` means that it is away, or did not answer in time; whether
what was to be written is written then is not known. What must be written in the end is handed to ``eventually``.
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
from connector_gateway.storage.schema import migrate
from connector_gateway.storage.sql.availability import drop_read_only_connection, storage_unavailable, to_storage_error
from connector_gateway.storage.sql.bulk_insert import Put
from connector_gateway.storage.sql.engines import WRITERS, Now, build_engine, database_clock, database_file
from connector_gateway.storage.sql.group_commit import GroupCommitter
from connector_gateway.storage.sql.pending_writes import FunctionWriter, RowWriter, Work, Writer
from connector_gateway.storage.sql.sqlite_checkpoints import WalCheckpointer
from connector_gateway.storage.sql.sqlite_files import check_file, make_private
from connector_gateway.storage.sql.transactions import Transactions

log = structlog.get_logger()

T = TypeVar("T")

READERS = 4
HISTORY_READERS = 2
"""Threads of their own for what may take longer: nobody's call waits behind a look into the history."""

MAX_BROWSING = 100
"""Those who wait to look into the history; one more is refused at once."""

STORAGE_SECONDS = 10.0
"""How long anybody waits for storage, unless set otherwise."""

MAX_WAITING = 10_000
"""Those who wait to read, and those who wait to write; one more is refused at once."""

MAX_DEFERRED = 10_000
"""Works that are kept until storage is back."""

UNHURRIED = text("SET LOCAL synchronous_commit = off")
"""Of a transaction that may be lost with the server: its commit waits for no disk."""

FLUSH_STEP = 500
"""Of these, how many are tried in one go, so that they leave room for others."""


@dataclass(slots=True)
class _Readers:
    """Threads that read, and how many wait for them."""

    executor: Executor
    waiting: int = 0


class Database:
    """One database for the life of the process.

    A wait for a commit ends after *seconds*, as does one for a reader. The *clock* stands in for the database's own
    where tests decide the time; so do the executors where one thread is to do everything.
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
        self._ahead = 0.0
        """Seconds by which a server's clock is ahead of this process's stopwatch."""

        self.now = database_clock(self.url, clock)
        """The database's own time in seconds since the epoch, for use in statements."""

        self._seconds = seconds
        self._engine = build_engine(self.url, READERS + HISTORY_READERS, seconds / 2, clock)
        self._driver = self._engine.dialect.loaded_dbapi
        self._readers = _Readers(readers or ThreadPoolExecutor(READERS, thread_name_prefix="database-read"))
        self._browsers = _Readers(readers or ThreadPoolExecutor(HISTORY_READERS, thread_name_prefix="database-history"))
        self._writer = writer or _writer_executor()
        self._checkpoints = self._new_checkpoints() if readers is None else None
        self._writers = [
            self._writer,
            *(_writer_executor() for _ in range(0 if self.embedded or writer else WRITERS - 1)),
        ]
        self._transactions = Transactions(self._engine)
        self._commits = GroupCommitter(self._transactions.commit, self._writers, seconds)
        self._owed: dict[Work[Any], tuple[Callable[[], None], str | None]] = {}
        """Works in the order in which they came."""

        self._flushing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        # Kept, since Python asks the system for the process each time that it is asked for (decision 82).
        self._loop = asyncio.get_running_loop()
        await self._loop.run_in_executor(self._writer, self._translating, self.migrate)
        self._commits.start()
        await self.set_time()
        if self._checkpoints is not None:
            await self._checkpoints.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.flush()
        if self._owed:
            log.error("some records could not be written before the end", count=len(self._owed))
        ended = await self._commits.close()
        if self._checkpoints is not None:
            await self._checkpoints.__aexit__()
        for executor in (self._readers.executor, self._browsers.executor, *self._writers):
            executor.shutdown(wait=ended, cancel_futures=not ended)
        self._transactions.close()
        self.dispose()

    def dispose(self) -> None:
        """Close the connections that readers have opened."""
        self._engine.dispose()

    def _new_checkpoints(self) -> WalCheckpointer | None:
        file = database_file(self.url) if self.embedded else None
        return None if file is None else WalCheckpointer(self._engine, file, self._writer)

    def migrate(self) -> None:
        """Bring the schema up to date; ``Unusable`` if the database is none, or a newer version's."""
        file = database_file(self.url) if self.embedded else None
        if file is not None:
            check_file(file)
            make_private(file)
        migrate(self._engine)

    async def read(self, work: Work[T]) -> T:
        """The result of *work*, run in a transaction of its own beside all others."""
        return await self._read(work, self._readers, MAX_WAITING)

    async def read_slow(self, work: Work[T]) -> T:
        """The same for what may take longer and no call waits for: the history, and what is past its time."""
        return await self._read(work, self._browsers, MAX_BROWSING)

    async def _read(self, work: Work[T], readers: _Readers, most: int) -> T:
        def read() -> T:
            with self._engine.connect() as connection:
                return work(connection)

        return await self._in_thread(read, readers, most)

    async def _in_thread(self, work: Callable[[], T], readers: _Readers, most: int) -> T:
        if readers.waiting >= most:
            raise storage_unavailable("more wait to read than are let wait")
        readers.waiting += 1
        try:
            async with asyncio.timeout(self._seconds) as limit:
                return await asyncio.get_running_loop().run_in_executor(readers.executor, self._translating, work)
        except TimeoutError as fault:
            if limit.expired():
                raise storage_unavailable("reading took too long") from fault
            raise
        finally:
            readers.waiting -= 1

    def write(self, work: Work[T], about: str | None = None) -> Awaitable[T]:
        """The result of *work*, once it is committed; other writers may share the transaction.

        What is written *about* one thing is written in order, and so is what is about nothing in particular.
        """
        committed: asyncio.Future[T] = self._loop.create_future()
        self._call(FunctionWriter(work, committed, about))
        return committed

    def put(self, statement: Executable, values: dict[str, Any], about: str | None = None) -> Awaitable[bool]:
        """Execute *statement* with *values*; done once that is committed. The cheapest way to write one row."""
        return self.put_all([(statement, values)], about=about)

    def put_all(self, puts: Sequence[Put], fence: Put | None = None, about: str | None = None) -> Awaitable[bool]:
        """Execute *puts* together, with those of others; whether the *fence* held, without which none is executed.

        It holds if it changes a row. Once that is committed all is done.
        """
        committed: asyncio.Future[bool] = self._loop.create_future()
        self._call(RowWriter(puts, fence, committed, about))
        return committed

    def time(self) -> float:
        """The database's own time in seconds since the epoch, as exactly as a server's is known here."""
        return self._clock() if self._clock else self._ahead + monotonic_seconds()

    async def set_time(self) -> None:
        """Ask a server for its time."""
        if self._clock is None:
            began = monotonic_seconds()
            told = await self.read(lambda reading: reading.execute(select(self.now)).scalar_one())
            # The answer was made somewhere between question and arrival; the middle is wrong by half of that at most.
            self._ahead = told - (began + monotonic_seconds()) / 2

    def delete_expired(self, work: Work[int]) -> Awaitable[int]:
        """The result of *work*, which deletes what is past its time, and which nobody waits for.

        On a server that is a transaction beside those of the writers, and does not wait for the server's disk: what a
        crash brings back is deleted again (decision 71).
        """
        if self.embedded:
            return self.write(work)
        return self._in_thread(partial(self._discard, work), self._browsers, MAX_BROWSING)

    def _discard(self, work: Work[int]) -> int:
        with (
            self._engine.connect().execution_options(writes=True) as connection,
            drop_read_only_connection(connection),
            connection.begin(),
        ):
            connection.execute(UNHURRIED)
            return work(connection)

    async def wait_until_idle(self) -> None:
        """Wait while whatever is written would make others wait longer; for what is in no hurry."""
        if self._checkpoints is not None:
            await self._checkpoints.calm.wait()

    def write_deferred(
        self, work: Work[Any], then: Callable[[], None] = lambda: None, about: str | None = None
    ) -> None:
        """Have *work* committed as soon as storage is back, and call *then*; it must be safe to carry out twice."""
        if len(self._owed) >= MAX_DEFERRED:
            log.error("a record is lost: more are owed than are kept")
            return
        self._owed[work] = (then, about)
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self.flush(), name="what is owed")

    async def flush(self) -> None:
        """Commit what is owed; what storage still refuses is kept for the next time."""
        while owed := list(islice(self._owed.items(), FLUSH_STEP)):
            # Handed over together, they share commits; one after the other would make each wait for the last.
            writing = [self.write(work, about) for work, (_, about) in owed]
            outcomes = await asyncio.gather(*writing, return_exceptions=True)
            for (work, (then, _)), outcome in zip(owed, outcomes, strict=True):
                if isinstance(outcome, StorageUnavailable):
                    return
                if isinstance(outcome, Exception):
                    log.error("a record that was owed cannot be written", exc_info=outcome)
                if self._owed.pop(work, None) is not None:
                    then()

    @property
    def queues(self) -> Mapping[str, int]:
        """How many wait to read, to look into the history and to write, and how many records are owed."""
        return {
            "read": self._readers.waiting,
            "history": self._browsers.waiting,
            "write": self._commits.waiting,
            "owed": len(self._owed),
        }

    @property
    def commits(self) -> GroupCommitter:
        """What commits, and has counted how long that took."""
        return self._commits

    def _translating(self, work: Callable[[], T]) -> T:
        """The result of *work*; ``StorageUnavailable`` where its failure means that."""
        try:
            return work()
        except Exception as fault:
            told = to_storage_error(fault, self._driver)
            if told is fault:
                raise
            raise told from fault

    def _call(self, writer: Writer) -> None:
        if self._commits.waiting >= MAX_WAITING:
            writer.committed.set_exception(storage_unavailable("more wait to write than are let wait"))
        else:
            self._commits.add(writer)


def _writer_executor() -> Executor:
    return ThreadPoolExecutor(1, thread_name_prefix="database-write")
