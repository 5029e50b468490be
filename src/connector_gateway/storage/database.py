"""The database: reads on a few threads, writes in group commits.

Writers that arrive while a transaction is being committed share the next one.
That is what makes a durable record per call cheap: the cost of a commit is divided by the calls that wait for it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Engine, Insert, create_engine, event, inspect, make_url, text
from sqlalchemy.sql.base import Executable

from connector_gateway.storage.rows import MOST_ROWS, insert_rows

T = TypeVar("T")
Work = Callable[[Connection], T]

MIGRATIONS = Path(__file__).parent / "migrations"
READERS = 4
BUSY_SECONDS = 10.0
"""How long a writer waits for another process, such as the command line, to finish its transaction."""

GATHER_SECONDS = 0.002
GATHER_FROM = 4
"""When the last commit served at least this many writers, the next waits briefly so that more can join it."""


@dataclass(slots=True, eq=False)
class _Row:
    """A row for a statement, to be executed together with its neighbours."""

    statement: Executable
    values: dict[str, Any]
    committed: asyncio.Future[Any]


@dataclass(slots=True, eq=False)
class _Work:
    """A function to be run inside the transaction."""

    work: Work[Any]
    committed: asyncio.Future[Any]


class Database:
    """One database for the life of the process."""

    def __init__(self, url: str) -> None:
        self.url = make_url(url)
        self.embedded = self.url.get_backend_name() == "sqlite"
        self._engine = _engine(url)
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="database-read")
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="database-write")
        self._waiting: list[_Row | _Work] = []
        self._called = asyncio.Event()
        """Set when somebody waits for a commit, or the database is to be closed."""

        self._closing = False
        self._committer: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        await asyncio.get_running_loop().run_in_executor(self._writer, self.migrate)
        self._committer = asyncio.create_task(self._commit_until_closed(), name="group commit")
        return self

    async def __aexit__(self, *_: object) -> None:
        self._closing = True
        self._called.set()
        if self._committer:
            await self._committer
        self._readers.shutdown()
        self._writer.shutdown()
        self._engine.dispose()

    def migrate(self) -> None:
        """Bring the schema up to date."""
        if self._up_to_date():
            return
        from alembic import command  # noqa: PLC0415  # needed once in the life of a database, and slow to load
        from alembic.config import Config  # noqa: PLC0415

        configuration = Config()
        configuration.set_main_option("script_location", str(MIGRATIONS))
        with self._engine.connect() as connection:
            configuration.attributes["connection"] = connection
            command.upgrade(configuration, "head")

    def _up_to_date(self) -> bool:
        """Whether the newest migration was made already."""
        newest = max(path.stem.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))
        with self._engine.connect() as connection:
            if not inspect(connection).has_table("alembic_version"):
                return False
            return connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == newest

    async def read(self, work: Work[T]) -> T:
        """The result of *work*, run in a transaction of its own beside all others."""

        def read() -> T:
            with self._engine.connect() as connection:
                return work(connection)

        return await asyncio.get_running_loop().run_in_executor(self._readers, read)

    def write(self, work: Work[T]) -> Awaitable[T]:
        """The result of *work*, once it is committed; other writers may share the transaction."""
        committed: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._call(_Work(work, committed))
        return committed

    def put(self, statement: Executable, values: dict[str, Any]) -> Awaitable[None]:
        """Execute *statement* with *values*; done once that is committed. The cheapest way to write one row."""
        committed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._call(_Row(statement, values, committed))
        return committed

    def eventually(self, work: Work[Any], then: Callable[[], None] = lambda: None) -> None:
        """Have *work* committed as soon as that can be done, then call *then*; *work* may be run again."""
        committed = asyncio.ensure_future(self.write(work))
        committed.add_done_callback(lambda _: then())

    async def ping(self) -> None:
        """Prove that the database answers."""
        await self.read(lambda connection: connection.execute(text("SELECT 1")).scalar())

    def _call(self, writer: _Row | _Work) -> None:
        self._waiting.append(writer)
        self._called.set()

    async def _commit_until_closed(self) -> None:
        batch: list[_Row | _Work] = []
        while self._waiting or not self._closing:
            await self._called.wait()
            if len(batch) >= GATHER_FROM:
                await asyncio.sleep(GATHER_SECONDS)
            self._called.clear()
            batch, self._waiting = self._waiting, []
            if batch:
                await self._serve(batch)

    async def _serve(self, batch: Sequence[_Row | _Work]) -> None:
        outcomes = await asyncio.get_running_loop().run_in_executor(self._writer, self._commit, batch)
        for writer, outcome in zip(batch, outcomes, strict=True):
            _settle(writer.committed, outcome)

    def _commit(self, batch: Sequence[_Row | _Work]) -> list[Any]:
        """The outcome of each of *batch*, in one transaction; if that fails, in one each, so that none hurts others."""
        try:
            return self._transact(batch)
        except Exception as fault:  # noqa: BLE001  # whoever waits for the commit gets it
            if len(batch) == 1:
                return [fault]
        return [outcome for writer in batch for outcome in self._commit([writer])]

    def _transact(self, batch: Sequence[_Row | _Work]) -> list[Any]:
        groups = [_Group(statement, list(writers)) for statement, writers in groupby(batch, key=_statement_of)]
        if len(groups) == 1 and groups[0].one_statement:
            with self._engine.connect() as connection:
                outcomes = groups[0].carry_out(connection)
                connection.connection.commit()
            return outcomes
        with self._engine.connect().execution_options(writes=True) as connection, connection.begin():
            return [outcome for group in groups for outcome in group.carry_out(connection)]


@dataclass(slots=True)
class _Group:
    """Neighbours in a batch that have the same statement, or none."""

    statement: Executable | None
    writers: Sequence[Any]

    @property
    def one_statement(self) -> bool:
        """Whether a single statement does it all, which needs no transaction around it."""
        return isinstance(self.statement, Insert) and 1 < len(self.writers) <= MOST_ROWS

    def carry_out(self, connection: Connection) -> list[Any]:
        """What each writer gets."""
        if self.statement is None:
            return [writer.work(connection) for writer in self.writers]
        rows = [writer.values for writer in self.writers]
        if isinstance(self.statement, Insert) and len(rows) > 1:
            insert_rows(connection, self.statement, rows)
        else:
            connection.execute(self.statement, rows)
        return [None] * len(rows)


def _statement_of(writer: _Row | _Work) -> Executable | None:
    return writer.statement if isinstance(writer, _Row) else None


def _settle(committed: asyncio.Future[Any], outcome: Any) -> None:
    if committed.done():
        return
    if isinstance(outcome, Exception):
        committed.set_exception(outcome)
    else:
        committed.set_result(outcome)


def _engine(url: str) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return create_engine(parsed.set(drivername="postgresql+psycopg"), pool_size=READERS + 1, pool_pre_ping=True)
    engine = create_engine(parsed, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: object) -> None:
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.connection.cursor().execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
