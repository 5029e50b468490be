"""Functions of formulas that take instants and days; told in UTC unless a zone is set."""

import calendar
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.tables import date_formats, times
from workspace_sandbox.tables.operands import (
    Formula,
    FormulaError,
    Function,
    Row,
    Zoned,
    applied,
    finite,
    known,
    like,
    misunderstood,
    moment,
    number,
    of,
    whole,
)
from workspace_sandbox.tables.operands import written as text

SECONDS = {"millisecond": 0.001, "second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
MONTHS = {"month": 1, "quarter": 3, "year": 12}
SHORT = {
    "ms": "millisecond",
    "s": "second",
    "m": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
    "M": "month",
    "Q": "quarter",
    "y": "year",
}
START = {"sunday": 6, "monday": 0}
WEEKEND = 5
FARTHEST = 40_000
"""Working days that are counted."""


def unit_of(given: Any) -> str:
    """The unit of a text, long or short."""
    name = SHORT.get(text(given)) or text(given).strip().lower().removesuffix("s")
    if name not in SECONDS and name not in MONTHS:
        raise misunderstood()
    return name


def _added(value: Any, count: Any, unit: Any) -> str:
    at, name = known(value), unit_of(unit)
    try:
        if name in SECONDS:
            return like(value, at + timedelta(seconds=finite(number(count)) * SECONDS[name]))
        return like(value, _months_later(at, whole(count) * MONTHS[name]))
    except (OverflowError, ValueError):
        raise FormulaError from None


def _months_later(at: datetime, months: int) -> datetime:
    """The same day, or the last one of a month that is shorter."""
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return at.replace(year=year, month=month + 1, day=min(at.day, last))


def _difference(left: Any, right: Any, unit: Any = "seconds") -> int:
    """How much the first is after the second, in whole units."""
    first, second, name = known(left), known(right), unit_of(unit)
    if name in SECONDS:
        return int(round((first - second).total_seconds(), 3) / SECONDS[name])
    return int(_months_between(first, second) / MONTHS[name])


def _months_between(first: datetime, second: datetime) -> int:
    """Months that are over between two instants; below 0 where the first is earlier."""
    if first < second:
        return -_months_between(second, first)
    months = (first.year - second.year) * 12 + first.month - second.month
    return months - (_months_later(second, months) > first)


def _begun(at: datetime, unit: str) -> tuple[int, ...]:
    """What two instants within one *unit* have in common."""
    if unit == "week":
        return tuple(date_formats.week_of(at.date(), START["sunday"]))
    if unit == "quarter":
        return at.year, (at.month - 1) // 3
    order = ("year", "month", "day", "hour", "minute", "second")
    parts = tuple(int(getattr(at, name)) for name in order)
    return parts[: order.index(unit) + 1] if unit in order else (*parts, at.microsecond // 1000)


def _same(left: Any, right: Any, unit: Any = "millisecond") -> bool:
    name = unit_of(unit)
    if moment(left) is None or moment(right) is None:
        return False
    return _begun(known(left), name) == _begun(known(right), name)


def _is_after(left: Any, right: Any) -> bool:
    first, second = moment(left), moment(right)
    return first is not None and second is not None and first > second


def _part(name: str) -> Callable[[Any], int | None]:
    """What takes a part of an instant as a number; of nothing it is nothing."""
    return lambda value: None if moment(value) is None else getattr(known(value), name)


def _weekday(value: Any, start: Any = "Sunday") -> int | None:
    """From 0 on, which is the day that weeks start with."""
    return None if moment(value) is None else (known(value).weekday() - _start(start)) % 7


def _week(value: Any, start: Any = "Sunday") -> int | None:
    return None if moment(value) is None else date_formats.week_of(known(value).date(), _start(start))[1]


def _start(given: Any) -> int:
    name = text(given).lower()
    if name not in START:
        raise misunderstood()
    return START[name]


def _holidays(given: Any) -> set[date]:
    days = (times.read_date(day.strip()) for day in text(given).split(","))
    return {date.fromisoformat(day) for day in days if day}


def _works(day: date, holidays: set[date]) -> bool:
    return day.weekday() < WEEKEND and day not in holidays


def _workday(value: Any, count: Any, holidays: Any = "") -> str:
    """The day that is so many working days later, or earlier below 0."""
    day, left, free = known(value).date(), whole(count), _holidays(holidays)
    if abs(left) > FARTHEST:
        raise FormulaError
    step = timedelta(days=1 if left > 0 else -1)
    while left:
        day += step
        left -= (1 if left > 0 else -1) if _works(day, free) else 0
    return day.isoformat()


def _workdays(first: Any, last: Any, holidays: Any = "") -> int:
    """Working days from the first to the last, both counted; below 0 where the last is earlier."""
    start, end, free = known(first).date(), known(last).date(), _holidays(holidays)
    if start > end:
        return -_workdays(last, first, holidays)
    if (end - start).days > FARTHEST * 7 // 5:
        raise FormulaError
    return sum(_works(start + timedelta(days=number), free) for number in range((end - start).days + 1))


def _parsed(value: Any, form: Any = None, locale: Any = None) -> str | None:
    del locale
    if not text(value):
        return None
    if form is None:
        return like(value, known(value))
    at = require(date_formats.parsed(text(value), text(form)), FormulaError)
    return like(None, at)


def _zoned(value: Any, zone: Any) -> str:
    known(value)
    if not times.is_zone(text(zone)):
        raise FormulaError
    return Zoned(text(value), text(zone))


def _formatted(value: Any, form: Any = date_formats.DEFAULT) -> str:
    return date_formats.formatted(known(value), text(form))


def _from_now(parts: list[Formula]) -> Formula:
    def told(row: Row) -> str:
        at = require(moment(parts[0](row)), FormulaError)
        return date_formats.told(abs(row.reader.now - at))

    return told


DATES: Mapping[str, Function] = {
    "DATEADD": (3, 3, of(_added)),
    "DATESTR": (1, 1, of(lambda value: _formatted(value, "YYYY-MM-DD"))),
    "TIMESTR": (1, 1, of(lambda value: _formatted(value, "HH:mm:ss"))),
    "DATETIME_DIFF": (2, 3, of(_difference)),
    "DATETIME_FORMAT": (1, 2, of(_formatted)),
    "DATETIME_PARSE": (1, 3, of(_parsed)),
    "FROMNOW": (1, 1, _from_now),
    "TONOW": (1, 1, _from_now),
    "IS_AFTER": (2, 2, of(_is_after)),
    "IS_BEFORE": (2, 2, of(lambda left, right: _is_after(right, left))),
    "IS_SAME": (2, 3, of(_same)),
    "YEAR": (1, 1, of(_part("year"))),
    "MONTH": (1, 1, of(_part("month"))),
    "DAY": (1, 1, of(_part("day"))),
    "HOUR": (1, 1, of(_part("hour"))),
    "MINUTE": (1, 1, of(_part("minute"))),
    "SECOND": (1, 1, of(_part("second"))),
    "WEEKDAY": (1, 2, of(_weekday)),
    "WEEKNUM": (1, 2, of(_week)),
    "WORKDAY": (2, 3, of(_workday)),
    "WORKDAY_DIFF": (2, 3, of(_workdays)),
    "SET_LOCALE": (2, 2, lambda parts: applied(lambda value, _: value, parts)),
    "SET_TIMEZONE": (2, 2, of(_zoned)),
    "NOW": (0, 0, lambda _: lambda row: times.written(row.reader.now)),
    "TODAY": (0, 0, lambda _: lambda row: times.written(row.reader.now)[:10]),
}
