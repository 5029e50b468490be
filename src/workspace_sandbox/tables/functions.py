"""The functions of formulas, by the names of the vendor's formula field reference."""

import re
from collections.abc import Mapping
from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.tables import times
from workspace_sandbox.tables.date_functions import DATES
from workspace_sandbox.tables.number_functions import NUMBERS
from workspace_sandbox.tables.operands import (
    MOST,
    Formula,
    FormulaError,
    Function,
    Row,
    flat,
    is_error,
    is_true,
    of,
    whole,
)
from workspace_sandbox.tables.operands import written as text
from workspace_sandbox.tables.text_functions import TEXTS
from workspace_sandbox.tables.values import text_of


def equal(left: Any, right: Any) -> bool:
    """Whether two values are the same to ``=``."""
    if isinstance(left, bool | int | float) and isinstance(right, bool | int | float):
        return left == right
    numeric = [side for side in (left, right) if isinstance(side, int | float) and not isinstance(side, bool)]
    return not numeric and text_of(left) == text_of(right)


def _chosen(parts: list[Formula]) -> Formula:
    test, then, otherwise = (*parts, _nothing)[:3]
    return lambda row: (then if is_true(test(row)) else otherwise)(row)


def _switched(parts: list[Formula]) -> Formula:
    """The result behind the first pattern that is met, else the odd one at the end."""
    subject, *rest = parts
    otherwise = rest.pop() if len(rest) % 2 else _nothing
    pairs = list(zip(rest[::2], rest[1::2], strict=True))

    def choose(row: Row) -> Any:
        value = subject(row)
        return next((result for pattern, result in pairs if equal(value, pattern(row))), otherwise)(row)

    return choose


def _nothing(_: Row) -> None:
    return None


def _fails(parts: list[Formula]) -> Formula:
    def fails(row: Row) -> bool:
        try:
            return is_error(parts[0](row))
        except FormulaError:
            return True

    return fails


def _error(_: Any = None) -> Any:
    raise FormulaError


def _list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _slice(values: Any, start: Any, end: Any = None) -> list[Any]:
    """From a place to another, both counted from 1 or, below 0, from the end, and both in it."""
    items = _list(values)
    first, last = whole(start), len(items) if end is None else whole(end)
    first = first - 1 if first > 0 else max(0, len(items) + first)
    return items[first : last if last >= 0 else len(items) + last + 1]


def _unique(values: Any) -> list[Any]:
    return list({text(value): value for value in _list(values)}.values())


def _matched(value: Any, pattern: Any) -> re.Match[str] | None:
    return _pattern(pattern).search(text(value))


def _extracted(value: Any, pattern: Any) -> str:
    found = require(_matched(value, pattern), FormulaError)
    return found[1] if found.re.groups else found[0]


def _replaced(value: Any, pattern: Any, new: Any) -> str:
    try:
        return _pattern(pattern).sub(re.sub(r"\$(\d)", r"\\\1", text(new)), text(value))
    except (re.error, IndexError):
        raise FormulaError from None


def _pattern(pattern: Any) -> re.Pattern[str]:
    # The vendor's patterns know neither what is around a match nor what was matched before.
    if FOREIGN.search(text(pattern)):
        raise FormulaError
    try:
        return re.compile(text(pattern))
    except (re.error, RecursionError):
        raise FormulaError from None


FOREIGN = re.compile(r"\(\?<?[=!]|\\[1-9]|\(\?P=")

FUNCTIONS: Mapping[str, Function] = {
    **TEXTS,
    **NUMBERS,
    **DATES,
    "AND": (1, MOST, lambda parts: lambda row: all(is_true(part(row)) for part in parts)),
    "OR": (1, MOST, lambda parts: lambda row: any(is_true(part(row)) for part in parts)),
    "XOR": (1, MOST, lambda parts: lambda row: sum(is_true(part(row)) for part in parts) % 2 == 1),
    "NOT": (1, 1, lambda parts: lambda row: not is_true(parts[0](row))),
    "IF": (2, 3, _chosen),
    "SWITCH": (2, MOST, _switched),
    "ISERROR": (1, 1, _fails),
    "ERROR": (0, 1, of(_error)),
    "TRUE": (0, 0, of(lambda: True)),
    "FALSE": (0, 0, of(lambda: False)),
    "BLANK": (0, 0, of(lambda: None)),
    "RECORD_ID": (0, 0, lambda _: lambda row: row.record.id),
    "CREATED_TIME": (0, 0, lambda _: lambda row: times.written(row.record.created_at)),
    # Of a record as a whole: which fields were changed when is not kept.
    "LAST_MODIFIED_TIME": (0, MOST, lambda _: lambda row: times.written(row.record.modified_at)),
    "ARRAYJOIN": (1, 2, of(lambda values, between=", ": text(between).join(text(one) for one in flat(_list(values))))),
    "ARRAYUNIQUE": (1, 1, of(_unique)),
    "ARRAYCOMPACT": (1, 1, of(lambda values: [one for one in _list(values) if one not in (None, "")])),
    "ARRAYFLATTEN": (1, MOST, of(lambda *values: list(flat(values)))),
    "ARRAYSLICE": (2, 3, of(_slice)),
    "REGEX_MATCH": (2, 2, of(lambda value, pattern: _matched(value, pattern) is not None)),
    "REGEX_EXTRACT": (2, 2, of(_extracted)),
    "REGEX_REPLACE": (3, 3, of(_replaced)),
}
