"""Formula functions on times and days. The zone is UTC unless a zone is set."""

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
ABBREVIATIONS = {
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
WEEK_STARTS = {"sunday": 6, "monday": 0}
WEEKEND = 5
MAX_WORKING_DAYS = 40_000
"""The maximum number of working days to count."""


def unit_of(value: Any) -> str:
    """Return the unit named by a text, long or short."""
    name = ABBREVIATIONS.get(text(value)) or text(value).strip().lower().removesuffix("s")
    if name not in SECONDS and name not in MONTHS:
        raise misunderstood()
    return name


def _add(value: Any, count: Any, unit: Any) -> str:
    at, name = known(value), unit_of(unit)
    try:
        if name in SECONDS:
            return like(value, at + timedelta(seconds=finite(number(count)) * SECONDS[name]))
        return like(value, _months_later(at, whole(count) * MONTHS[name]))
    except (OverflowError, ValueError):
        raise FormulaError from None


def _months_later(at: datetime, months: int) -> datetime:
    """Add *months*. A day that does not exist in the month becomes its last day."""
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return at.replace(year=year, month=month + 1, day=min(at.day, last))


def _difference(left: Any, right: Any, unit: Any = "seconds") -> int:
    """Return the difference of two times in whole units."""
    first, second, name = known(left), known(right), unit_of(unit)
    if name in SECONDS:
        return int(round((first - second).total_seconds(), 3) / SECONDS[name])
    return int(_months_between(first, second) / MONTHS[name])


def _months_between(first: datetime, second: datetime) -> int:
    """Return the number of complete months between two times, negative if the first is earlier."""
    if first < second:
        return -_months_between(second, first)
    months = (first.year - second.year) * 12 + first.month - second.month
    return months - (_months_later(second, months) > first)


def _unit_components(at: datetime, unit: str) -> tuple[int, ...]:
    """Return the components that two times in the same *unit* share."""
    if unit == "week":
        return tuple(date_formats.week_of(at.date(), WEEK_STARTS["sunday"]))
    if unit == "quarter":
        return at.year, (at.month - 1) // 3
    order = ("year", "month", "day", "hour", "minute", "second")
    parts = tuple(int(getattr(at, name)) for name in order)
    return parts[: order.index(unit) + 1] if unit in order else (*parts, at.microsecond // 1000)


def _same(left: Any, right: Any, unit: Any = "millisecond") -> bool:
    name = unit_of(unit)
    if moment(left) is None or moment(right) is None:
        return False
    return _unit_components(known(left), name) == _unit_components(known(right), name)


def _is_after(left: Any, right: Any) -> bool:
    first, second = moment(left), moment(right)
    return first is not None and second is not None and first > second


def _part(name: str) -> Callable[[Any], int | None]:
    """Return a function that extracts a part of a time as a number, or None for an empty value."""
    return lambda value: None if moment(value) is None else getattr(known(value), name)


def _weekday(value: Any, start: Any = "Sunday") -> int | None:
    """Return the weekday, counted from 0 for the first day of the week."""
    return None if moment(value) is None else (known(value).weekday() - _start(start)) % 7


def _week(value: Any, start: Any = "Sunday") -> int | None:
    return None if moment(value) is None else date_formats.week_of(known(value).date(), _start(start))[1]


def _start(value: Any) -> int:
    name = text(value).lower()
    if name not in WEEK_STARTS:
        raise misunderstood()
    return WEEK_STARTS[name]


def _holidays(value: Any) -> set[date]:
    days = (times.read_date(day.strip()) for day in text(value).split(","))
    return {date.fromisoformat(day) for day in days if day}


def _is_working_day(day: date, holidays: set[date]) -> bool:
    return day.weekday() < WEEKEND and day not in holidays


def _workday(value: Any, count: Any, holidays: Any = "") -> str:
    """Return the day *count* working days later, or earlier if negative."""
    day, remaining, holiday_dates = known(value).date(), whole(count), _holidays(holidays)
    if abs(remaining) > MAX_WORKING_DAYS:
        raise FormulaError
    step = timedelta(days=1 if remaining > 0 else -1)
    while remaining:
        day += step
        remaining -= (1 if remaining > 0 else -1) if _is_working_day(day, holiday_dates) else 0
    return day.isoformat()


def _workdays(first: Any, last: Any, holidays: Any = "") -> int:
    """Count the working days from the first to the last inclusively, negative if the last is earlier."""
    start, end, holiday_dates = known(first).date(), known(last).date(), _holidays(holidays)
    if start > end:
        return -_workdays(last, first, holidays)
    if (end - start).days > MAX_WORKING_DAYS * 7 // 5:
        raise FormulaError
    return sum(
        _is_working_day(start + timedelta(days=number), holiday_dates) for number in range((end - start).days + 1)
    )


def _parse(value: Any, form: Any = None, locale: Any = None) -> str | None:
    del locale
    if not text(value):
        return None
    if form is None:
        return like(value, known(value))
    at = require(date_formats.parsed(text(value), text(form)), FormulaError)
    return like(None, at)


def _set_zone(value: Any, zone: Any) -> str:
    known(value)
    if not times.is_zone(text(zone)):
        raise FormulaError
    return Zoned(text(value), text(zone))


def _format(value: Any, form: Any = date_formats.DEFAULT) -> str:
    return date_formats.formatted(known(value), text(form))


def _from_now(parts: list[Formula]) -> Formula:
    def span(row: Row) -> str:
        at = require(moment(parts[0](row)), FormulaError)
        return date_formats.told(abs(row.reader.now - at))

    return span


DATES: Mapping[str, Function] = {
    "DATEADD": (3, 3, of(_add)),
    "DATESTR": (1, 1, of(lambda value: _format(value, "YYYY-MM-DD"))),
    "TIMESTR": (1, 1, of(lambda value: _format(value, "HH:mm:ss"))),
    "DATETIME_DIFF": (2, 3, of(_difference)),
    "DATETIME_FORMAT": (1, 2, of(_format)),
    "DATETIME_PARSE": (1, 3, of(_parse)),
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
    "SET_TIMEZONE": (2, 2, of(_set_zone)),
    "NOW": (0, 0, lambda _: lambda row: times.written(row.reader.now)),
    "TODAY": (0, 0, lambda _: lambda row: times.written(row.reader.now)[:10]),
}
