"""The vendor's formulas, in which filters are written: fields, operators, and functions."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.tables.functions import FUNCTIONS, equal
from workspace_sandbox.tables.number_functions import divided
from workspace_sandbox.tables.operands import (
    Formula,
    FormulaError,
    Row,
    applied,
    is_error,
    is_true,
    misunderstood,
    moment,
    number,
    written,
)
from workspace_sandbox.tables.state import Field, Table, find
from workspace_sandbox.tables.wire import invalid_formula

TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |\{(?P<field>(?:[^}\\]|\\.)*)\}
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<sign>!=|<=|>=|[-=<>&+*/(),]))""",
    re.VERBOSE | re.DOTALL,
)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
MOST_NESTED = 50

Token = tuple[str, str]
END: Token = ("end", "")


def parse(text: str, table: Table) -> Callable[[Row], bool]:
    """The filter that *text* says; refused if it is not understood."""
    tokens = list(_tokens(text))
    parser = _Parser(tokens, table)
    formula = parser.expression(0)
    if parser.next() != END:
        raise misunderstood()

    def keeps(row: Row) -> bool:
        try:
            return is_true(formula(row))
        except FormulaError:
            return False

    return keeps


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text.rstrip()):
        found = TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise misunderstood()
        yield found.lastgroup, found[found.lastgroup]
        at = found.end()


class _Parser:
    """Descends through the tokens of one formula."""

    def __init__(self, tokens: list[Token], table: Table) -> None:
        self._tokens = tokens
        self._table = table
        self._at = 0

    def next(self) -> Token:
        """Take a token."""
        token = self._peek()
        self._at += 1
        return token

    def expression(self, depth: int) -> Formula:
        """A value, or two of them compared."""
        # Deeper nesting would end in an error of Python's own.
        if depth > MOST_NESTED:
            raise misunderstood()
        left = self._joined(0, depth)
        if self._peek() not in COMPARISONS:
            return left
        compare = COMPARISONS[self.next()]
        right = self._joined(0, depth)
        return lambda row: compare(left(row), right(row))

    def _joined(self, level: int, depth: int) -> Formula:
        """Values joined by the operators of *level* and the tighter ones, from the left."""
        if level == len(OPERATORS):
            return self._value(depth)
        first = self._joined(level + 1, depth)
        rest: list[tuple[Callable[[Any, Any], Any], Formula]] = []
        while self._peek() in OPERATORS[level]:
            rest.append((OPERATORS[level][self.next()], self._joined(level + 1, depth)))
        return _folded(first, rest) if rest else first

    def _value(self, depth: int) -> Formula:
        # As expressions are: a row of signs must not end in an error of Python's own.
        if depth > MOST_NESTED:
            raise misunderstood()
        kind, text = self.next()
        if (kind, text) == ("sign", "-"):
            return applied(lambda value: -number(value), [self._value(depth + 1)])
        if kind == "name" and self._peek() == ("sign", "("):
            self.next()
            return self._call(text, depth)
        if kind in {"name", "field"}:
            return self._field(ESCAPED.sub(r"\1", text))
        if kind == "text":
            return _constant(ESCAPED.sub(r"\1", text[1:-1]))
        if kind == "number":
            return _constant(float(text))
        if text != "(":
            raise misunderstood()
        inner = self.expression(depth + 1)
        self._expect(")")
        return inner

    def _call(self, name: str, depth: int) -> Formula:
        arguments: list[Formula] = []
        while self._peek() != ("sign", ")"):
            if arguments:
                self._expect(",")
            arguments.append(self.expression(depth + 1))
        self.next()
        fewest, most, make = FUNCTIONS.get(name.upper(), (1, 0, None))
        if make is None or not fewest <= len(arguments) <= most:
            raise misunderstood()
        return make(arguments)

    def _field(self, name: str) -> Formula:
        field = require(find(self._table.fields, name), invalid_formula(f"Unknown field names: {name.casefold()}"))
        return _cell(field)

    def _peek(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else END

    def _expect(self, sign: str) -> None:
        if self.next() != ("sign", sign):
            raise misunderstood()


def _constant(value: Any) -> Formula:
    return lambda _: value


def _cell(field: Field) -> Formula:
    """The value of a field; linked records by their names, and what shows an error is one."""

    def value(row: Row) -> Any:
        shown = row.reader.cell(row.table, field, row.record)
        if is_error(shown):
            raise FormulaError
        return _names(row, field, shown) if field.type == "multipleRecordLinks" and shown else shown

    return value


def _names(row: Row, field: Field, identifiers: list[str]) -> list[str]:
    linked = find(row.reader.base.tables, field.option("linkedTableId"))
    if linked is None:
        return identifiers
    rows = (linked.records[identifier] for identifier in identifiers if identifier in linked.records)
    return [written(row.reader.cell(linked, linked.primary, one)) for one in rows]


def _folded(first: Formula, rest: list[tuple[Callable[[Any, Any], Any], Formula]]) -> Formula:
    """One value after the other, in a loop: a long sum must not end in an error of Python's own."""

    def fold(row: Row) -> Any:
        value = first(row)
        for join, part in rest:
            value = join(value, part(row))
        return value

    return fold


def _order(left: Any, right: Any) -> float:
    """Below, at or above 0, as *left* is before, at or after *right*; instants by their times."""
    if isinstance(left, str) and isinstance(right, str):
        first, second = moment(left), moment(right)
        if first is not None and second is not None:
            return first - second
    return number(left) - number(right)


OPERATORS: tuple[dict[Token, Callable[[Any, Any], Any]], ...] = (
    {("sign", "&"): lambda left, right: written(left) + written(right)},
    {
        ("sign", "+"): lambda left, right: number(left) + number(right),
        ("sign", "-"): lambda left, right: number(left) - number(right),
    },
    {("sign", "*"): lambda left, right: number(left) * number(right), ("sign", "/"): divided},
)
"""From the loosest to the tightest."""

COMPARISONS: dict[Token, Callable[[Any, Any], bool]] = {
    ("sign", "="): equal,
    ("sign", "!="): lambda left, right: not equal(left, right),
    ("sign", "<"): lambda left, right: _order(left, right) < 0,
    ("sign", ">"): lambda left, right: _order(left, right) > 0,
    ("sign", "<="): lambda left, right: _order(left, right) <= 0,
    ("sign", ">="): lambda left, right: _order(left, right) >= 0,
}
