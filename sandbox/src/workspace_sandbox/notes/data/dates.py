"""The vendor's formats of timestamps and dates."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from workspace_sandbox.kit.clock import to_datetime
from workspace_sandbox.notes import validation
from workspace_sandbox.notes.error_responses import invalid

DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?")
ZONE = re.compile(r"[A-Za-z]+([/_+-]?[A-Za-z0-9]+)*")
DAY_LENGTH = len("2026-10-05")


def format_page_time(at: float) -> str:
    """Return a timestamp of a page, block or data source, floored to the minute."""
    # Notion's changelog says that page times are floored to the minute, so two edits within one look simultaneous.
    return to_datetime(at).strftime("%Y-%m-%dT%H:%M:00.000Z")


def format_database_time(at: float) -> str:
    """Return a timestamp of a database, with milliseconds and an offset."""
    # Databases kept the older format when pages changed to minutes, as recorded traffic shows.
    return to_datetime(at).isoformat(timespec="milliseconds")


def format_event_time(at: float) -> str:
    """Return a timestamp of an event, with milliseconds and a Z."""
    return format_database_time(at).removesuffix("+00:00") + "Z"


def parse_date(raw: Any, path: str) -> dict[str, Any] | None:
    """Parse the date of a request into the format of responses."""
    if raw is None:
        return None
    fields = validation.obj(raw, path, "start", "end", "time_zone")
    zone = fields.get("time_zone")
    if zone is not None and not ZONE.fullmatch(validation.string(zone, f"{path}.time_zone")):
        raise validation.invalid_field(f"{path}.time_zone", "a valid time zone", zone)
    start = _normalise(validation.need(fields, "start", path), f"{path}.start", zone)
    end = fields.get("end")
    end = None if end is None else _normalise(end, f"{path}.end", zone)
    if end is not None and parse_datetime(end) < parse_datetime(start):
        raise invalid("Invalid date range: the end date is before the start date.")
    return {"start": start, "end": end, "time_zone": zone}


def check_iso(raw: Any, path: str) -> str:
    """Return a valid date or date-time of a request, unchanged."""
    if isinstance(raw, str) and (DAY.fullmatch(raw) or MOMENT.fullmatch(raw)):
        try:
            datetime.fromisoformat(raw)
        except ValueError:
            pass
        else:
            return raw
    raise validation.invalid_field(path, "a valid ISO 8601 date string", raw)


def parse_datetime(value: str) -> datetime:
    """Parse *value*. A day means midnight UTC, and a time without an offset is UTC."""
    parsed = datetime.fromisoformat(value)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)


def compare(value: str, operand: str) -> int:
    """Return -1, 0 or 1 if *value* is before, at or after *operand*. A day equals all of its times."""
    if len(operand) == DAY_LENGTH:
        day = value[:DAY_LENGTH]
        return (day > operand) - (day < operand)
    return (parse_datetime(value) > parse_datetime(operand)) - (parse_datetime(value) < parse_datetime(operand))


def _normalise(raw: Any, path: str, zone: str | None) -> str:
    value = check_iso(raw, path)
    if len(value) == DAY_LENGTH:
        return value
    parsed = datetime.fromisoformat(value)
    if zone is None:
        return parse_datetime(value).isoformat(timespec="milliseconds")
    # The zone determines the offset. Notion rejects both together, because they might disagree.
    if parsed.tzinfo is not None:
        raise invalid(f"{path} should not have a UTC offset when time_zone is given.")
    return parsed.isoformat(timespec="milliseconds")


def _monday(day: datetime) -> datetime:
    return day - timedelta(days=day.weekday())


def is_in_window(window: str, value: str, now: float) -> bool:
    """Return True if *value* lies in the relative *window* of days around *now*."""
    today = to_datetime(now).replace(hour=0, minute=0, second=0, microsecond=0)
    day = parse_datetime(value[:DAY_LENGTH])
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
