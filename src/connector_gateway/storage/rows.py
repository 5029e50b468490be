"""Rows written many at a time: by a statement that is compiled once, and bound without SQLAlchemy's help.

A record per call is the most that is ever written, and SQLAlchemy's way with a row costs as much as the database's.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect, Insert

MOST_ROWS = 32
"""Rows of one statement; there is one for every number of rows, compiled when it is needed first."""

Row = Mapping[str, Any]


def insert_rows(connection: Connection, statement: Insert, rows: Sequence[Row]) -> None:
    """Execute *statement* for *rows*, which all have the same columns."""
    cursor = connection.connection.cursor()
    for start in range(0, len(rows), MOST_ROWS):
        some = rows[start : start + MOST_ROWS]
        compiled = _compiled(statement, tuple(some[0]), len(some), connection.dialect)
        cursor.execute(compiled.sql, compiled.parameters(some))
    cursor.close()


class _Compiled:
    """A statement for a number of rows, as the driver takes it."""

    def __init__(self, statement: Insert, columns: Sequence[str], count: int, dialect: Dialect) -> None:
        compiled = statement.values([dict.fromkeys(columns)] * count).compile(dialect=dialect)
        names = compiled.positiontup or [f"{name}_m{number}" for number in range(count) for name in columns]
        ordered = [name.removesuffix("_m0") for name in names[: len(columns)]]
        types = {column.name: column.type.dialect_impl(dialect) for column in statement.table.columns}
        self.sql = str(compiled)
        self._names = None if compiled.positional else names
        self._columns = [(name, types[name].bind_processor(dialect)) for name in ordered]

    def parameters(self, rows: Sequence[Row]) -> Any:
        """The values of *rows* in the driver's form."""
        values = [row[name] if form is None else form(row[name]) for row in rows for name, form in self._columns]
        return tuple(values) if self._names is None else dict(zip(self._names, values, strict=True))


@lru_cache(maxsize=256)
def _compiled(statement: Insert, columns: Sequence[str], count: int, dialect: Dialect) -> _Compiled:
    return _Compiled(statement, columns, count, dialect)
