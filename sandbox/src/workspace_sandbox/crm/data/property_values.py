"""Property values: validation and their stored form."""

import re
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import Any

from workspace_sandbox.kit.clock import format_timestamp, to_datetime

MAX_VALUE_LENGTH = 65_536
MILLISECONDS_A_DAY = 86_400_000
NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
EMAIL = re.compile(r"[^@\s,;<>\"]+@[\w-]+(\.[\w-]+)*\.[^\W\d_][\w-]+")
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
EPOCH = re.compile(r"-?\d+")


class InvalidValue(Exception):
    """A value is invalid for its property."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def milliseconds(text: str) -> float:
    """Return a date, a time or epoch milliseconds as epoch milliseconds. Raises ``ValueError`` for other text."""
    if EPOCH.fullmatch(text):
        # HubSpot also accepts dates and times as epoch milliseconds.
        return float(text)
    at = datetime.fromisoformat(text)
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000


def to_text(value: Any) -> str:
    """Return a JSON scalar as text. Raises ``TypeError`` for other values."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    # Every value is stored as text, and HubSpot does not add a ".0".
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError(type(value).__name__)


def normalise(kind: str, text: str) -> str:
    """Return *text* in the stored form of its type. Raises ``InvalidValue`` if it is invalid."""
    if len(text) > MAX_VALUE_LENGTH:
        raise InvalidValue("INVALID_LENGTH", f"Property value exceeds the maximum of {MAX_VALUE_LENGTH} characters.")
    return NORMALISERS[kind](text)


def normalise_email(text: str) -> str:
    """Return an email address in lower case and without surrounding spaces, as the vendor does."""
    address = text.strip().lower()
    if not EMAIL.fullmatch(address):
        raise InvalidValue("INVALID_EMAIL", f"Email address {text} is invalid")
    return address


def normalise_domain(text: str) -> str:
    """Return a domain in lower case without scheme, path and ``www.``."""
    bare = text.strip().lower().partition("://")[2] or text.strip().lower()
    return bare.partition("/")[0].removeprefix("www.").rstrip(".")


def normalise_options(text: str, allowed: Collection[str], *, many: bool, current: str | None) -> str:
    """Return one option, or several separated by ``;``. A leading ``;`` appends to *current*."""
    chosen = [value for value in text.split(";") if value] if many else [text]
    for value in chosen:
        if value not in allowed:
            raise InvalidValue("INVALID_OPTION", f"{value} was not one of the allowed options: [{', '.join(allowed)}]")
    if many and text.startswith(";") and current:
        chosen = [*current.split(";"), *chosen]
    return ";".join(dict.fromkeys(chosen))


def _number(text: str) -> str:
    if not NUMBER.fullmatch(text.strip()):
        raise InvalidValue("INVALID_INTEGER", f"{text} was not a valid number.")
    return text.strip()


def _boolean(text: str) -> str:
    return normalise_options(text.strip().lower(), ("true", "false"), many=False, current=None)


def _instant(text: str) -> str:
    return format_timestamp(_milliseconds(text) / 1000)


def _day(text: str) -> str:
    at = _milliseconds(text)
    if at % MILLISECONDS_A_DAY:
        raise InvalidValue("INVALID_DATE", f"{text} is at {to_datetime(at / 1000):%H:%M:%S} UTC, not midnight!")
    return format_timestamp(at / 1000)[:10]


def _milliseconds(text: str) -> float:
    try:
        at = milliseconds(text.strip())
        to_datetime(at / 1000)
    except (ValueError, OverflowError, OSError):
        raise InvalidValue("INVALID_LONG", f"{text} was not a valid long.") from None
    return at


NORMALISERS: Mapping[str, Callable[[str], str]] = {
    "string": str,
    "phone_number": str,
    "number": _number,
    "bool": _boolean,
    "date": _day,
    "datetime": _instant,
}
