"""The small part of the vendor's formulas that filters are understood in.

Comparisons (``=``, ``!=``, ``IS_AFTER``) of ``RECORD_ID()``, ``CREATED_TIME()``, ``{Field}``, texts, numbers, times,
``TRUE()``, ``FALSE()`` and ``BLANK()``, joined by ``AND``, ``OR`` and ``NOT``. ``DATETIME_PARSE`` takes ISO times only.
Whatever else the vendor can do is refused like a formula that is wrong.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workspace_sandbox.tables import times
from workspace_sandbox.tables.state import Field, Record, Table, find
from workspace_sandbox.tables.values import Reader, text_of
from workspace_sandbox.tables.wire import Refusal, invalid_formula

TOKEN = re.compile(
    r"""\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |\{(?P<field>(?:[^}\\]|\\.)*)\}
    |(?P<number>-?\d+(?:\.\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<sign>!=|=|\(|\)|,))""",
    re.VERBOSE | re.DOTALL,
)
ESCAPED = re.compile(r"\\(.)", re.DOTALL)
MOST_NESTED = 50

Token = tuple[str, str]
END: Token = ("end", "")


@dataclass(frozen=True, slots=True)
class Row:
    """A record that a formula looks at."""

    reader: Reader
    table: Table
    record: Record


Formula = Callable[[Row], Any]


def parse(text: str, table: Table) -> Callable[[Row], bool]:
    """The filter that *text* says; refused if it is not understood."""
    tokens = list(_tokens(text))
    parser = _Parser(tokens, table)
    formula = parser.expression(0)
    if parser.next() != END:
        raise invalid_formula("Invalid formula. Please check your formula text.")
    return lambda row: _is_true(formula(row))


def _tokens(text: str) -> Iterator[Token]:
    at = 0
    while at < len(text.rstrip()):
        found = TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise invalid_formula("Invalid formula. Please check your formula text.")
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
            raise _misunderstood()
        left = self._value(depth)
        if self._peek() not in COMPARISONS:
            return left
        compare = COMPARISONS[self.next()]
        right = self._value(depth)
        return lambda row: compare(left(row), right(row))

    def _value(self, depth: int) -> Formula:
        kind, text = self.next()
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
            raise _misunderstood()
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
            raise _misunderstood()
        return make(arguments)

    def _field(self, name: str) -> Formula:
        field = find(self._table.fields, name)
        if field is None:
            raise invalid_formula(f"Unknown field names: {name.casefold()}")
        return _cell(field)

    def _peek(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else END

    def _expect(self, sign: str) -> None:
        if self.next() != ("sign", sign):
            raise _misunderstood()


def _misunderstood() -> Refusal:
    return invalid_formula("Invalid formula. Please check your formula text.")


def _constant(value: Any) -> Formula:
    return lambda _: value


def _cell(field: Field) -> Formula:
    return lambda row: row.reader.cell(row.table, field, row.record)


def _equal(left: Any, right: Any) -> bool:
    if isinstance(left, bool | int | float) and isinstance(right, bool | int | float):
        return left == right
    numbers = [side for side in (left, right) if isinstance(side, int | float) and not isinstance(side, bool)]
    return not numbers and text_of(left) == text_of(right)


def _is_true(value: Any) -> bool:
    return bool(value) and not (isinstance(value, Mapping) and set(value) & {"error", "specialValue"})


def _is_after(left: Any, right: Any) -> bool:
    first, second = (times.read_instant(text_of(side), "utc") for side in (left, right))
    return first is not None and second is not None and first > second


COMPARISONS: dict[Token, Callable[[Any, Any], bool]] = {
    ("sign", "="): _equal,
    ("sign", "!="): lambda left, right: not _equal(left, right),
}

FUNCTIONS: dict[str, tuple[int, int, Callable[[list[Formula]], Formula]]] = {
    "AND": (1, 1000, lambda parts: lambda row: all(_is_true(part(row)) for part in parts)),
    "OR": (1, 1000, lambda parts: lambda row: any(_is_true(part(row)) for part in parts)),
    "NOT": (1, 1, lambda parts: lambda row: not _is_true(parts[0](row))),
    "CREATED_TIME": (0, 0, lambda _: lambda row: times.written(row.record.created_at)),
    "DATETIME_PARSE": (1, 1, lambda parts: parts[0]),
    "IS_AFTER": (2, 2, lambda parts: lambda row: _is_after(*(part(row) for part in parts))),
    "RECORD_ID": (0, 0, lambda _: lambda row: row.record.id),
    "TRUE": (0, 0, lambda _: _constant(True)),
    "FALSE": (0, 0, lambda _: _constant(False)),
    "BLANK": (0, 0, lambda _: _constant(None)),
}
"""The fewest and the most arguments of each, and what it makes of them."""
