"""The vendor's formats of times and dates."""

import re
from datetime import UTC, date, datetime, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from workspace_sandbox.kit.clock import to_datetime

DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


@lru_cache(maxsize=4096)
def format_time(seconds: float) -> str:
    """Return epoch *seconds* in UTC with milliseconds, ``2026-10-05T14:07:31.000Z``."""
    return to_datetime(seconds).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def parse_date(text: str) -> str | None:
    """Return *text* if it is a valid day in exactly that format."""
    if not DATE.fullmatch(text):
        return None
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return None


@lru_cache(maxsize=4096)
def parse_time(text: str, within: str) -> float | None:
    """Return the epoch seconds of an ISO time, to the millisecond. Without an offset it is in the zone *within*."""
    try:
        at = datetime.fromisoformat(text.strip())
        return round((at if at.tzinfo else at.replace(tzinfo=zone(within))).timestamp(), 3)
    except (ValueError, OverflowError):
        return None


def zone(name: str) -> tzinfo:
    """Return the time zone of a field. ``client`` is the caller's zone, which is UTC over the API."""
    try:
        return UTC if name in {"utc", "client"} else ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return UTC


def is_zone(name: str) -> bool:
    """Return True if the time zone exists."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
