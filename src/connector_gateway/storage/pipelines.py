"""Transactions on PostgreSQL in one round trip.

Statements are sent one behind the other without waiting for answers, from BEGIN to COMMIT. Rows of one statement are
one statement, and so are fences of many calls. Which fences held is kept by the server in a setting of the
transaction, and rows behind a fence are written by its number (decision 74).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import groupby
from typing import Any

from psycopg.pq import TransactionStatus
from sqlalchemy import Connection, Insert
from sqlalchemy.sql.base import Executable

from connector_gateway.storage.engines import beginning
from connector_gateway.storage.faults import confirming
from connector_gateway.storage.rows import Row, execute
from connector_gateway.storage.sets import SetStatement, changing, claiming, fencing, inserting
from connector_gateway.storage.writers import PutsWriter, Writer

Held = Callable[[], set[int]]
"""Tells the numbers of the fences that held, once the answers have come."""

Numbered = tuple[int | None, Row]
"""A row with the number of its fence, if it has one."""


def transact(connection: Connection, batch: Sequence[Writer]) -> list[Any]:
    """The outcome of each of *batch*, in one transaction that is committed."""
    outcomes: list[Any] = []
    # Only neighbours are put together: a writer may rely on what the ones before it have written.
    for _, group in groupby(batch, key=type):
        writers = list(group)
        puts = [writer for writer in writers if isinstance(writer, PutsWriter)]
        last = len(outcomes) + len(writers) == len(batch)
        if puts:
            outcomes += _put(connection, puts, commit=last)
        else:
            outcomes += [writer.work(connection) for writer in writers if not isinstance(writer, PutsWriter)]
            if last:
                with confirming(connection):
                    connection.dialect.do_commit(connection.connection)
    return outcomes


def _put(connection: Connection, writers: Sequence[PutsWriter], *, commit: bool) -> list[bool]:
    """Whether the fence of each of *writers* held; where it did, its rows are written."""
    alone = commit and _is_one_insertion(writers) and _is_a_transaction_by_itself(connection)
    with confirming(connection) if commit else nullcontext(), nullcontext() if alone else _pipeline(connection):
        tell = _fence(connection, writers)
        _write_rows(connection, writers)
        if commit and not alone:
            # As a statement among the others; the driver's own commit would wait for their answers first.
            connection.connection.cursor().execute("COMMIT")
    held = tell()
    return [writer.fence is None or number in held for number, writer in enumerate(writers)]


def _is_one_insertion(writers: Sequence[PutsWriter]) -> bool:
    """Whether the rows of *writers* are those of a single insertion, as the records of reads are."""
    statements = {statement for writer in writers for statement, _ in writer.puts}
    fenced = any(writer.fence is not None for writer in writers)
    return len(statements) == 1 and not fenced and isinstance(statements.pop(), Insert)


def _is_a_transaction_by_itself(connection: Connection) -> bool:
    """Whether a statement is, since nothing was begun, and nothing has to be set first."""
    return not _is_begun(connection) and len(beginning(connection)) == 1


def _is_begun(connection: Connection) -> bool:
    driver: Any = connection.connection.driver_connection
    begun: bool = driver.pgconn.transaction_status != TransactionStatus.IDLE
    return begun


@contextmanager
def _pipeline(connection: Connection) -> Iterator[None]:
    """Sends the statements inside without waiting; at the end all answers have come, or the first refusal is raised."""
    driver: Any = connection.connection.driver_connection
    # SQLAlchemy does not begin by itself here, since that would be a round trip of its own.
    begun = _is_begun(connection)
    with driver.pipeline():
        for statement in () if begun else beginning(connection):
            driver.execute(statement)
        yield


def _fence(connection: Connection, writers: Sequence[PutsWriter]) -> Held:
    """Send the fences of *writers*, those of one statement as one; the server keeps the numbers of those that held."""
    by_statement: dict[Executable, list[Numbered]] = {}
    for number, writer in enumerate(writers):
        if writer.fence is not None:
            statement, values = writer.fence
            by_statement.setdefault(statement, []).append((number, values))
    cursors = [_send_fence(connection, statement, rows) for statement, rows in by_statement.items()]
    # The last one tells the numbers of all.
    return lambda: _numbers(cursors[-1].fetchone()[0]) if cursors else set()


def _send_fence(connection: Connection, statement: Any, rows: list[Numbered]) -> Any:
    if isinstance(statement, Insert):
        rows = _in_order(statement, rows)
        return _execute(connection, claiming(statement, tuple(rows[0][1]), connection.dialect), rows)
    return _execute(connection, fencing(statement, connection.dialect), rows)


def _numbers(told: str) -> set[int]:
    return {int(number) for number in told.split(",") if number}


def _write_rows(connection: Connection, writers: Sequence[PutsWriter]) -> None:
    """Send the rows of *writers*; the server writes those whose fence held."""
    by_statement: dict[tuple[Executable, bool], list[Numbered]] = {}
    for number, writer in enumerate(writers):
        fenced = writer.fence is not None
        for statement, values in writer.puts:
            row = (number if fenced else None, values)
            by_statement.setdefault((statement, fenced), []).append(row)
    for (statement, fenced), rows in by_statement.items():
        if isinstance(statement, Insert):
            ordered = _in_order(statement, rows)
            _execute(connection, inserting(statement, tuple(rows[0][1]), connection.dialect, fenced=fenced), ordered)
        elif fenced:
            _execute(connection, changing(statement, connection.dialect, fenced=True), rows)
        else:
            for _, values in rows:
                execute(connection, statement, values)


def _in_order(statement: Any, rows: list[Numbered]) -> list[Numbered]:
    """*rows* in one order everywhere, or two processes that insert the same could each wait for the other."""
    key = [column.name for column in statement.table.primary_key.columns]
    return sorted(rows, key=lambda row: tuple(row[1][name] for name in key))


def _execute(connection: Connection, statement: SetStatement, rows: Sequence[Numbered]) -> Any:
    cursor = connection.connection.cursor()
    cursor.execute(statement.text, statement.parameters(rows))
    return cursor
