"""The formula functions, by the names in the vendor's formula field reference."""

import re
from collections.abc import Mapping
from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.tables.data import dates
from workspace_sandbox.tables.data.cell_values import value_to_text
from workspace_sandbox.tables.formulas.date_functions import DATES
from workspace_sandbox.tables.formulas.number_functions import NUMBERS
from workspace_sandbox.tables.formulas.text_functions import TEXTS
from workspace_sandbox.tables.formulas.values import (
    MAX_ARGUMENTS,
    Formula,
    FormulaError,
    Function,
    Row,
    flatten,
    from_values,
    is_error,
    is_true,
    to_int,
)
from workspace_sandbox.tables.formulas.values import to_text as text


def equal(left: Any, right: Any) -> bool:
    """Return True if two values are equal to the operator ``=``."""
    if isinstance(left, bool | int | float) and isinstance(right, bool | int | float):
        return left == right
    numeric = [side for side in (left, right) if isinstance(side, int | float) and not isinstance(side, bool)]
    return not numeric and value_to_text(left) == value_to_text(right)


def _if(parts: list[Formula]) -> Formula:
    test, consequent, otherwise = (*parts, _nothing)[:3]
    return lambda row: (consequent if is_true(test(row)) else otherwise)(row)


def _switch(parts: list[Formula]) -> Formula:
    """Return the result of the first matching pattern, otherwise the default at the end."""
    subject, *rest = parts
    otherwise = rest.pop() if len(rest) % 2 else _nothing
    pairs = list(zip(rest[::2], rest[1::2], strict=True))

    def choose(row: Row) -> Any:
        value = subject(row)
        return next((result for pattern, result in pairs if equal(value, pattern(row))), otherwise)(row)

    return choose


def _nothing(_: Row) -> None:
    return None


def _error_predicate(parts: list[Formula]) -> Formula:
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
    """Return a slice. Positions count from 1, or from the end if negative, and both ends are included."""
    items = _list(values)
    first, last = to_int(start), len(items) if end is None else to_int(end)
    first = first - 1 if first > 0 else max(0, len(items) + first)
    return items[first : last if last >= 0 else len(items) + last + 1]


def _unique(values: Any) -> list[Any]:
    return list({text(value): value for value in _list(values)}.values())


def _search_pattern(value: Any, pattern: Any) -> re.Match[str] | None:
    return _pattern(pattern).search(text(value))


def _extract(value: Any, pattern: Any) -> str:
    match = require(_search_pattern(value, pattern), FormulaError)
    return match[1] if match.re.groups else match[0]


def _replace(value: Any, pattern: Any, new: Any) -> str:
    try:
        return _pattern(pattern).sub(re.sub(r"\$(\d)", r"\\\1", text(new)), text(value))
    except (re.error, IndexError):
        raise FormulaError from None


def _pattern(pattern: Any) -> re.Pattern[str]:
    # The vendor's regular expressions support neither lookarounds nor backreferences.
    if UNSUPPORTED.search(text(pattern)):
        raise FormulaError
    try:
        return re.compile(text(pattern))
    except (re.error, RecursionError):
        raise FormulaError from None


UNSUPPORTED = re.compile(r"\(\?<?[=!]|\\[1-9]|\(\?P=")

FUNCTIONS: Mapping[str, Function] = {
    **TEXTS,
    **NUMBERS,
    **DATES,
    "AND": (1, MAX_ARGUMENTS, lambda parts: lambda row: all(is_true(part(row)) for part in parts)),
    "OR": (1, MAX_ARGUMENTS, lambda parts: lambda row: any(is_true(part(row)) for part in parts)),
    "XOR": (1, MAX_ARGUMENTS, lambda parts: lambda row: sum(is_true(part(row)) for part in parts) % 2 == 1),
    "NOT": (1, 1, lambda parts: lambda row: not is_true(parts[0](row))),
    "IF": (2, 3, _if),
    "SWITCH": (2, MAX_ARGUMENTS, _switch),
    "ISERROR": (1, 1, _error_predicate),
    "ERROR": (0, 1, from_values(_error)),
    "TRUE": (0, 0, from_values(lambda: True)),
    "FALSE": (0, 0, from_values(lambda: False)),
    "BLANK": (0, 0, from_values(lambda: None)),
    "RECORD_ID": (0, 0, lambda _: lambda row: row.record.id),
    "CREATED_TIME": (0, 0, lambda _: lambda row: dates.format_time(row.record.created_at)),
    # Always of the whole record: changes of single fields are not recorded.
    "LAST_MODIFIED_TIME": (0, MAX_ARGUMENTS, lambda _: lambda row: dates.format_time(row.record.modified_at)),
    "ARRAYJOIN": (
        1,
        2,
        from_values(lambda values, between=", ": text(between).join(text(item) for item in flatten(_list(values)))),
    ),
    "ARRAYUNIQUE": (1, 1, from_values(_unique)),
    "ARRAYCOMPACT": (1, 1, from_values(lambda values: [item for item in _list(values) if item not in (None, "")])),
    "ARRAYFLATTEN": (1, MAX_ARGUMENTS, from_values(lambda *values: list(flatten(values)))),
    "ARRAYSLICE": (2, 3, from_values(_slice)),
    "REGEX_MATCH": (2, 2, from_values(lambda value, pattern: _search_pattern(value, pattern) is not None)),
    "REGEX_EXTRACT": (2, 2, from_values(_extract)),
    "REGEX_REPLACE": (3, 3, from_values(_replace)),
}
