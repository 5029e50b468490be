"""The part of the vendor's formulas that filters are understood in: fields, operators, and ``FUNCTIONS``.

``DATETIME_PARSE`` takes ISO times only, and times are told in UTC.
Whatever else the vendor can do is refused like a formula that is wrong.
"""

import math
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
    |(?P<number>\d+(?:\.\d+)?)
    |(?P<name>[^\W\d]\w*)
    |(?P<sign>!=|<=|>=|[-=<>&+*/(),]))""",
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
            raise _misunderstood()
        kind, text = self.next()
        if (kind, text) == ("sign", "-"):
            return _applied(lambda value: -_number(value), [self._value(depth + 1)])
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


def _applied(work: Callable[..., Any], parts: list[Formula]) -> Formula:
    """*work* on the values of *parts*."""
    return lambda row: work(*(part(row) for part in parts))


def _folded(first: Formula, rest: list[tuple[Callable[[Any, Any], Any], Formula]]) -> Formula:
    """One value after the other, in a loop: a long sum must not end in an error of Python's own."""

    def fold(row: Row) -> Any:
        value = first(row)
        for join, part in rest:
            value = join(value, part(row))
        return value

    return fold


def _chosen(test: Formula, then: Formula, otherwise: Formula = lambda _: None) -> Formula:
    """*then* where *test* is true."""
    return lambda row: (then if _is_true(test(row)) else otherwise)(row)


def _of(work: Callable[..., Any]) -> Callable[[list[Formula]], Formula]:
    """What makes a function of *work*, which takes values."""
    return lambda parts: _applied(work, parts)


def _number(value: Any) -> float:
    """The number that a value is; nothing, and text that is none, count as 0."""
    if isinstance(value, bool | int | float):
        return value
    try:
        return float(text_of(value) or 0)
    except ValueError:
        return 0


def _written(value: Any) -> str:
    """A value as text; whole numbers without a point."""
    return f"{value:g}" if isinstance(value, float) else text_of(value)


def _order(left: Any, right: Any) -> float:
    """Below, at or above 0, as *left* is before, at or after *right*; instants by their times."""
    if isinstance(left, str) and isinstance(right, str):
        first, second = (times.read_instant(side, "utc") for side in (left, right))
        if first is not None and second is not None:
            return first - second
    return _number(left) - _number(right)


def _divided(left: Any, right: Any) -> float:
    # The vendor shows an error, which no filter keeps.
    return _number(left) / _number(right) if _number(right) else 0


def _find(wanted: Any, within: Any, start: Any = 1) -> int:
    """The place from 1 on; 0 where it is not."""
    return _written(within).find(_written(wanted), max(0, int(_number(start)) - 1)) + 1


def _search(wanted: Any, within: Any, start: Any = 1) -> int | None:
    """As ``FIND``, without regard to case; empty where it is not."""
    return _find(_written(wanted).casefold(), _written(within).casefold(), start) or None


def _mid(text: Any, start: Any, count: Any) -> str:
    at = max(0, int(_number(start)) - 1)
    return _written(text)[at : at + max(0, int(_number(count)))]


def _right(text: Any, count: Any = 1) -> str:
    wanted = max(0, int(_number(count)))
    return _written(text)[-wanted:] if wanted else ""


def _rounded(value: Any, places: Any = 0) -> float:
    """Halves away from 0, as the vendor's."""
    scale = 10 ** int(_number(places))
    moved = abs(_number(value)) * scale
    return math.copysign(math.floor(moved + 0.5) / scale, _number(value))


def _same(left: Any, right: Any, unit: Any = "millisecond") -> bool:
    first, second = (times.read_instant(text_of(side), "utc") for side in (left, right))
    if first is None or second is None:
        return False
    length = UNITS.get(str(unit).removesuffix("s").lower())
    if length is None:
        raise _misunderstood()
    return times.written(first)[:length] == times.written(second)[:length]


UNITS = {"year": 4, "month": 7, "day": 10, "hour": 13, "minute": 16, "second": 19, "millisecond": 24}
"""How many characters of a time written as ``2026-01-31T10:00:00.000Z`` are the same within one unit."""


def _part(start: int, end: int) -> Callable[[Any], int | None]:
    """What takes a part of an instant as a number."""

    def taken(value: Any) -> int | None:
        at = times.read_instant(text_of(value), "utc")
        return None if at is None else int(times.written(at)[start:end])

    return taken


OPERATORS: tuple[dict[Token, Callable[[Any, Any], Any]], ...] = (
    {("sign", "&"): lambda left, right: _written(left) + _written(right)},
    {
        ("sign", "+"): lambda left, right: _number(left) + _number(right),
        ("sign", "-"): lambda left, right: _number(left) - _number(right),
    },
    {("sign", "*"): lambda left, right: _number(left) * _number(right), ("sign", "/"): _divided},
)
"""From the loosest to the tightest."""

COMPARISONS: dict[Token, Callable[[Any, Any], bool]] = {
    ("sign", "="): _equal,
    ("sign", "!="): lambda left, right: not _equal(left, right),
    ("sign", "<"): lambda left, right: _order(left, right) < 0,
    ("sign", ">"): lambda left, right: _order(left, right) > 0,
    ("sign", "<="): lambda left, right: _order(left, right) <= 0,
    ("sign", ">="): lambda left, right: _order(left, right) >= 0,
}

FUNCTIONS: dict[str, tuple[int, int, Callable[[list[Formula]], Formula]]] = {
    "AND": (1, 1000, lambda parts: lambda row: all(_is_true(part(row)) for part in parts)),
    "OR": (1, 1000, lambda parts: lambda row: any(_is_true(part(row)) for part in parts)),
    "NOT": (1, 1, lambda parts: lambda row: not _is_true(parts[0](row))),
    "CREATED_TIME": (0, 0, lambda _: lambda row: times.written(row.record.created_at)),
    "DATETIME_PARSE": (1, 1, lambda parts: parts[0]),
    "IF": (2, 3, lambda parts: _chosen(*parts)),
    "FIND": (2, 3, _of(_find)),
    "SEARCH": (2, 3, _of(_search)),
    "LOWER": (1, 1, _of(lambda value: _written(value).lower())),
    "UPPER": (1, 1, _of(lambda value: _written(value).upper())),
    "TRIM": (1, 1, _of(lambda value: _written(value).strip())),
    "LEN": (1, 1, _of(lambda value: len(_written(value)))),
    "LEFT": (1, 2, _of(lambda value, count=1: _written(value)[: max(0, int(_number(count)))])),
    "RIGHT": (1, 2, _of(_right)),
    "MID": (3, 3, _of(_mid)),
    "SUBSTITUTE": (3, 3, _of(lambda value, old, new: _written(value).replace(_written(old), _written(new)))),
    "CONCATENATE": (1, 1000, _of(lambda *values: "".join(map(_written, values)))),
    "VALUE": (1, 1, _of(_number)),
    "ROUND": (1, 2, _of(_rounded)),
    "ABS": (1, 1, _of(lambda value: abs(_number(value)))),
    "SUM": (1, 1000, _of(lambda *values: sum(map(_number, values)))),
    "MIN": (1, 1000, _of(lambda *values: min(map(_number, values)))),
    "MAX": (1, 1000, _of(lambda *values: max(map(_number, values)))),
    "IS_AFTER": (2, 2, _of(_is_after)),
    "IS_BEFORE": (2, 2, _of(lambda left, right: _is_after(right, left))),
    "IS_SAME": (2, 3, _of(_same)),
    "YEAR": (1, 1, _of(_part(0, 4))),
    "MONTH": (1, 1, _of(_part(5, 7))),
    "DAY": (1, 1, _of(_part(8, 10))),
    "NOW": (0, 0, lambda _: lambda row: times.written(row.reader.now)),
    "TODAY": (0, 0, lambda _: lambda row: times.written(row.reader.now)[:10]),
    "RECORD_ID": (0, 0, lambda _: lambda row: row.record.id),
    "TRUE": (0, 0, lambda _: _constant(True)),
    "FALSE": (0, 0, lambda _: _constant(False)),
    "BLANK": (0, 0, lambda _: _constant(None)),
}
"""The fewest and the most arguments of each, and what it makes of them."""
