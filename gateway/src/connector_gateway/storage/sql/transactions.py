"""Transactions for many writers, with one for each writer if the common one fails."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from importlib import import_module
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Engine, Insert
from typing_extensions import override

from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.storage.sql.compiled_statements import MAX_ROWS, Put, execute, put_all
from connector_gateway.storage.sql.group_commit_writers import FunctionWriter, RowWriter, Writer
from connector_gateway.storage.sql.unavailable_database import (
    CommitOutcomeUnknown,
    detect_unconfirmed_commit,
    storage_unavailable,
    to_storage_error,
)

BEGIN = "BEGIN IMMEDIATE"
"""A SQLite transaction that reads first and writes later could not wait for the lock."""


class Transactions(ABC):
    """Commits writers on one database, from any thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._driver = engine.dialect.loaded_dbapi
        self._retained: Connection | None = None
        """The connection that wrote last, if transactions retain it."""

    def close(self) -> None:
        """Close the retained connection, once there are no more writes."""
        connection, self._retained = self._retained, None
        if connection is not None:
            connection.close()

    def commit(self, batch: Sequence[Writer]) -> list[Any]:
        """Commit *batch* in one transaction, or in one each if that fails, and return the outcome of each writer.

        A transaction that may have been committed is not retried.
        """
        try:
            return self._transact(batch)
        except CommitOutcomeUnknown as error:
            # A retry could write rows twice that were committed without confirmation.
            return [storage_unavailable(f"not confirmed: {error}") for _ in batch]
        except Exception as error:  # noqa: BLE001  # every waiting writer receives it
            if len(batch) == 1:
                return [to_storage_error(error, self._driver)]
        # One invalid row would fail the whole batch. Separately, the other writers succeed.
        return self._commit_singly(batch)

    def _commit_singly(self, batch: Sequence[Writer]) -> list[Any]:
        """Commit each writer separately, and return their outcomes.

        Once the database is unavailable, the rest is not tried, because each attempt would take as long.
        """
        outcomes: list[Any] = []
        for writer in batch:
            outcomes += self.commit([writer])
            if isinstance(outcomes[-1], StorageUnavailable):
                break
        return outcomes + [storage_unavailable("storage unavailable for other writers") for _ in batch[len(outcomes) :]]

    @abstractmethod
    def _transact(self, batch: Sequence[Writer]) -> list[Any]:
        """Commit *batch* in one transaction, and return the outcome of each writer."""


class SqliteTransactions(Transactions):
    """Commits writers on SQLite.

    It retains the connection, which has read the pages and compiled the statements. Taking one from the pool and
    returning it takes as long as writing four rows.
    """

    @override
    def _transact(self, batch: Sequence[Writer]) -> list[Any]:
        connection = self._retained or self._engine.connect().execution_options(writes=True)
        self._retained = None
        try:
            outcomes = _commit_work(connection, batch) if _has_work(batch) else _commit_rows(connection, batch)
        except BaseException:
            # The pool rolls the transaction back, and checks whether the connection is still usable.
            connection.close()
            raise
        self._retained = connection
        return outcomes


def create_transactions(engine: Engine) -> Transactions:
    """Return the transactions of the database of *engine*."""
    if engine.dialect.name == "sqlite":
        return SqliteTransactions(engine)
    # The driver for servers is slow to import.
    server = import_module("connector_gateway.storage.sql.pipelined_transactions")
    transactions: Transactions = server.PostgresTransactions(engine)
    return transactions


def _has_work(batch: Sequence[Writer]) -> bool:
    return any(isinstance(writer, FunctionWriter) for writer in batch)


def _commit_work(connection: Connection, batch: Sequence[Writer]) -> list[Any]:
    """Return the outcome of each of *batch*. SQLAlchemy begins its transaction only if a work executes through it."""
    driver = connection.connection
    driver.cursor().execute(BEGIN)
    outcomes = [outcome for _, group in groupby(batch, key=type) for outcome in _execute_writers(connection, group)]
    with detect_unconfirmed_commit(connection):
        if connection.in_transaction():
            connection.commit()
        else:
            connection.dialect.do_commit(driver)
    return outcomes


def _commit_rows(connection: Connection, batch: Sequence[Writer]) -> list[Any]:
    """Return the outcome of each of *batch*, which has only rows and therefore needs only the driver."""
    driver, rows = connection.connection, _get_single_statement_rows(batch)
    if rows is None:
        driver.cursor().execute(BEGIN)
        outcomes = _execute_writers(connection, iter(batch))
    else:
        put_all(connection, rows)
        outcomes = [True] * len(batch)
    with detect_unconfirmed_commit(connection):
        connection.dialect.do_commit(driver)
    return outcomes


def _execute_writers(connection: Connection, writers: Iterator[Writer]) -> list[Any]:
    """Return the outcome of each of *writers*, which are of one kind."""
    outcomes: list[Any] = []
    puts: list[Put] = []
    for writer in writers:
        if isinstance(writer, FunctionWriter):
            outcomes.append(writer.work(connection))
        else:
            outcomes.append(writer.fence is None or execute(connection, *writer.fence) == 1)
            puts += writer.puts if outcomes[-1] else ()
    put_all(connection, puts)
    return outcomes


def _get_single_statement_rows(batch: Sequence[Writer]) -> Sequence[Put] | None:
    """Return the rows of *batch* if a single statement writes all of them, which needs no explicit transaction."""
    puts: list[Put] = []
    for writer in batch:
        if not isinstance(writer, RowWriter) or writer.fence is not None:
            return None
        puts += writer.puts
    has_several_statements = len({statement for statement, _ in puts}) > 1
    # A single statement is an implicit transaction, which saves two further statements.
    return (
        None if has_several_statements or not 1 < len(puts) <= MAX_ROWS or not isinstance(puts[0][0], Insert) else puts
    )
