"""Values in formulas: as numbers, texts, truths and instants; and errors, which spread as the vendor's do."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from workspace_sandbox.kit.clock import instant
from workspace_sandbox.kit.refusals import require
from workspace_sandbox.tables import times
from workspace_sandbox.tables.state import Record, Table
from workspace_sandbox.tables.values import Reader, text_of
from workspace_sandbox.tables.wire import Refusal, invalid_formula


class FormulaError(Exception):
    """What a formula that cannot be computed ends in; no filter keeps such a record."""


@dataclass(frozen=True, slots=True)
class Row:
    """A record that a formula looks at."""

    reader: Reader
    table: Table
    record: Record


Formula = Callable[[Row], Any]
Made = Callable[[list[Formula]], Formula]
Function = tuple[int, int, Made]
"""The fewest and the most arguments, and what is made of them."""

MOST = 1000


class Zoned(str):
    """An instant as text, which is told in *zone*."""

    __slots__ = ("zone",)
    zone: str

    def __new__(cls, text: str, zone: str) -> Self:
        """The instant that *text* is."""
        made = super().__new__(cls, text)
        made.zone = zone
        return made


def misunderstood() -> Refusal:
    """A formula that is not understood."""
    return invalid_formula("Invalid formula. Please check your formula text.")


def of(work: Callable[..., Any]) -> Made:
    """What makes a function of *work*, which takes values."""
    return lambda parts: applied(work, parts)


def applied(work: Callable[..., Any], parts: list[Formula]) -> Formula:
    """*work* on the values of *parts*."""
    return lambda row: work(*(part(row) for part in parts))


def is_error(value: Any) -> bool:
    """Whether a cell shows an error."""
    return isinstance(value, Mapping) and bool(set(value) & {"error", "specialValue"})


def is_true(value: Any) -> bool:
    """Whether a value counts as true."""
    return bool(value) and not is_error(value)


def number(value: Any) -> float:
    """The number that a value is; nothing, and text that is none, count as 0."""
    if isinstance(value, bool | int | float):
        return value
    try:
        return float(text_of(value) or 0)
    except ValueError:
        return 0


def whole(value: Any) -> int:
    """The same as a whole number."""
    return int(finite(number(value)))


def finite(value: float) -> float:
    """The same number; what is none is an error."""
    if not math.isfinite(value):
        raise FormulaError
    return value


def written(value: Any) -> str:
    """A value as text; whole numbers without a point."""
    return f"{value:.15g}" if isinstance(value, float) else text_of(value)


def numbers(values: Iterable[Any]) -> list[float]:
    """The numbers among *values* and in the lists among them."""
    return [value for value in flat(values) if isinstance(value, int | float) and not isinstance(value, bool)]


def flat(values: Iterable[Any]) -> Iterator[Any]:
    """*values*, with what is in lists in place of the lists."""
    for value in values:
        if isinstance(value, list):
            yield from flat(value)
        else:
            yield value


def moment(value: Any) -> float | None:
    """The epoch seconds of a value that is an instant or a day; a list of one counts as its value."""
    return times.read_instant(text_of(value), "utc")


def known(value: Any) -> datetime:
    """The instant that a value is, in its zone; an error where it is none."""
    at = require(moment(value), FormulaError)
    try:
        return instant(at).astimezone(times.zone(value.zone if isinstance(value, Zoned) else "utc"))
    except (OverflowError, ValueError):
        raise FormulaError from None


def like(value: Any, at: datetime) -> str:
    """*at* as text, told in the zone of *value*."""
    try:
        text = times.written(at.timestamp())
    except (OverflowError, ValueError):
        raise FormulaError from None
    return Zoned(text, value.zone) if isinstance(value, Zoned) else text
