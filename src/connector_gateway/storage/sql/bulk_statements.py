"""Statements for PostgreSQL that take any number of rows as one value: a JSON text, which the server reads as a table.

The text of such a statement is the same for one row and for a hundred, so it is built once, and binding costs the
encoding of one text. Bound value by value, a record of a call took longer to bind than to be written (decision 58).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec
from sqlalchemy import (
    Boolean,
    ColumnElement,
    Delete,
    Dialect,
    Insert,
    Integer,
    LargeBinary,
    Text,
    Update,
    and_,
    bindparam,
    cast,
    column,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.sql import visitors
from sqlalchemy.sql.elements import BindParameter
from sqlalchemy.types import TypeEngine

from connector_gateway.storage.sql.bulk_insert import Row
from connector_gateway.storage.sql.pipelined_queries import Statement

ROWS, NUMBER = "_rows", "_number"

HELD = "'gateway.held'"
"""The setting, of one transaction only, that lists the numbers of the fences which held in it."""

HOLDS = literal_column(
    "(given._number IS NULL"
    " OR given._number = ANY((SELECT string_to_array(current_setting('gateway.held'), ','))::int[]))",
    Boolean(),
)
"""The condition that a row's fence held; it has no number where it needs none."""

SERVER: Dialect = PGDialect_psycopg(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]
"""How statements are written for libpq itself."""

Form = Callable[[Any], Any] | None
Types = Mapping[str, TypeEngine[Any]]


class BulkStatement:
    """A statement for any number of rows, as text and parameters for libpq."""

    def __init__(self, statement: Any, types: Types) -> None:
        compiled = statement.compile(dialect=SERVER)
        self._text = str(compiled).encode()
        self._values = [_text(compiled.params[name]) for name in compiled.positiontup]
        self._place = compiled.positiontup.index(ROWS)
        self._forms = [(name, _form(kind)) for name, kind in types.items()]

    def of(self, rows: Iterable[tuple[int | None, Row]]) -> Statement:
        """The statement for *rows*, each with its number."""
        kept = [
            {name: row[name] if form is None or row[name] is None else form(row[name]) for name, form in self._forms}
            # Their order does not come back with what is returned, so each row carries its number.
            | {NUMBER: number}
            for number, row in rows
        ]
        values = list(self._values)
        values[self._place] = msgspec.json.encode(kept)
        return self._text, values


@lru_cache(maxsize=64)
def inserting(statement: Insert, columns: Sequence[str], *, fenced: bool) -> BulkStatement:
    """*statement* for rows that have all the same *columns*; if *fenced*, for those whose fence held."""
    types = {name: statement.table.c[name].type for name in columns}
    table = _table(types)
    # Without a condition, ON CONFLICT could be read as one of a join.
    rows = select(*(table.c[name] for name in columns)).where(HOLDS if fenced else true())
    return BulkStatement(statement.from_select(list(columns), rows), types)


@lru_cache(maxsize=64)
def claiming(statement: Any, columns: Sequence[str]) -> BulkStatement:
    """*statement*, an insertion, as a fence: it holds for the first row of each name that was not there before."""
    types = {name: statement.table.c[name].type for name in columns}
    given, key = select(_table(types)).cte("given"), list(statement.table.primary_key.columns)
    rows = select(*(given.c[name] for name in columns)).where(true())
    written = statement.from_select(list(columns), rows).returning(*key).cte("written")
    same = and_(*(given.c[part.name] == written.c[part.name] for part in key))
    first = select(func.min(given.c[NUMBER]).label(NUMBER)).join_from(given, written, same)
    return BulkStatement(_holding(first.group_by(*(given.c[part.name] for part in key))), types)


@lru_cache(maxsize=64)
def changing(statement: Update | Delete, *, fenced: bool = False) -> BulkStatement:
    """*statement*, an update or deletion by ``bindparam``s, for many rows; if *fenced*, for those whose fence held."""
    replaced, types, _ = _by_rows(statement)
    return BulkStatement(replaced.where(HOLDS) if fenced else replaced, types)


@lru_cache(maxsize=64)
def fence_statement(statement: Update | Delete) -> BulkStatement:
    """*statement*, an update or deletion by ``bindparam``s, as a fence: it holds for rows that change something."""
    replaced, types, number = _by_rows(statement)
    return BulkStatement(_holding(replaced.returning(number)), types)


def _by_rows(statement: Any) -> tuple[Any, Types, Any]:
    """*statement* with the values of given rows for its ``bindparam``s, their types, and the number of a given row."""
    plain = statement.compile(dialect=SERVER)
    # What a row gives has a name that no column has; what the statement itself fixes stays a parameter.
    types = {name: parameter.type for parameter, name in plain.bind_names.items() if name.startswith("_")}
    table = _table(types)

    def placed(element: Any, **_: Any) -> Any:
        given = isinstance(element, BindParameter) and element.key in types
        return table.c[element.key] if given else None

    replaced: Any = visitors.replacement_traverse(statement, {}, placed)
    return replaced, types, table.c[NUMBER]


def _holding(numbers: Any) -> Any:
    """Adds *numbers* to those of the fences that held, and tells all of them."""
    held = numbers.cte("held")
    told = func.string_agg(cast(held.c[NUMBER], Text()), literal_column("','"))
    # A setting that was never made is null, and one of a transaction that has ended is empty.
    before: ColumnElement[str] = literal_column(f"nullif(current_setting({HELD}, true), '')")
    listed = func.concat_ws(literal_column("','"), before, told)
    return select(func.set_config(literal_column(HELD), listed, literal_column("true")).label("held"))


def _table(types: Types) -> Any:
    # As json, since jsonb would be built as a whole before it is read once.
    rows = func.json_to_recordset(cast(bindparam(ROWS, type_=Text()), JSON()))
    columns = [column(name, kind) for name, kind in types.items()]
    return rows.table_valued(*columns, column(NUMBER, Integer())).render_derived(name="given", with_types=True)


def _form(kind: TypeEngine[Any]) -> Form:
    """What makes of a value of *kind* what JSON can hold and the server reads as that."""
    # JSON has no bytes; PostgreSQL reads this form of a text as some.
    return _hex if isinstance(kind, LargeBinary) else kind.dialect_impl(SERVER).bind_processor(SERVER)


def _text(value: Any) -> bytes | None:
    """A value that the statement itself fixes, as libpq takes it."""
    return None if value is None else str(value).encode()


def _hex(value: bytes) -> str:
    return "\\x" + value.hex()
