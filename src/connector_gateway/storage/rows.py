"""Rows written many at a time: by a statement that is compiled once, and bound without SQLAlchemy's help.

A record per call is the most that is ever written, and SQLAlchemy's way with a row costs as much as the database's.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Connection, Dialect, Insert

MOST_ROWS = 16
"""Rows of one statement; their number is a power of two, so that few statements are ever compiled."""

Row = Mapping[str, Any]


def insert_rows(connection: Connection, statement: Insert, rows: Sequence[Row]) -> None:
    """Execute *statement* for *rows*, which all have the same columns."""
    start = 0
    while start < len(rows):
        count = min(1 << (len(rows) - start).bit_length() - 1, MOST_ROWS)
        compiled = _compiled(statement, tuple(rows[0]), count, connection.dialect)
        connection.exec_driver_sql(compiled.sql, compiled.parameters(rows[start : start + count]))
        start += count


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


@lru_cache(maxsize=64)
def _compiled(statement: Insert, columns: Sequence[str], count: int, dialect: Dialect) -> _Compiled:
    return _Compiled(statement, columns, count, dialect)
