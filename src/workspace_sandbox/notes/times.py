"""How the vendor writes instants and dates."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from workspace_sandbox.kit.clock import instant
from workspace_sandbox.notes import checks
from workspace_sandbox.notes.wire import invalid

DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?")
ZONE = re.compile(r"[A-Za-z]+([/_+-]?[A-Za-z0-9]+)*")
DAY_LENGTH = len("2026-10-05")


def minute(at: float) -> str:
    """An instant of a page, a block or a data source: floored to the minute."""
    # Notion's changelog says that page times are floored to the minute. Two edits within one cannot be told apart.
    return instant(at).strftime("%Y-%m-%dT%H:%M:00.000Z")


def exact(at: float) -> str:
    """An instant of a database: not floored, and with an offset."""
    # Databases kept the older form when pages went over to minutes, as recorded traffic shows.
    return instant(at).isoformat(timespec="milliseconds")


def event(at: float) -> str:
    """An instant of an event: not floored, and with a Z."""
    return exact(at).removesuffix("+00:00") + "Z"


def read(raw: Any, path: str) -> dict[str, Any] | None:
    """The date of a request, in the form it is answered in."""
    if raw is None:
        return None
    given = checks.obj(raw, path, "start", "end", "time_zone")
    zone = given.get("time_zone")
    if zone is not None and not ZONE.fullmatch(checks.string(zone, f"{path}.time_zone")):
        raise checks.unfit(f"{path}.time_zone", "a valid time zone", zone)
    start = _written(checks.need(given, "start", path), f"{path}.start", zone)
    end = given.get("end")
    end = None if end is None else _written(end, f"{path}.end", zone)
    if end is not None and moment(end) < moment(start):
        raise invalid("Invalid date range: the end date is before the start date.")
    return {"start": start, "end": end, "time_zone": zone}


def iso(raw: Any, path: str) -> str:
    """A date or date-time of a request, as it came."""
    if isinstance(raw, str) and (DAY.fullmatch(raw) or MOMENT.fullmatch(raw)):
        try:
            datetime.fromisoformat(raw)
        except ValueError:
            pass
        else:
            return raw
    raise checks.unfit(path, "a valid ISO 8601 date string", raw)


def moment(value: str) -> datetime:
    """*value* as an instant; a day begins at midnight UTC, and so does a time without an offset."""
    parsed = datetime.fromisoformat(value)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def order(value: str, operand: str) -> int:
    """Below, at or above 0, as *value* is before, at or after *operand*; a day is at all its times."""
    if len(operand) == DAY_LENGTH:
        day = value[:DAY_LENGTH]
        return (day > operand) - (day < operand)
    return (moment(value) > moment(operand)) - (moment(value) < moment(operand))


def _written(raw: Any, path: str, zone: str | None) -> str:
    value = iso(raw, path)
    if len(value) == DAY_LENGTH:
        return value
    parsed = datetime.fromisoformat(value)
    if zone is None:
        return moment(value).isoformat(timespec="milliseconds")
    # The zone already says the offset; Notion refuses to hear both, which might disagree.
    if parsed.tzinfo is not None:
        raise invalid(f"{path} should not have a UTC offset when time_zone is given.")
    return parsed.isoformat(timespec="milliseconds")


def _monday(day: datetime) -> datetime:
    return day - timedelta(days=day.weekday())


def within(window: str, value: str, now: float) -> bool:
    """Whether *value* lies in the relative *window*, counted in days around *now*."""
    today = instant(now).replace(hour=0, minute=0, second=0, microsecond=0)
    day = moment(value[:DAY_LENGTH])
    if window == "this_week":
        return _monday(day) == _monday(today)
    first, last = WINDOWS[window]
    return today + timedelta(days=first) <= day <= today + timedelta(days=last)


WINDOWS = {
    "past_week": (-7, 0),
    "past_month": (-30, 0),
    "past_year": (-365, 0),
    "this_week": (0, 0),
    "next_week": (0, 7),
    "next_month": (0, 30),
    "next_year": (0, 365),
}
