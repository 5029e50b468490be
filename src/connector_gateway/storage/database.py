"""The database: reads on a few threads, those of the history on others, writes in group commits.

Writers that arrive while a transaction is being committed share the next one.
That is what makes a durable record per call cheap: the cost of a commit is divided by the calls that wait for it.

Nobody waits for storage without end. ``StorageUnavailable`` means that it is away, or did not answer in time; whether
what was to be written is written then is not known. What must be written in the end is handed to ``eventually``.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, islice
from pathlib import Path
from typing import Any, Self, TypeVar

import structlog
from sqlalchemy import Connection, Insert, inspect, make_url, select, text
from sqlalchemy.sql.base import Executable

from connector_gateway.kit.clock import SteadyClock, elapsed
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.storage.checkpoints import Checkpoints
from connector_gateway.storage.engines import Now, database_file, engine_of, now_of
from connector_gateway.storage.faults import translated, unavailable
from connector_gateway.storage.files import Unusable, check_file, make_private
from connector_gateway.storage.rows import MOST_ROWS, Put, execute, put_all

log = structlog.get_logger()

T = TypeVar("T")
Work = Callable[[Connection], T]

MIGRATIONS = Path(__file__).parent / "migrations"
READERS = 4
HISTORY_READERS = 2
"""Threads of their own for what may take longer: nobody's call waits behind a look into the history."""

MAX_BROWSING = 100
"""Those who wait to look into the history; one more is refused at once."""

STORAGE_SECONDS = 10.0
"""How long anybody waits for storage, unless set otherwise."""

MAX_WAITING = 10_000
"""Those who wait to read, and those who wait to write; one more is refused at once."""

MAX_OWED = 10_000
"""Works that are kept until storage is back."""

FLUSH_STEP = 500
"""Of these, how many are tried in one go, so that they leave room for others."""

GATHER_SECONDS = 0.002
GATHER_FROM = 4
"""When the last commit served at least this many writers, the next waits briefly so that more can join it."""


@dataclass(slots=True, eq=False)
class _Puts:
    """What is to be executed together with what its neighbours want executed, if its fence holds."""

    puts: Sequence[Put]
    fence: Put | None
    committed: asyncio.Future[Any]


@dataclass(slots=True, eq=False)
class _Work:
    """A function to be run inside the transaction."""

    work: Work[Any]
    committed: asyncio.Future[Any]


@dataclass(slots=True)
class _Readers:
    """Threads that read, and how many wait for them."""

    executor: Executor
    waiting: int = 0


class _Unconfirmed(Exception):
    """A commit failed in such a way that it may have been carried out."""


class Database:
    """One database for the life of the process.

    A wait for a commit ends after *seconds*: half of them for the commit under way, half for one's own.
    The *clock* stands in for the database's own where tests decide the time; so do the executors where one thread is
    to do everything.
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
            clock = clock or SteadyClock().now
        self._clock = clock
        self._ahead = 0.0
        """Seconds by which a server's clock is ahead of this process's stopwatch."""

        self.now = now_of(self.url, clock)
        """The database's own time in seconds since the epoch, for use in statements."""

        self._seconds = seconds
        self._engine = engine_of(self.url, READERS + HISTORY_READERS, seconds / 2, clock)
        self._driver = self._engine.dialect.loaded_dbapi
        self._readers = _Readers(readers or ThreadPoolExecutor(READERS, thread_name_prefix="database-read"))
        self._browsers = _Readers(readers or ThreadPoolExecutor(HISTORY_READERS, thread_name_prefix="database-history"))
        self._writer = writer or ThreadPoolExecutor(1, thread_name_prefix="database-write")
        self._checkpoints = self._new_checkpoints() if readers is None else None
        self._waiting: list[_Puts | _Work] = []
        self._called = asyncio.Event()
        """Set when somebody waits for a commit, or the database is to be closed."""

        self._closing = False
        self._committer: asyncio.Task[None] | None = None
        self._overdue: asyncio.TimerHandle | None = None
        self._owed: dict[Work[Any], Callable[[], None]] = {}
        """Works in the order in which they came."""

        self._flushing: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await asyncio.get_running_loop().run_in_executor(self._writer, self._translating, self.migrate)
        self._committer = asyncio.create_task(self._commit_until_closed(), name="group commit")
        await self.set_time()
        if self._checkpoints is not None:
            await self._checkpoints.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.flush()
        if self._owed:
            log.error("some records could not be written before the end", count=len(self._owed))
        self._closing = True
        self._called.set()
        ended = await self._last_commit()
        if self._checkpoints is not None:
            await self._checkpoints.__aexit__()
        for executor in (self._readers.executor, self._browsers.executor, self._writer):
            executor.shutdown(wait=ended, cancel_futures=not ended)
        self._engine.dispose()

    async def _last_commit(self) -> bool:
        """Wait, though not without end, until all was committed; whether it was."""
        if self._committer is None:
            return True
        done, _ = await asyncio.wait({self._committer}, timeout=self._seconds)
        self._committer.cancel()
        await asyncio.wait({self._committer})
        return bool(done)

    def _new_checkpoints(self) -> Checkpoints | None:
        file = database_file(self.url) if self.embedded else None
        return None if file is None else Checkpoints(self._engine, file, self._writer)

    def migrate(self) -> None:
        """Bring the schema up to date; ``Unusable`` if the database is none, or a newer version's."""
        file = database_file(self.url) if self.embedded else None
        if file is not None:
            check_file(file)
            make_private(file)
        if self._up_to_date():
            return
        from alembic import command  # noqa: PLC0415  # needed once in the life of a database, and slow to load
        from alembic.config import Config  # noqa: PLC0415

        configuration = Config()
        configuration.set_main_option("script_location", str(MIGRATIONS))
        with self._engine.connect() as connection:
            if not self.embedded:
                # A migration may take longer than statements may, so its connection must not go back to the pool.
                connection.detach()
                connection.execute(text("SET statement_timeout = 0"))
            configuration.attributes["connection"] = connection
            command.upgrade(configuration, "head")
            connection.commit()

    def _up_to_date(self) -> bool:
        """Whether the newest migration was made already."""
        newest: str = max(path.stem.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))
        with self._engine.connect() as connection:
            if not inspect(connection).has_table("alembic_version"):
                return False
            made = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        if made is not None and made > newest:
            raise Unusable(
                f"The database was brought to schema {made} by a newer version of this service, which knows {newest} "
                "as the newest; start that version, or restore a copy from before."
            )
        return bool(made == newest)

    async def read(self, work: Work[T]) -> T:
        """The result of *work*, run in a transaction of its own beside all others."""
        return await self._read(work, self._readers, MAX_WAITING)

    async def browse(self, work: Work[T]) -> T:
        """The same for what may take longer and no call waits for: the history, and what is past its time."""
        return await self._read(work, self._browsers, MAX_BROWSING)

    async def _read(self, work: Work[T], readers: _Readers, most: int) -> T:
        def read() -> T:
            with self._engine.connect() as connection:
                return work(connection)

        if readers.waiting >= most:
            raise unavailable("more wait to read than are let wait")
        readers.waiting += 1
        try:
            async with asyncio.timeout(self._seconds) as limit:
                return await asyncio.get_running_loop().run_in_executor(readers.executor, self._translating, read)
        except TimeoutError as fault:
            if limit.expired():
                raise unavailable("reading took too long") from fault
            raise
        finally:
            readers.waiting -= 1

    def write(self, work: Work[T]) -> Awaitable[T]:
        """The result of *work*, once it is committed; other writers may share the transaction."""
        committed: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._call(_Work(work, committed))
        return committed

    def put(self, statement: Executable, values: dict[str, Any]) -> Awaitable[bool]:
        """Execute *statement* with *values*; done once that is committed. The cheapest way to write one row."""
        return self.put_all([(statement, values)])

    def put_all(self, puts: Sequence[Put], fence: Put | None = None) -> Awaitable[bool]:
        """Execute *puts* together, with those of others; whether the *fence* held, without which none is executed.

        It holds if it changes a row. Once that is committed all is done.
        """
        committed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._call(_Puts(puts, fence, committed))
        return committed

    def time(self) -> float:
        """The database's own time in seconds since the epoch, as exactly as a server's is known here."""
        return self._clock() if self._clock else self._ahead + elapsed()

    async def set_time(self) -> None:
        """Ask a server for its time."""
        if self._clock is None:
            began = elapsed()
            told = await self.read(lambda reading: reading.execute(select(self.now)).scalar_one())
            # The answer was made somewhere between question and arrival; the middle is wrong by half of that at most.
            self._ahead = told - (began + elapsed()) / 2

    async def calm(self) -> None:
        """Wait while whatever is written would make others wait longer; for what is in no hurry."""
        if self._checkpoints is not None:
            await self._checkpoints.calm.wait()

    def eventually(self, work: Work[Any], then: Callable[[], None] = lambda: None) -> None:
        """Have *work* committed as soon as storage is back, and call *then*; it must be safe to carry out twice."""
        if len(self._owed) >= MAX_OWED:
            log.error("a record is lost: more are owed than are kept")
            return
        self._owed[work] = then
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self.flush(), name="what is owed")

    async def flush(self) -> None:
        """Commit what is owed; what storage still refuses is kept for the next time."""
        while owed := list(islice(self._owed, FLUSH_STEP)):
            # Handed over together, they share commits; one after the other would make each wait for the last.
            outcomes = await asyncio.gather(*map(self.write, owed), return_exceptions=True)
            for work, outcome in zip(owed, outcomes, strict=True):
                if isinstance(outcome, StorageUnavailable):
                    return
                if isinstance(outcome, Exception):
                    log.error("a record that was owed cannot be written", exc_info=outcome)
                if (then := self._owed.pop(work, None)) is not None:
                    then()

    def _translating(self, work: Callable[[], T]) -> T:
        """The result of *work*; ``StorageUnavailable`` where its failure means that."""
        try:
            return work()
        except Exception as fault:
            told = translated(fault, self._driver)
            if told is fault:
                raise
            raise told from fault

    def _call(self, writer: _Puts | _Work) -> None:
        if len(self._waiting) >= MAX_WAITING:
            writer.committed.set_exception(unavailable("more wait to write than are let wait"))
            return
        self._waiting.append(writer)
        self._called.set()

    async def _commit_until_closed(self) -> None:
        batch: list[_Puts | _Work] = []
        while self._waiting or not self._closing:
            await self._called.wait()
            # Two milliseconds cost a lone caller too much, and save many callers a commit each (decision 1).
            if len(batch) >= GATHER_FROM:
                await asyncio.sleep(GATHER_SECONDS)
            self._called.clear()
            batch, self._waiting = self._waiting, []
            if batch:
                await self._serve(batch)

    async def _serve(self, batch: Sequence[_Puts | _Work]) -> None:
        self._expect(batch)
        try:
            outcomes = await asyncio.get_running_loop().run_in_executor(self._writer, self._commit, batch)
        finally:
            if self._overdue:
                self._overdue.cancel()
        for writer, outcome in zip(batch, outcomes, strict=True):
            _settle(writer.committed, outcome)

    def _expect(self, writers: Sequence[_Puts | _Work]) -> None:
        """Let *writers* wait no longer than half of the time from now on."""
        self._overdue = asyncio.get_running_loop().call_later(self._seconds / 2, self._give_up, writers)

    def _give_up(self, late: Sequence[_Puts | _Work]) -> None:
        """Tell *late* ones that their outcome is not known; those behind them wait as long again, and are not begun."""
        for writer in late:
            _settle(writer.committed, unavailable("the commit took too long"))
        self._waiting = [writer for writer in self._waiting if not writer.committed.done()]
        self._expect(list(self._waiting))

    def _commit(self, batch: Sequence[_Puts | _Work]) -> list[Any]:
        """The outcome of each of *batch*, in one transaction; if that fails, in one each, so that none hurts others.

        What may have been committed is not tried again.
        """
        try:
            return self._transact(batch)
        except _Unconfirmed as fault:
            # Trying again could write twice what was committed and not confirmed (decision 16).
            return [unavailable(f"not confirmed: {fault}") for _ in batch]
        except Exception as fault:  # noqa: BLE001  # whoever waits for the commit gets it
            if len(batch) == 1:
                return [translated(fault, self._driver)]
        # One bad row would fail the whole batch. Each alone, the others get through (decision 1).
        return self._commit_singly(batch)

    def _commit_singly(self, batch: Sequence[_Puts | _Work]) -> list[Any]:
        """The outcome of each; once storage is seen to be away no more are tried, for each would take as long."""
        outcomes: list[Any] = []
        for writer in batch:
            outcomes += self._commit([writer])
            if isinstance(outcomes[-1], StorageUnavailable):
                break
        return outcomes + [unavailable("storage was away for others") for _ in batch[len(outcomes) :]]

    def _transact(self, batch: Sequence[_Puts | _Work]) -> list[Any]:
        rows = _rows_of_one_statement(batch)
        if rows is not None:
            with self._engine.connect() as connection:
                put_all(connection, rows)
                with self._confirming(connection):
                    connection.connection.commit()
            return [True] * len(batch)
        with (
            self._engine.connect().execution_options(writes=True) as connection,
            connection.begin() as transaction,
        ):
            outcomes = [outcome for _, group in groupby(batch, key=type) for outcome in _carry_out(connection, group)]
            with self._confirming(connection):
                transaction.commit()
        return outcomes

    @contextmanager
    def _confirming(self, connection: Connection) -> Iterator[None]:
        """Around a commit: one that fails because storage is away may have been carried out.

        Its connection is used no more: it may still be inside the transaction.
        """
        try:
            yield
        except Exception as fault:
            # The driver may believe itself still inside the transaction, and the next user would write into it.
            connection.invalidate()
            if isinstance(translated(fault, self._driver), StorageUnavailable):
                raise _Unconfirmed(repr(fault)) from fault
            raise


def _carry_out(connection: Connection, writers: Iterator[_Puts | _Work]) -> list[Any]:
    """What each of *writers*, which are of one kind, gets."""
    outcomes: list[Any] = []
    puts: list[Put] = []
    for writer in writers:
        if isinstance(writer, _Work):
            outcomes.append(writer.work(connection))
        else:
            outcomes.append(writer.fence is None or execute(connection, *writer.fence) == 1)
            puts += writer.puts if outcomes[-1] else ()
    put_all(connection, puts)
    return outcomes


def _rows_of_one_statement(batch: Sequence[_Puts | _Work]) -> Sequence[Put] | None:
    """The rows of *batch* if a single statement does it all, which needs no transaction around it."""
    puts: list[Put] = []
    for writer in batch:
        if isinstance(writer, _Work) or writer.fence is not None:
            return None
        puts += writer.puts
    several = len({statement for statement, _ in puts}) > 1
    # A single statement is a transaction by itself, which saves two further statements (decision 15).
    return None if several or not 1 < len(puts) <= MOST_ROWS or not isinstance(puts[0][0], Insert) else puts


def _settle(committed: asyncio.Future[Any], outcome: Any) -> None:
    if committed.done():
        return
    if isinstance(outcome, Exception):
        committed.set_exception(outcome)
    else:
        committed.set_result(outcome)
