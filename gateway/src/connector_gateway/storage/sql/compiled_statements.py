"""Bulk writes by statements that are compiled once and passed directly to the driver.

Every call writes records and claims. SQLAlchemy's handling of such a row takes as long as the database's own, so it is
bypassed here.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from itertools import takewhile
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, Dialect, Insert
from sqlalchemy.sql.base import Executable

MAX_ROWS = 32
"""The maximum number of rows in one statement."""

Row = Mapping[str, Any]
NO_VALUES: Row = {}
Put = tuple[Executable, Row]
"""A statement and the values to execute it with."""

Inserting = Callable[[Connection, Insert, Sequence[Row]], object]
"""A function that writes rows of one ``INSERT``."""


def insert_rows(connection: Connection, statement: Insert, rows: Sequence[Row]) -> None:
    """Execute *statement* for *rows*, which all have the same columns."""
    compiled = _compile_insert(statement, tuple(rows[0]), connection.dialect)
    cursor = connection.connection.cursor()
    # Few statements matter more than quick ones: after each, the writing thread has to regain the interpreter's lock
    # from the event loop.
    for start in range(0, len(rows), MAX_ROWS):
        batch = rows[start : start + MAX_ROWS]
        cursor.execute(compiled.text(len(batch)), compiled.parameters(batch))
    cursor.close()


def put_all(connection: Connection, puts: Sequence[Put], insert: Inserting = insert_rows) -> None:
    """Execute *puts*. Rows of the same ``INSERT``, which must have the same columns, share statements."""
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
    """Execute *statement* with its ``bindparam``s set to *values*. Returns the number of rows changed."""
    prepared = _compile_statement(statement, connection.dialect)
    cursor = connection.connection.cursor()
    cursor.execute(prepared.text, prepared.parameters(values))
    changed: int = cursor.rowcount
    cursor.close()
    return changed


def fetch(connection: Connection, statement: Executable, values: Row = NO_VALUES) -> Sequence[tuple[Any, ...]]:
    """Return the rows of *statement*, which must have types that the driver itself returns: text and numbers."""
    prepared = _compile_statement(statement, connection.dialect)
    with closing(connection.connection.cursor()) as cursor:
        cursor.execute(prepared.text, prepared.parameters(values))
        rows: Sequence[tuple[Any, ...]] = cursor.fetchall()
    return rows


class _Compiled:
    """An ``INSERT`` for any number of rows, as text and parameters for the driver."""

    def __init__(self, statement: Insert, columns: Sequence[str], dialect: Dialect) -> None:
        # SQLAlchemy would compile again for each number of rows. The text of a second row is enough to build any
        # number.
        one, two = (statement.values([dict.fromkeys(columns)] * n).compile(dialect=dialect) for n in (1, 2))
        common_length = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(str(one), str(two), strict=False))
        )
        self._begin, self._end = str(one)[:common_length], str(one)[common_length:]
        self._row = str(two)[common_length : len(str(two)) - len(self._end)]
        """The text that a second row adds. Its named parameters end in ``_m1``."""

        self._names = None if one.positional else columns
        ordered = [name.removesuffix("_m0") for name in one.positiontup or columns]
        # SQLAlchemy's types still bind the values, so that rows are identical however they were written.
        types = {column.name: column.type.dialect_impl(dialect) for column in statement.table.columns}
        self._values = itemgetter(*ordered)
        converters = [(position, types[name].bind_processor(dialect)) for position, name in enumerate(ordered)]
        self._converters = [(position, converter) for position, converter in converters if converter is not None]
        """The conversions of the few columns that need one before the driver takes their values."""

        self._texts: dict[int, str] = {}

    def text(self, count: int) -> str:
        """Return the statement for *count* rows."""
        if count not in self._texts:
            more = "".join(self._row.replace("_m1)", f"_m{number})") for number in range(1, count))
            self._texts[count] = self._begin + more + self._end
        return self._texts[count]

    def parameters(self, rows: Sequence[Row]) -> Any:
        """Return the values of *rows* in the driver's form."""
        values: list[Any] = []
        for row in rows:
            bound = list(self._values(row))
            for position, convert in self._converters:
                bound[position] = convert(bound[position])
            values += bound
        if self._names is None:
            return values
        names = (f"{name}_m{number}" for number in range(len(rows)) for name in self._names)
        return dict(zip(names, values, strict=True))


@lru_cache(maxsize=64)
def _compile_insert(statement: Insert, columns: Sequence[str], dialect: Dialect) -> _Compiled:
    return _Compiled(statement, columns, dialect)


class _CompiledStatement:
    """A statement as text and parameters for the driver."""

    def __init__(self, statement: Any, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self.text = str(compiled)
        self._constants = compiled.params
        self._computed = {
            name: parameter.callable for parameter, name in compiled.bind_names.items() if parameter.callable
        }
        """The values that are computed at each execution, such as the time."""

        converters = {
            name: parameter.type.dialect_impl(dialect).bind_processor(dialect)
            for parameter, name in compiled.bind_names.items()
        }
        self._positional = compiled.positiontup is not None
        self._converters = [(name, converters[name]) for name in compiled.positiontup or converters]

    def parameters(self, values: Row) -> Any:
        """Return the values of the statement, passed and constant, in the driver's form."""
        all_values = {**self._constants, **values}
        for name, compute in self._computed.items():
            all_values[name] = compute()
        if self._positional:
            return [
                all_values[name] if convert is None else convert(all_values[name]) for name, convert in self._converters
            ]
        return {
            name: all_values[name] if convert is None else convert(all_values[name])
            for name, convert in self._converters
        }


@lru_cache(maxsize=64)
def _compile_statement(statement: Executable, dialect: Dialect) -> _CompiledStatement:
    return _CompiledStatement(statement, dialect)
