"""The vendor's formulas, used as filters: fields, operators and functions."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.tables.data.state import Field, Table, find
from workspace_sandbox.tables.error_responses import invalid_formula
from workspace_sandbox.tables.formulas.functions import FUNCTIONS, equal
from workspace_sandbox.tables.formulas.number_functions import divide
from workspace_sandbox.tables.formulas.values import (
    Formula,
    FormulaError,
    Row,
    apply,
    epoch_seconds,
    is_error,
    is_true,
    syntax_error,
    to_number,
    to_text,
)

TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |\{(?P<field>(?:[^}\\]|\\.)*)\}
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<sign>!=|<=|>=|[-=<>&+*/(),]))""",
    re.VERBOSE | re.DOTALL,
)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
MAX_NESTING = 50

Token = tuple[str, str]
END: Token = ("end", "")


def parse(text: str, table: Table) -> Callable[[Row], bool]:
    """Parse *text* into a filter. Raises an error if it is invalid."""
    tokens = list(_tokens(text))
    parser = _Parser(tokens, table)
    formula = parser.expression(0)
    if parser.next() != END:
        raise syntax_error()

    def matches(row: Row) -> bool:
        try:
            return is_true(formula(row))
        except FormulaError:
            return False

    return matches


def _tokens(text: str) -> Iterator[Token]:
    position = 0
    while position < len(text.rstrip()):
        match = TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise syntax_error()
        yield match.lastgroup, match[match.lastgroup]
        position = match.end()


class _Parser:
    """A recursive-descent parser of a formula."""

    def __init__(self, tokens: list[Token], table: Table) -> None:
        self._tokens = tokens
        self._table = table
        self._at = 0

    def next(self) -> Token:
        """Consume a token."""
        token = self._peek()
        self._at += 1
        return token

    def expression(self, depth: int) -> Formula:
        """Parse a value, or a comparison of two values."""
        # Deeper nesting would raise Python's RecursionError.
        if depth > MAX_NESTING:
            raise syntax_error()
        left = self._operation(0, depth)
        if self._peek() not in COMPARISONS:
            return left
        compare = COMPARISONS[self.next()]
        right = self._operation(0, depth)
        return lambda row: compare(left(row), right(row))

    def _operation(self, level: int, depth: int) -> Formula:
        """Parse values joined by left-associative operators of *level* and tighter ones."""
        if level == len(OPERATORS):
            return self._value(depth)
        first = self._operation(level + 1, depth)
        rest: list[tuple[Callable[[Any, Any], Any], Formula]] = []
        while self._peek() in OPERATORS[level]:
            rest.append((OPERATORS[level][self.next()], self._operation(level + 1, depth)))
        return _fold(first, rest) if rest else first

    def _value(self, depth: int) -> Formula:
        # The same limit as for expressions: a row of signs must not raise Python's RecursionError.
        if depth > MAX_NESTING:
            raise syntax_error()
        kind, text = self.next()
        if (kind, text) == ("sign", "-"):
            return apply(lambda value: -to_number(value), [self._value(depth + 1)])
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
            raise syntax_error()
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
        minimum, maximum, create = FUNCTIONS.get(name.upper(), (1, 0, None))
        if create is None or not minimum <= len(arguments) <= maximum:
            raise syntax_error()
        return create(arguments)

    def _field(self, name: str) -> Formula:
        field = require(find(self._table.fields, name), invalid_formula(f"Unknown field names: {name.casefold()}"))
        return _cell(field)

    def _peek(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else END

    def _expect(self, sign: str) -> None:
        if self.next() != ("sign", sign):
            raise syntax_error()


def _constant(value: Any) -> Formula:
    return lambda _: value


def _cell(field: Field) -> Formula:
    """Return the value of a field. Linked records are names, and error values raise an error."""

    def value(row: Row) -> Any:
        rendered = row.reader.cell(row.table, field, row.record)
        if is_error(rendered):
            raise FormulaError
        return _names(row, field, rendered) if field.type == "multipleRecordLinks" and rendered else rendered

    return value


def _names(row: Row, field: Field, identifiers: list[str]) -> list[str]:
    linked = find(row.reader.base.tables, field.option("linkedTableId"))
    if linked is None:
        return identifiers
    rows = (linked.records[identifier] for identifier in identifiers if identifier in linked.records)
    return [to_text(row.reader.cell(linked, linked.primary, linked_record)) for linked_record in rows]


def _fold(first: Formula, rest: list[tuple[Callable[[Any, Any], Any], Formula]]) -> Formula:
    """Evaluate the parts in a loop: recursion over a long sum would raise Python's RecursionError."""

    def fold(row: Row) -> Any:
        value = first(row)
        for join, part in rest:
            value = join(value, part(row))
        return value

    return fold


def _order(left: Any, right: Any) -> float:
    """Return a negative number, 0 or a positive number, comparing times by their value."""
    if isinstance(left, str) and isinstance(right, str):
        first, second = epoch_seconds(left), epoch_seconds(right)
        if first is not None and second is not None:
            return first - second
    return to_number(left) - to_number(right)


OPERATORS: tuple[dict[Token, Callable[[Any, Any], Any]], ...] = (
    {("sign", "&"): lambda left, right: to_text(left) + to_text(right)},
    {
        ("sign", "+"): lambda left, right: to_number(left) + to_number(right),
        ("sign", "-"): lambda left, right: to_number(left) - to_number(right),
    },
    {("sign", "*"): lambda left, right: to_number(left) * to_number(right), ("sign", "/"): divide},
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
