"""Transactions on PostgreSQL in one round trip.

Statements from BEGIN to COMMIT are sent without waiting for responses. Rows of one statement share a statement, and so
do fences of many calls. The server keeps the numbers of the fences that passed in a transaction-local setting, and rows
behind a fence are written by its number.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import groupby
from typing import Any

from psycopg.pq import TransactionStatus
from psycopg.pq.abc import PGresult
from sqlalchemy import Connection, Engine, Insert
from sqlalchemy.sql.base import Executable
from typing_extensions import override

from connector_gateway.storage.sql.compiled_statements import Row
from connector_gateway.storage.sql.group_commit_writers import RowWriter, Writer
from connector_gateway.storage.sql.pipelined_statements import (
    UNPREPARED_ERRORS,
    Prepared,
    Statement,
    execute_pipelined,
)
from connector_gateway.storage.sql.postgres_bulk import (
    change_statement,
    claim_statement,
    fence_statement,
    insert_statement,
)
from connector_gateway.storage.sql.postgres_engine import PREPARED, begin_statements
from connector_gateway.storage.sql.transactions import Transactions
from connector_gateway.storage.sql.unavailable_database import detect_unconfirmed_commit, drop_read_only_connection

BEGIN: Statement = (b"BEGIN", ())
COMMIT: Statement = (b"COMMIT", ())

Numbered = tuple[int | None, Row]
"""A row with the number of its fence, if it has one."""


class PostgresTransactions(Transactions):
    """Commits writers on PostgreSQL."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._prepares = True
        """Whether sessions last as long as connections, as far as is known. Behind a pooler they may not."""

    @override
    def _transact(self, batch: Sequence[Writer]) -> list[Any]:
        try:
            return self._run(batch)
        except UNPREPARED_ERRORS:
            # There is a pooler that was not detected before. Nothing was committed.
            self._prepares = False
            return self._run(batch)

    def _run(self, batch: Sequence[Writer]) -> list[Any]:
        with self._engine.connect().execution_options(writes=True) as connection, drop_read_only_connection(connection):
            prepared: Prepared | None = connection.info[PREPARED]
            return run_transaction(connection, batch, prepared if self._prepares else None)


def run_transaction(connection: Connection, batch: Sequence[Writer], prepared: Prepared | None) -> list[Any]:
    """Commit *batch* in one transaction and return the outcome of each. *prepared* is as in ``execute_pipelined``."""
    outcomes: list[Any] = []
    # Only consecutive writers are combined, because a writer may rely on earlier ones.
    for _, group in groupby(batch, key=type):
        writers = list(group)
        puts = [writer for writer in writers if isinstance(writer, RowWriter)]
        last = len(outcomes) + len(writers) == len(batch)
        if puts:
            outcomes += _execute_rows(connection, puts, prepared, commit=last)
        else:
            # Statements that go directly to the driver begin no transaction.
            if not connection.in_transaction():
                connection.begin()
            outcomes += [writer.work(connection) for writer in writers if not isinstance(writer, RowWriter)]
            if last:
                with detect_unconfirmed_commit(connection):
                    connection.dialect.do_commit(connection.connection)
    return outcomes


def _execute_rows(
    connection: Connection, writers: Sequence[RowWriter], prepared: Prepared | None, *, commit: bool
) -> list[bool]:
    """Write the rows of each writer whose fence passes. Returns whether each fence held."""
    driver: Any = connection.connection.driver_connection
    begin, fences, rows = _begin_statements(connection), _create_fences(writers), _create_rows(writers)
    end = [COMMIT] if commit else []
    if begin == [BEGIN] and commit and len(fences) + len(rows) == 1:
        # A single statement is an implicit transaction, for example the record of a read.
        begin, end = [], []
    with detect_unconfirmed_commit(connection) if commit else nullcontext():
        results = execute_pipelined(driver, [*begin, *fences, *rows, *end], prepared)
    # The last fence returns the numbers of all that passed.
    passed_numbers = _parse_numbers(results[len(begin) + len(fences) - 1]) if fences else set[int]()
    return [writer.fence is None or number in passed_numbers for number, writer in enumerate(writers)]


def _begin_statements(connection: Connection) -> list[Statement]:
    """Return the statements that begin a transaction, or none if one has begun."""
    driver: Any = connection.connection.driver_connection
    # SQLAlchemy must not begin the transaction here, because that would be a separate round trip.
    has_begun = driver.pgconn.transaction_status != TransactionStatus.IDLE
    return [] if has_begun else [(text.encode(), ()) for text in begin_statements(connection)]


def _create_fences(writers: Sequence[RowWriter]) -> list[Statement]:
    """Return the fences of *writers*, combined by statement. The server stores the numbers of those that hold."""
    by_statement: dict[Executable, list[Numbered]] = {}
    for number, writer in enumerate(writers):
        if writer.fence is not None:
            statement, values = writer.fence
            by_statement.setdefault(statement, []).append((number, values))
    return [_create_fence(statement, rows) for statement, rows in by_statement.items()]


def _create_fence(statement: Any, rows: list[Numbered]) -> Statement:
    if isinstance(statement, Insert):
        return claim_statement(statement, tuple(rows[0][1])).for_rows(_sort_by_key(statement, rows))
    return fence_statement(statement).for_rows(rows)


def _parse_numbers(result: PGresult) -> set[int]:
    numbers = result.get_value(0, 0) or b""
    return {int(number) for number in numbers.split(b",") if number}


def _create_rows(writers: Sequence[RowWriter]) -> list[Statement]:
    """Return the rows of *writers*. The server writes those whose fence holds."""
    by_statement: dict[tuple[Executable, bool], list[Numbered]] = {}
    for number, writer in enumerate(writers):
        fenced = writer.fence is not None
        for statement, values in writer.puts:
            row = (number if fenced else None, values)
            by_statement.setdefault((statement, fenced), []).append(row)
    return [
        text
        for (statement, fenced), rows in by_statement.items()
        for text in _create_row_statements(statement, rows, fenced)
    ]


def _create_row_statements(statement: Any, rows: list[Numbered], fenced: bool) -> list[Statement]:  # noqa: FBT001
    if isinstance(statement, Insert):
        inserted = insert_statement(statement, tuple(rows[0][1]), fenced=fenced)
        return [inserted.for_rows(_sort_by_key(statement, rows))]
    # One statement for each row, because a common one would change a row only once even if it is named twice.
    return [change_statement(statement, fenced=fenced).for_rows([row]) for row in rows]


def _sort_by_key(statement: Any, rows: list[Numbered]) -> list[Numbered]:
    """Return *rows* in a fixed order, because two processes that insert the same rows could deadlock otherwise."""
    key = [column.name for column in statement.table.primary_key.columns]
    return sorted(rows, key=lambda row: tuple(row[1][name] for name in key))
