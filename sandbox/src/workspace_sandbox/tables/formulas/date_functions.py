"""Formula functions on times and days. The zone is UTC unless a zone is set."""

import calendar
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta
from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.tables.data import dates
from workspace_sandbox.tables.formulas import date_formats
from workspace_sandbox.tables.formulas.values import (
    Formula,
    FormulaError,
    Function,
    Row,
    Zoned,
    apply,
    check_finite,
    epoch_seconds,
    format_like,
    from_values,
    require_datetime,
    syntax_error,
    to_int,
    to_number,
)
from workspace_sandbox.tables.formulas.values import to_text as text

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


def parse_unit(value: Any) -> str:
    """Return the unit named by a text, long or short."""
    name = ABBREVIATIONS.get(text(value)) or text(value).strip().lower().removesuffix("s")
    if name not in SECONDS and name not in MONTHS:
        raise syntax_error()
    return name


def _add(value: Any, count: Any, unit: Any) -> str:
    at, name = require_datetime(value), parse_unit(unit)
    try:
        if name in SECONDS:
            return format_like(value, at + timedelta(seconds=check_finite(to_number(count)) * SECONDS[name]))
        return format_like(value, _months_later(at, to_int(count) * MONTHS[name]))
    except (OverflowError, ValueError):
        raise FormulaError from None


def _months_later(at: datetime, months: int) -> datetime:
    """Add *months*. A day that does not exist in the month becomes its last day."""
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return at.replace(year=year, month=month + 1, day=min(at.day, last))


def _difference(left: Any, right: Any, unit: Any = "seconds") -> int:
    """Return the difference of two times in whole units."""
    first, second, name = require_datetime(left), require_datetime(right), parse_unit(unit)
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
        return tuple(date_formats.week_number(at.date(), WEEK_STARTS["sunday"]))
    if unit == "quarter":
        return at.year, (at.month - 1) // 3
    order = ("year", "month", "day", "hour", "minute", "second")
    parts = tuple(int(getattr(at, name)) for name in order)
    return parts[: order.index(unit) + 1] if unit in order else (*parts, at.microsecond // 1000)


def _same(left: Any, right: Any, unit: Any = "millisecond") -> bool:
    name = parse_unit(unit)
    if epoch_seconds(left) is None or epoch_seconds(right) is None:
        return False
    return _unit_components(require_datetime(left), name) == _unit_components(require_datetime(right), name)


def _is_after(left: Any, right: Any) -> bool:
    first, second = epoch_seconds(left), epoch_seconds(right)
    return first is not None and second is not None and first > second


def _part(name: str) -> Callable[[Any], int | None]:
    """Return a function that extracts a part of a time as a number, or None for an empty value."""
    return lambda value: None if epoch_seconds(value) is None else getattr(require_datetime(value), name)


def _weekday(value: Any, start: Any = "Sunday") -> int | None:
    """Return the weekday, counted from 0 for the first day of the week."""
    return None if epoch_seconds(value) is None else (require_datetime(value).weekday() - _start(start)) % 7


def _week(value: Any, start: Any = "Sunday") -> int | None:
    return (
        None
        if epoch_seconds(value) is None
        else date_formats.week_number(require_datetime(value).date(), _start(start))[1]
    )


def _start(value: Any) -> int:
    name = text(value).lower()
    if name not in WEEK_STARTS:
        raise syntax_error()
    return WEEK_STARTS[name]


def _holidays(value: Any) -> set[date]:
    days = (dates.parse_date(day.strip()) for day in text(value).split(","))
    return {date.fromisoformat(day) for day in days if day}


def _is_working_day(day: date, holidays: set[date]) -> bool:
    return day.weekday() < WEEKEND and day not in holidays


def _workday(value: Any, count: Any, holidays: Any = "") -> str:
    """Return the day *count* working days later, or earlier if negative."""
    day, remaining, holiday_dates = require_datetime(value).date(), to_int(count), _holidays(holidays)
    if abs(remaining) > MAX_WORKING_DAYS:
        raise FormulaError
    step = timedelta(days=1 if remaining > 0 else -1)
    while remaining:
        day += step
        remaining -= (1 if remaining > 0 else -1) if _is_working_day(day, holiday_dates) else 0
    return day.isoformat()


def _workdays(first: Any, last: Any, holidays: Any = "") -> int:
    """Count the working days from the first to the last inclusively, negative if the last is earlier."""
    start, end, holiday_dates = require_datetime(first).date(), require_datetime(last).date(), _holidays(holidays)
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
        return format_like(value, require_datetime(value))
    at = require(date_formats.parse_datetime(text(value), text(form)), FormulaError)
    return format_like(None, at)


def _set_zone(value: Any, zone: Any) -> str:
    require_datetime(value)
    if not dates.is_zone(text(zone)):
        raise FormulaError
    return Zoned(text(value), text(zone))


def _format(value: Any, form: Any = date_formats.DEFAULT) -> str:
    return date_formats.format_datetime(require_datetime(value), text(form))


def _from_now(parts: list[Formula]) -> Formula:
    def span(row: Row) -> str:
        at = require(epoch_seconds(parts[0](row)), FormulaError)
        return date_formats.format_span(abs(row.reader.now - at))

    return span


DATES: Mapping[str, Function] = {
    "DATEADD": (3, 3, from_values(_add)),
    "DATESTR": (1, 1, from_values(lambda value: _format(value, "YYYY-MM-DD"))),
    "TIMESTR": (1, 1, from_values(lambda value: _format(value, "HH:mm:ss"))),
    "DATETIME_DIFF": (2, 3, from_values(_difference)),
    "DATETIME_FORMAT": (1, 2, from_values(_format)),
    "DATETIME_PARSE": (1, 3, from_values(_parse)),
    "FROMNOW": (1, 1, _from_now),
    "TONOW": (1, 1, _from_now),
    "IS_AFTER": (2, 2, from_values(_is_after)),
    "IS_BEFORE": (2, 2, from_values(lambda left, right: _is_after(right, left))),
    "IS_SAME": (2, 3, from_values(_same)),
    "YEAR": (1, 1, from_values(_part("year"))),
    "MONTH": (1, 1, from_values(_part("month"))),
    "DAY": (1, 1, from_values(_part("day"))),
    "HOUR": (1, 1, from_values(_part("hour"))),
    "MINUTE": (1, 1, from_values(_part("minute"))),
    "SECOND": (1, 1, from_values(_part("second"))),
    "WEEKDAY": (1, 2, from_values(_weekday)),
    "WEEKNUM": (1, 2, from_values(_week)),
    "WORKDAY": (2, 3, from_values(_workday)),
    "WORKDAY_DIFF": (2, 3, from_values(_workdays)),
    "SET_LOCALE": (2, 2, lambda parts: apply(lambda value, _: value, parts)),
    "SET_TIMEZONE": (2, 2, from_values(_set_zone)),
    "NOW": (0, 0, lambda _: lambda row: dates.format_time(row.reader.now)),
    "TODAY": (0, 0, lambda _: lambda row: dates.format_time(row.reader.now)[:10]),
}
