"""Statements for PostgreSQL that take any number of rows as one value: a JSON text, which the server reads as a table.

The text of such a statement is the same for one row and for a hundred, so it is built once, and binding costs the
encoding of one text. Bound value by value, a record of a call took longer to bind than to be written (decision 58).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from sqlalchemy import (
    Connection,
    Delete,
    Dialect,
    Insert,
    Integer,
    LargeBinary,
    Text,
    Update,
    bindparam,
    cast,
    column,
    func,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.sql import visitors
from sqlalchemy.sql.elements import BindParameter
from sqlalchemy.types import TypeEngine

from connector_gateway.storage.rows import Row, execute

ROWS, NUMBER = "_rows", "_number"

Form = Callable[[Any], Any] | None
Types = Mapping[str, TypeEngine[Any]]


class SetStatement:
    """A statement for any number of rows, as text and parameters for the driver."""

    def __init__(self, statement: Any, types: Types, dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self.text = str(compiled)
        self._fixed = {name: value for name, value in compiled.params.items() if name != ROWS}
        self._forms = [(name, _form(kind, dialect)) for name, kind in types.items()]

    def parameters(self, rows: Sequence[Row]) -> dict[str, Any]:
        """The values of *rows*, which are numbered, in the driver's form."""
        kept = [
            {name: row[name] if form is None or row[name] is None else form(row[name]) for name, form in self._forms}
            # Their order does not come back with what is returned, so each row carries its number.
            | {NUMBER: number}
            for number, row in enumerate(rows)
        ]
        return {**self._fixed, ROWS: msgspec.json.encode(kept).decode()}


@lru_cache(maxsize=64)
def inserting(statement: Insert, columns: Sequence[str], dialect: Dialect) -> SetStatement:
    """*statement* for rows that have all the same *columns*; it returns the primary keys of those it wrote."""
    types = {name: statement.table.c[name].type for name in columns}
    table = _table(types)
    # Without a condition, ON CONFLICT could be read as one of a join.
    rows = select(*(table.c[name] for name in columns)).where(true())
    key = list(statement.table.primary_key.columns)  # type: ignore[attr-defined]
    return SetStatement(statement.from_select(list(columns), rows).returning(*key), types, dialect)


def execute_each(connection: Connection, statement: Update | Delete, rows: Sequence[Row]) -> int:
    """Execute *statement*, by ``bindparam``s, for each of *rows*; returns how many it changed.

    On a server that is one round trip; SQLite has none to save.
    """
    if connection.dialect.name == "sqlite":
        return sum(execute(connection, statement, row) for row in rows)
    prepared = changing(statement, connection.dialect)
    cursor = connection.connection.cursor()
    cursor.execute(prepared.text, prepared.parameters(rows))
    changed: int = cursor.rowcount
    cursor.close()
    return changed


@lru_cache(maxsize=64)
def changing(statement: Update | Delete, dialect: Dialect) -> SetStatement:
    """*statement*, an update or deletion by ``bindparam``s; it returns the numbers of the rows that did something."""
    plain = statement.compile(dialect=dialect)
    # What a row gives has a name that no column has; what the statement itself fixes stays a parameter.
    types = {name: parameter.type for parameter, name in plain.bind_names.items() if name.startswith("_")}
    table = _table(types)

    def placed(element: Any, **_: Any) -> Any:
        given = isinstance(element, BindParameter) and element.key in types
        return table.c[element.key] if given else None

    replaced: Any = visitors.replacement_traverse(statement, {}, placed)
    return SetStatement(replaced.returning(table.c[NUMBER]), types, dialect)


def _table(types: Types) -> Any:
    # As json, since jsonb would be built as a whole before it is read once.
    rows = func.json_to_recordset(cast(bindparam(ROWS, type_=Text()), JSON()))
    columns = [column(name, kind) for name, kind in types.items()]
    return rows.table_valued(*columns, column(NUMBER, Integer())).render_derived(name="given", with_types=True)


def _form(kind: TypeEngine[Any], dialect: Dialect) -> Form:
    """What makes of a value of *kind* what JSON can hold and the server reads as that."""
    # JSON has no bytes; PostgreSQL reads this form of a text as some.
    return _hex if isinstance(kind, LargeBinary) else kind.dialect_impl(dialect).bind_processor(dialect)


def _hex(value: bytes) -> str:
    return "\\x" + value.hex()
