"""Transactions on PostgreSQL in one round trip.

Statements are sent one behind the other without waiting for answers, from BEGIN to COMMIT. Rows of one statement are
one statement, and so are fences of many calls. Which fences held is kept by the server in a setting of the
transaction, and rows behind a fence are written by its number (decision 74).
"""

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import groupby
from typing import Any

from psycopg.pq import TransactionStatus
from psycopg.pq.abc import PGresult
from sqlalchemy import Connection, Insert
from sqlalchemy.sql.base import Executable

from connector_gateway.storage.sql.availability import detect_unconfirmed_commit
from connector_gateway.storage.sql.bulk_insert import Row
from connector_gateway.storage.sql.bulk_statements import changing, claiming, fence_statement, inserting
from connector_gateway.storage.sql.engines import begin_statements
from connector_gateway.storage.sql.pending_writes import RowWriter, Writer
from connector_gateway.storage.sql.pipelined_queries import Prepared, Statement, execute_pipelined

BEGIN: Statement = (b"BEGIN", ())
COMMIT: Statement = (b"COMMIT", ())

Numbered = tuple[int | None, Row]
"""A row with the number of its fence, if it has one."""


def run_transaction(connection: Connection, batch: Sequence[Writer], known: Prepared | None) -> list[Any]:
    """The outcome of each of *batch*, in one transaction that is committed; *known* as for ``ask``."""
    outcomes: list[Any] = []
    # Only neighbours are put together: a writer may rely on what the ones before it have written.
    for _, group in groupby(batch, key=type):
        writers = list(group)
        puts = [writer for writer in writers if isinstance(writer, RowWriter)]
        last = len(outcomes) + len(writers) == len(batch)
        if puts:
            outcomes += _put(connection, puts, known, commit=last)
        else:
            # Statements that go straight to the driver begin no transaction.
            if not connection.in_transaction():
                connection.begin()
            outcomes += [writer.work(connection) for writer in writers if not isinstance(writer, RowWriter)]
            if last:
                with detect_unconfirmed_commit(connection):
                    connection.dialect.do_commit(connection.connection)
    return outcomes


def _put(connection: Connection, writers: Sequence[RowWriter], known: Prepared | None, *, commit: bool) -> list[bool]:
    """Whether the fence of each of *writers* held; where it did, its rows are written."""
    driver: Any = connection.connection.driver_connection
    begin, fences, rows = _beginning(connection), _fences(writers), _rows(writers)
    end = [COMMIT] if commit else []
    if begin == [BEGIN] and commit and len(fences) + len(rows) == 1:
        # A single statement is a transaction by itself, as are the records of reads.
        begin, end = [], []
    with detect_unconfirmed_commit(connection) if commit else nullcontext():
        answers = execute_pipelined(driver, [*begin, *fences, *rows, *end], known)
    # The last of the fences tells the numbers of all that held.
    held = _numbers(answers[len(begin) + len(fences) - 1]) if fences else set[int]()
    return [writer.fence is None or number in held for number, writer in enumerate(writers)]


def _beginning(connection: Connection) -> list[Statement]:
    """What begins a transaction, where none was begun."""
    driver: Any = connection.connection.driver_connection
    # SQLAlchemy does not begin by itself here, since that would be a round trip of its own.
    begun = driver.pgconn.transaction_status != TransactionStatus.IDLE
    return [] if begun else [(text.encode(), ()) for text in begin_statements(connection)]


def _fences(writers: Sequence[RowWriter]) -> list[Statement]:
    """The fences of *writers*, those of one statement as one; the server keeps the numbers of those that hold."""
    by_statement: dict[Executable, list[Numbered]] = {}
    for number, writer in enumerate(writers):
        if writer.fence is not None:
            statement, values = writer.fence
            by_statement.setdefault(statement, []).append((number, values))
    return [_fence(statement, rows) for statement, rows in by_statement.items()]


def _fence(statement: Any, rows: list[Numbered]) -> Statement:
    if isinstance(statement, Insert):
        return claiming(statement, tuple(rows[0][1])).of(_in_order(statement, rows))
    return fence_statement(statement).of(rows)


def _numbers(told: PGresult) -> set[int]:
    listed = told.get_value(0, 0) or b""
    return {int(number) for number in listed.split(b",") if number}


def _rows(writers: Sequence[RowWriter]) -> list[Statement]:
    """The rows of *writers*; the server writes those whose fence holds."""
    by_statement: dict[tuple[Executable, bool], list[Numbered]] = {}
    for number, writer in enumerate(writers):
        fenced = writer.fence is not None
        for statement, values in writer.puts:
            row = (number if fenced else None, values)
            by_statement.setdefault((statement, fenced), []).append(row)
    return [text for (statement, fenced), rows in by_statement.items() for text in _written(statement, rows, fenced)]


def _written(statement: Any, rows: list[Numbered], fenced: bool) -> list[Statement]:  # noqa: FBT001
    if isinstance(statement, Insert):
        inserted = inserting(statement, tuple(rows[0][1]), fenced=fenced)
        return [inserted.of(_in_order(statement, rows))]
    # Each by itself: one statement would change a row once, though it were named twice.
    return [changing(statement, fenced=fenced).of([row]) for row in rows]


def _in_order(statement: Any, rows: list[Numbered]) -> list[Numbered]:
    """*rows* in one order everywhere, or two processes that insert the same could each wait for the other."""
    key = [column.name for column in statement.table.primary_key.columns]
    return sorted(rows, key=lambda row: tuple(row[1][name] for name in key))
