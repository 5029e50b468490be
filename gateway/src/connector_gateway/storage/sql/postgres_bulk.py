"""Statements for PostgreSQL that take any number of rows as one JSON value, which the server reads as a table.

The text of such a statement is the same for one row and for a hundred, so it is built once, and binding costs the
encoding of one text. Bound value by value, a record of a call took longer to bind than to be written.
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

from connector_gateway.storage.sql.compiled_statements import Row
from connector_gateway.storage.sql.pipelined_statements import Statement

ROWS, NUMBER = "_rows", "_number"

PASSED_FENCES = "'gateway.passed_fences'"
"""The transaction-local setting that lists the numbers of the fences that passed."""

FENCE_PASSED_FENCES = literal_column(
    "(input_rows._number IS NULL"
    " OR input_rows._number = ANY((SELECT string_to_array(current_setting('gateway.passed_fences'), ','))::int[]))",
    Boolean(),
)
"""The condition that a row's fence passed. Rows without a fence have no number."""

SERVER: Dialect = PGDialect_psycopg(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]
"""The dialect of statements for libpq."""

Form = Callable[[Any], Any] | None
Types = Mapping[str, TypeEngine[Any]]


class BulkStatement:
    """A statement for any number of rows, as text and parameters for libpq."""

    def __init__(self, statement: Any, types: Types) -> None:
        compiled = statement.compile(dialect=SERVER)
        self._encode_constant = str(compiled).encode()
        self._values = [_encode_constant(compiled.params[name]) for name in compiled.positiontup]
        self._rows_index = compiled.positiontup.index(ROWS)
        self._converters = [(name, _create_converter(kind)) for name, kind in types.items()]

    def for_rows(self, rows: Iterable[tuple[int | None, Row]]) -> Statement:
        """Return the statement for *rows*, each with its number."""
        encoded = [
            {
                name: row[name] if form is None or row[name] is None else form(row[name])
                for name, form in self._converters
            }
            # Returned rows are not in this order, so each row carries its number.
            | {NUMBER: number}
            for number, row in rows
        ]
        values = list(self._values)
        values[self._rows_index] = msgspec.json.encode(encoded)
        return self._encode_constant, values


@lru_cache(maxsize=64)
def insert_statement(statement: Insert, columns: Sequence[str], *, fenced: bool) -> BulkStatement:
    """Return *statement* for rows with the same *columns*. If *fenced*, it inserts those whose fence passes."""
    types = {name: statement.table.c[name].type for name in columns}
    table = _table(types)
    # Without a condition, ON CONFLICT could be parsed as part of a join.
    rows = select(*(table.c[name] for name in columns)).where(FENCE_PASSED_FENCES if fenced else true())
    return BulkStatement(statement.from_select(list(columns), rows), types)


@lru_cache(maxsize=64)
def claim_statement(statement: Any, columns: Sequence[str]) -> BulkStatement:
    """Return the insertion *statement* as a fence. It holds for the first row of each key that did not exist before."""
    types = {name: statement.table.c[name].type for name in columns}
    source, key = select(_table(types)).cte("input_rows"), list(statement.table.primary_key.columns)
    rows = select(*(source.c[name] for name in columns)).where(true())
    written = statement.from_select(list(columns), rows).returning(*key).cte("written")
    same_key = and_(*(source.c[part.name] == written.c[part.name] for part in key))
    first_rows = select(func.min(source.c[NUMBER]).label(NUMBER)).join_from(source, written, same_key)
    return BulkStatement(_record_passed(first_rows.group_by(*(source.c[part.name] for part in key))), types)


@lru_cache(maxsize=64)
def change_statement(statement: Update | Delete, *, fenced: bool = False) -> BulkStatement:
    """Return *statement*, an update or deletion by ``bindparam``s, for many rows.

    If *fenced*, it applies to those whose fence passed.
    """
    replaced, types, _ = _bind_rows(statement)
    return BulkStatement(replaced.where(FENCE_PASSED_FENCES) if fenced else replaced, types)


@lru_cache(maxsize=64)
def fence_statement(statement: Update | Delete) -> BulkStatement:
    """Return *statement*, an update or deletion by ``bindparam``s, as a fence.

    It holds for rows that change something.
    """
    replaced, types, number = _bind_rows(statement)
    return BulkStatement(_record_passed(replaced.returning(number)), types)


def _bind_rows(statement: Any) -> tuple[Any, Types, Any]:
    """Return *statement* with the values of rows for its ``bindparam``s, their types, and the number of a row."""
    plain = statement.compile(dialect=SERVER)
    # The names of row values differ from all columns. Constants of the statement stay parameters.
    types = {name: parameter.type for parameter, name in plain.bind_names.items() if name.startswith("_")}
    table = _table(types)

    def replace(element: Any, **_: Any) -> Any:
        is_row_value = isinstance(element, BindParameter) and element.key in types
        return table.c[element.key] if is_row_value else None

    replaced: Any = visitors.replacement_traverse(statement, {}, replace)
    return replaced, types, table.c[NUMBER]


def _record_passed(numbers: Any) -> Any:
    """Return a query that adds *numbers* to those of the fences that passed, and returns all of them."""
    fences = numbers.cte("passed")
    numbers_text = func.string_agg(cast(fences.c[NUMBER], Text()), literal_column("','"))
    # A setting that was never set is null, and one of an earlier transaction is empty.
    before: ColumnElement[str] = literal_column(f"nullif(current_setting({PASSED_FENCES}, true), '')")
    all_numbers = func.concat_ws(literal_column("','"), before, numbers_text)
    return select(func.set_config(literal_column(PASSED_FENCES), all_numbers, literal_column("true")).label("passed"))


def _table(types: Types) -> Any:
    # As json, because jsonb would be built completely before it is read once.
    rows = func.json_to_recordset(cast(bindparam(ROWS, type_=Text()), JSON()))
    columns = [column(name, kind) for name, kind in types.items()]
    return rows.table_valued(*columns, column(NUMBER, Integer())).render_derived(name="input_rows", with_types=True)


def _create_converter(kind: TypeEngine[Any]) -> Form:
    """Return the conversion of values of *kind* to JSON values that the server reads as that type."""
    # JSON has no bytes. PostgreSQL parses this form of a text as bytes.
    return _encode_bytes if isinstance(kind, LargeBinary) else kind.dialect_impl(SERVER).bind_processor(SERVER)


def _encode_constant(value: Any) -> bytes | None:
    """Return a constant of the statement as libpq expects it."""
    return None if value is None else str(value).encode()


def _encode_bytes(value: bytes) -> str:
    return "\\x" + value.hex()
