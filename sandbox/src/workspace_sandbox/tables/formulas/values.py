"""Values in formulas: conversions to numbers, text, booleans and times, and error propagation."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from workspace_sandbox.kit.clock import to_datetime
from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.tables.data import dates
from workspace_sandbox.tables.data.cell_values import Reader, value_to_text
from workspace_sandbox.tables.data.state import Record, Table
from workspace_sandbox.tables.error_responses import ApiError, invalid_formula


class FormulaError(Exception):
    """Raised if a formula cannot be computed. A filter excludes such a record."""


@dataclass(frozen=True, slots=True)
class Row:
    """The record on which a formula is evaluated."""

    reader: Reader
    table: Table
    record: Record


Formula = Callable[[Row], Any]
FunctionFactory = Callable[[list[Formula]], Formula]
Function = tuple[int, int, FunctionFactory]
"""The minimum and maximum number of arguments, and the factory of the function."""

MAX_ARGUMENTS = 1000


class Zoned(str):
    """A time as text, displayed in *zone*."""

    __slots__ = ("zone",)
    zone: str

    def __new__(cls, text: str, zone: str) -> Self:
        """Return the text with its zone."""
        zoned = super().__new__(cls, text)
        zoned.zone = zone
        return zoned


def syntax_error() -> ApiError:
    """Return the error of a formula that cannot be parsed."""
    return invalid_formula("Invalid formula. Please check your formula text.")


def from_values(work: Callable[..., Any]) -> FunctionFactory:
    """Return the factory of a function that applies *work* to values."""
    return lambda parts: apply(work, parts)


def apply(work: Callable[..., Any], parts: list[Formula]) -> Formula:
    """Apply *work* to the values of *parts*."""
    return lambda row: work(*(part(row) for part in parts))


def is_error(value: Any) -> bool:
    """Return True if a cell contains an error."""
    return isinstance(value, Mapping) and bool(set(value) & {"error", "specialValue"})


def is_true(value: Any) -> bool:
    """Return True if a value counts as true."""
    return bool(value) and not is_error(value)


def to_number(value: Any) -> float:
    """Convert a value to a number. Empty values and non-numeric text count as 0."""
    if isinstance(value, bool | int | float):
        return value
    try:
        return float(value_to_text(value) or 0)
    except ValueError:
        return 0


def to_int(value: Any) -> int:
    """Convert a value to an integer."""
    return int(check_finite(to_number(value)))


def check_finite(value: float) -> float:
    """Return the number. Infinity and NaN are errors."""
    if not math.isfinite(value):
        raise FormulaError
    return value


def to_text(value: Any) -> str:
    """Convert a value to text. Whole numbers have no decimal point."""
    return f"{value:.15g}" if isinstance(value, float) else value_to_text(value)


def collect_numbers(values: Iterable[Any]) -> list[float]:
    """Return the numbers among *values*, including nested lists."""
    return [value for value in flatten(values) if isinstance(value, int | float) and not isinstance(value, bool)]


def flatten(values: Iterable[Any]) -> Iterator[Any]:
    """Flatten nested lists."""
    for value in values:
        if isinstance(value, list):
            yield from flatten(value)
        else:
            yield value


def epoch_seconds(value: Any) -> float | None:
    """Return the epoch seconds of a time or day, or None. A list of one item counts as the item."""
    return dates.parse_time(value_to_text(value), "utc")


def require_datetime(value: Any) -> datetime:
    """Return the time of a value in its zone. Raises an error if it is not a time."""
    at = require(epoch_seconds(value), FormulaError)
    try:
        return to_datetime(at).astimezone(dates.zone(value.zone if isinstance(value, Zoned) else "utc"))
    except (OverflowError, ValueError):
        raise FormulaError from None


def format_like(value: Any, at: datetime) -> str:
    """Return *at* as text, in the zone of *value*."""
    try:
        text = dates.format_time(at.timestamp())
    except (OverflowError, ValueError):
        raise FormulaError from None
    return Zoned(text, value.zone) if isinstance(value, Zoned) else text
