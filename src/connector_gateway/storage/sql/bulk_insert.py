"""Writes many rows at a time, by statements that are compiled once and passed straight to the driver.

Every call writes records and claims. SQLAlchemy's handling of such a row takes as long as the database's own, so it is
left out here (decision 15).
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from itertools import takewhile
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, Insert
from sqlalchemy.sql.base import Executable

MOST_ROWS = 32
"""Rows of one statement."""

Row = Mapping[str, Any]
NO_VALUES: Row = {}
Put = tuple[Executable, Row]
"""A statement and the values to execute it with."""

Inserting = Callable[[Connection, Insert, Sequence[Row]], object]
"""How rows of one ``INSERT`` are written."""


def insert_rows(connection: Connection, statement: Insert, rows: Sequence[Row]) -> None:
    """Execute *statement* for *rows*, which all have the same columns."""
    compiled = _compiled(statement, tuple(rows[0]), connection.dialect)
    cursor = connection.connection.cursor()
    # Few statements, and not quick ones, are what counts: after each, the writing thread has to win the interpreter's
    # lock back from the event loop (decision 15).
    for start in range(0, len(rows), MOST_ROWS):
        some = rows[start : start + MOST_ROWS]
        cursor.execute(compiled.text(len(some)), compiled.parameters(some))
    cursor.close()


def put_all(connection: Connection, puts: Sequence[Put], insert: Inserting = insert_rows) -> None:
    """Execute *puts*; rows of the same ``INSERT``, which must have the same columns, share statements."""
    by_statement: dict[Executable, list[Row]] = {}
    for statement, values in puts:
        by_statement.setdefault(statement, []).append(values)
    for statement, rows in by_statement.items():
        if isinstance(statement, Insert):
            insert(connection, statement, rows)
        else:
            for row in rows:
                execute(connection, statement, row)


def execute(connection: Connection, statement: Executable, values: Row = NO_VALUES) -> int:
    """Execute *statement* with its ``bindparam``s set to *values*; returns how many rows it changed."""
    prepared = _prepared(statement, connection.dialect)
    cursor = connection.connection.cursor()
    cursor.execute(prepared.text, prepared.parameters(values))
    changed: int = cursor.rowcount
    cursor.close()
    return changed


def fetch(connection: Connection, statement: Executable, values: Row = NO_VALUES) -> Sequence[tuple[Any, ...]]:
    """Return the rows of *statement*, which must be of types that the driver itself returns: text and numbers."""
    prepared = _prepared(statement, connection.dialect)
    with closing(connection.connection.cursor()) as cursor:
        cursor.execute(prepared.text, prepared.parameters(values))
        rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
    return rows


class _Compiled:
    """An ``INSERT`` for any number of rows, as text and parameters for the driver."""

    def __init__(self, statement: Insert, columns: Sequence[str], dialect: Dialect) -> None:
        # SQLAlchemy would compile anew for each number of rows. What a second row adds is enough to write any number.
        one, two = (statement.values([dict.fromkeys(columns)] * n).compile(dialect=dialect) for n in (1, 2))
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(str(one), str(two), strict=False)))
        self._begin, self._end = str(one)[:same], str(one)[same:]
        self._row = str(two)[same : len(str(two)) - len(self._end)]
        """The text that a second row adds; named parameters in it end in ``_m1``."""

        self._names = None if one.positional else columns
        ordered = [name.removesuffix("_m0") for name in one.positiontup or columns]
        # Values are still bound by SQLAlchemy's types, so that a row reads the same however it was written.
        types = {column.name: column.type.dialect_impl(dialect) for column in statement.table.columns}
        self._values = itemgetter(*ordered)
        forms = [(place, types[name].bind_processor(dialect)) for place, name in enumerate(ordered)]
        self._forms = [(place, form) for place, form in forms if form is not None]
        """What few columns need before the driver takes their values."""

        self._texts: dict[int, str] = {}

    def text(self, count: int) -> str:
        """The statement for *count* rows."""
        if count not in self._texts:
            more = "".join(self._row.replace("_m1)", f"_m{number})") for number in range(1, count))
            self._texts[count] = self._begin + more + self._end
        return self._texts[count]

    def parameters(self, rows: Sequence[Row]) -> Any:
        """The values of *rows* in the driver's form."""
        values: list[Any] = []
        for row in rows:
            bound = list(self._values(row))
            for place, form in self._forms:
                bound[place] = form(bound[place])
            values += bound
        if self._names is None:
            return values
        names = (f"{name}_m{number}" for number in range(len(rows)) for name in self._names)
        return dict(zip(names, values, strict=True))


@lru_cache(maxsize=64)
def _compiled(statement: Insert, columns: Sequence[str], dialect: Dialect) -> _Compiled:
    return _Compiled(statement, columns, dialect)


class _Prepared:
    """A statement as text and parameters for the driver."""

    def __init__(self, statement: Any, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self.text = str(compiled)
        self._fixed = compiled.params
        self._told = {name: parameter.callable for parameter, name in compiled.bind_names.items() if parameter.callable}
        """What is asked for at each execution, such as the time."""

        forms = {
            name: parameter.type.dialect_impl(dialect).bind_processor(dialect)
            for parameter, name in compiled.bind_names.items()
        }
        self._positional = compiled.positiontup is not None
        self._forms = [(name, forms[name]) for name in compiled.positiontup or forms]

    def parameters(self, values: Row) -> Any:
        """The values of the statement, given and fixed, in the driver's form."""
        given = {**self._fixed, **values}
        for name, tell in self._told.items():
            given[name] = tell()
        if self._positional:
            return [given[name] if form is None else form(given[name]) for name, form in self._forms]
        return {name: given[name] if form is None else form(given[name]) for name, form in self._forms}


@lru_cache(maxsize=64)
def _prepared(statement: Executable, dialect: Dialect) -> _Prepared:
    return _Prepared(statement, dialect)
