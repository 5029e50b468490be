"""Transactions on PostgreSQL in as few round trips as can be: one, or two where fences are to hold first.

Statements are sent one behind the other without waiting for answers, from BEGIN to COMMIT. Rows of one statement are
one statement, and so are fences of many calls.
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
from connector_gateway.storage.rows import Put, Row, put_all
from connector_gateway.storage.sets import SetStatement, changing, inserting
from connector_gateway.storage.writers import PutsWriter, Writer

Held = Callable[[], set[int]]
"""Tells the numbers of the fences that held, once the answers have come."""


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
    fences = {number: writer.fence for number, writer in enumerate(writers) if writer.fence is not None}
    held: set[int] = set()
    if fences:
        with _pipeline(connection):
            told = _fence(connection, fences)
        held = set[int]().union(*(tell() for tell in told))
    outcomes = [number in held or number not in fences for number in range(len(writers))]
    puts = [put for writer, holds in zip(writers, outcomes, strict=True) if holds for put in writer.puts]
    with confirming(connection) if commit else nullcontext(), _pipeline(connection):
        put_all(connection, puts, insert=_insert)
        if commit:
            # As a statement among the others; the driver's own commit would wait for their answers first.
            connection.connection.cursor().execute("COMMIT")
    return outcomes


@contextmanager
def _pipeline(connection: Connection) -> Iterator[None]:
    """Sends the statements inside without waiting; at the end all answers have come, or the first refusal is raised."""
    driver: Any = connection.connection.driver_connection
    # SQLAlchemy does not begin by itself here, since that would be a round trip of its own.
    begun = driver.pgconn.transaction_status != TransactionStatus.IDLE
    with driver.pipeline():
        for statement in () if begun else beginning(connection):
            driver.execute(statement)
        yield


def _fence(connection: Connection, fences: dict[int, Put]) -> list[Held]:
    """Send *fences*, those of one statement as one."""
    by_statement: dict[Executable, dict[int, Row]] = {}
    for number, (statement, values) in fences.items():
        by_statement.setdefault(statement, {})[number] = values
    return [
        (_claiming if isinstance(statement, Insert) else _changing)(connection, statement, rows)
        for statement, rows in by_statement.items()
    ]


def _claiming(connection: Connection, statement: Any, rows: dict[int, Row]) -> Held:
    """Send insertions that hold where their row was not there before, the first of each name."""
    key = [column.name for column in statement.table.primary_key.columns]
    first: dict[tuple[Any, ...], int] = {}
    for number, row in rows.items():
        # Of two claims of one name the first holds, as if the second had come in a later transaction.
        first.setdefault(tuple(row[name] for name in key), number)
    cursor = _insert(connection, statement, list(rows.values()))
    return lambda: {first[name] for name in cursor.fetchall()}


def _changing(connection: Connection, statement: Any, rows: dict[int, Row]) -> Held:
    """Send updates or deletions that hold where they found their row."""
    numbers = list(rows)
    cursor = _execute(connection, changing(statement, connection.dialect), list(rows.values()))
    return lambda: {numbers[place] for (place,) in cursor.fetchall()}


def _insert(connection: Connection, statement: Any, rows: Sequence[Row]) -> Any:
    key = [column.name for column in statement.table.primary_key.columns]
    # In one order everywhere, or two processes that insert the same rows could each wait for the other.
    ordered = sorted(rows, key=lambda row: tuple(row[name] for name in key))
    return _execute(connection, inserting(statement, tuple(rows[0]), connection.dialect), ordered)


def _execute(connection: Connection, statement: SetStatement, rows: Sequence[Row]) -> Any:
    cursor = connection.connection.cursor()
    cursor.execute(statement.text, statement.parameters(rows))
    return cursor
