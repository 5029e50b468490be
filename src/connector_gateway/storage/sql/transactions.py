"""One transaction for many writers, and one for each where that fails."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, Engine, Insert

from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.storage.sql import pipelining
from connector_gateway.storage.sql.availability import (
    CommitOutcomeUnknown,
    detect_unconfirmed_commit,
    drop_read_only_connection,
    storage_unavailable,
    to_storage_error,
)
from connector_gateway.storage.sql.bulk_insert import MOST_ROWS, Put, execute, put_all
from connector_gateway.storage.sql.engines import PREPARED
from connector_gateway.storage.sql.pending_writes import FunctionWriter, RowWriter, Writer
from connector_gateway.storage.sql.pipelined_queries import UNPREPARED, Prepared

BEGIN = "BEGIN IMMEDIATE"
"""A transaction of SQLite that reads first and writes later could not wait for its turn then."""


class Transactions:
    """Carries out writers on one database, from any thread."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._embedded = engine.dialect.name == "sqlite"
        self._driver = engine.dialect.loaded_dbapi
        self._prepares = True
        """Whether sessions last as long as connections, as far as is known; behind a pooler they may not."""

        self._kept: Connection | None = None
        """On SQLite, the connection that wrote last: it has read the pages and compiled the statements (decision 82).

        To take one from the pool and to give it back takes as long as four rows.
        """

    def close(self) -> None:
        """Give back what is kept, once nothing is written any more."""
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.close()

    def commit(self, batch: Sequence[Writer]) -> list[Any]:
        """The outcome of each of *batch*, in one transaction; if that fails, in one each, so that none hurts others.

        What may have been committed is not tried again.
        """
        try:
            return self._transact(batch)
        except CommitOutcomeUnknown as fault:
            # Trying again could write twice what was committed and not confirmed (decision 16).
            return [storage_unavailable(f"not confirmed: {fault}") for _ in batch]
        except UNPREPARED:
            # A pooler that nothing else has told of; nothing was committed (decision 95).
            self._prepares = False
            return self.commit(batch)
        except Exception as fault:  # noqa: BLE001  # whoever waits for the commit gets it
            if len(batch) == 1:
                return [to_storage_error(fault, self._driver)]
        # One bad row would fail the whole batch. Each alone, the others get through (decision 1).
        return self._commit_singly(batch)

    def _commit_singly(self, batch: Sequence[Writer]) -> list[Any]:
        """The outcome of each; once storage is seen to be away no more are tried, for each would take as long."""
        outcomes: list[Any] = []
        for writer in batch:
            outcomes += self.commit([writer])
            if isinstance(outcomes[-1], StorageUnavailable):
                break
        return outcomes + [storage_unavailable("storage was away for others") for _ in batch[len(outcomes) :]]

    def _transact(self, batch: Sequence[Writer]) -> list[Any]:
        if not self._embedded:
            with (
                self._engine.connect().execution_options(writes=True) as connection,
                drop_read_only_connection(connection),
            ):
                return pipelining.run_transaction(connection, batch, self._known(connection))
        connection = self._kept or self._engine.connect().execution_options(writes=True)
        self._kept = None
        try:
            outcomes = _worked(connection, batch) if _has_work(batch) else _put(connection, batch)
        except BaseException:
            # The pool rolls back what was begun, and looks whether the connection can be used again.
            connection.close()
            raise
        self._kept = connection
        return outcomes

    def _known(self, connection: Connection) -> Prepared | None:
        """What the session of *connection* has prepared; None where nothing is to be."""
        known: Prepared | None = connection.info[PREPARED]
        return known if self._prepares else None


def _has_work(batch: Sequence[Writer]) -> bool:
    return any(isinstance(writer, FunctionWriter) for writer in batch)


def _worked(connection: Connection, batch: Sequence[Writer]) -> list[Any]:
    """Return the outcome of each of *batch*; SQLAlchemy begins its transaction only if a work executes through it."""
    driver = connection.connection
    driver.cursor().execute(BEGIN)
    outcomes = [outcome for _, group in groupby(batch, key=type) for outcome in _carry_out(connection, group)]
    with detect_unconfirmed_commit(connection):
        if connection.in_transaction():
            connection.commit()
        else:
            connection.dialect.do_commit(driver)
    return outcomes


def _put(connection: Connection, batch: Sequence[Writer]) -> list[Any]:
    """The same where there are only rows, which need nothing but the driver."""
    driver, rows = connection.connection, _rows_of_one_statement(batch)
    if rows is None:
        driver.cursor().execute(BEGIN)
        outcomes = _carry_out(connection, iter(batch))
    else:
        put_all(connection, rows)
        outcomes = [True] * len(batch)
    with detect_unconfirmed_commit(connection):
        connection.dialect.do_commit(driver)
    return outcomes


def _carry_out(connection: Connection, writers: Iterator[Writer]) -> list[Any]:
    """What each of *writers*, which are of one kind, gets."""
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


def _rows_of_one_statement(batch: Sequence[Writer]) -> Sequence[Put] | None:
    """The rows of *batch* if a single statement does it all, which needs no transaction around it."""
    puts: list[Put] = []
    for writer in batch:
        if not isinstance(writer, RowWriter) or writer.fence is not None:
            return None
        puts += writer.puts
    several = len({statement for statement, _ in puts}) > 1
    # A single statement is a transaction by itself, which saves two further statements (decision 15).
    return None if several or not 1 < len(puts) <= MOST_ROWS or not isinstance(puts[0][0], Insert) else puts
