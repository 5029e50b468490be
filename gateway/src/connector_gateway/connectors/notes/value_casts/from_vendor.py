"""Conversion of property values to text."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from connector_gateway.connectors.notes import vendor_models
from connector_gateway.connectors.notes.vendor_models import Value
from connector_gateway.kit.casts import number_text
from connector_gateway.kit.errors import UpstreamUnexpected

TRUNCATED_AT = 25
"""The number of people, relations or mentions after which the vendor truncates a value within a page."""

DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?", re.ASCII)

KINDS = frozenset(Value.__struct_fields__) - {"type", "id", "has_more"}
"""The types whose values are decoded."""

TRUNCATABLE_TYPES = frozenset({"people", "relation", "title", "rich_text"})
"""Types of which a page may include only a part."""


def content(value: Value) -> Any:
    """Return the content of a property value, or None if it is empty or has an unknown type."""
    return getattr(value, value.type) if value.type in KINDS else None


def texts(value: Value) -> list[str]:
    """Return all texts that a search can match for a property value."""
    payload = content(value)
    return [] if payload is None else [text for text in TEXT_READERS[value.type](payload) if text]


def _single_text(value: str) -> list[str]:
    return [value]


def _period_texts(period: vendor_models.Period) -> list[str]:
    start, end = (_with_offset(text, period.time_zone) for text in (period.start, period.end or ""))
    return [start, f"{start}/{end}"] if end else [start]


def _with_offset(text: str, zone: str | None) -> str:
    """Return a date's time with its offset, which the vendor omits if it sends the *zone* instead."""
    parsed = parse_date(text)
    if zone is None or not isinstance(parsed, datetime) or parsed.tzinfo is not None:
        return text
    try:
        # The vendor's time zones may be newer than this machine's database. Return the text unchanged then.
        return text + parsed.replace(tzinfo=ZoneInfo(zone)).isoformat()[-len("+00:00") :]
    except (ZoneInfoNotFoundError, ValueError):
        return text


def parse_date(text: str) -> date | datetime | None:
    """Parse a date, or a time with or without an offset. Return None if *text* is neither."""
    try:
        if not DATE.fullmatch(text):
            return None
        return date.fromisoformat(text) if len(text) == len("2026-11-02") else datetime.fromisoformat(text)
    except ValueError:
        return None


def _user_texts(vendor_user: vendor_models.User) -> list[str]:
    return [vendor_user.name or "", vendor_user.id, (vendor_user.person and vendor_user.person.email) or ""]


def _file_texts(vendor_file: vendor_models.File) -> list[str]:
    link = vendor_file.external or vendor_file.file
    return [vendor_file.name or "", link.url if link else ""]


def _unique_id_texts(unique_id: vendor_models.UniqueId) -> list[str]:
    if unique_id.number is None:
        return []
    return (
        [f"{unique_id.prefix}-{unique_id.number}", str(unique_id.number)]
        if unique_id.prefix
        else [str(unique_id.number)]
    )


def place_texts(place: vendor_models.Place) -> list[str]:
    """Return the name and the address of a place, each empty if missing."""
    return [place.name or "", place.address or ""]


def _computed_texts(computed: vendor_models.Computed) -> list[str]:
    """Return the texts of the result of a formula or rollup."""
    results = [text for item in computed.array for text in texts(item)]
    results += [] if computed.string is None else [computed.string]
    results += [] if computed.number is None else [number_text(computed.number)]
    results += [] if computed.boolean is None else [flag_text(computed.boolean)]
    return results + ([] if computed.date is None else _period_texts(computed.date))


def flag_text(flag: bool) -> str:  # noqa: FBT001  # a vendor's value
    """Return a checkbox as text."""
    return "true" if flag else "false"


def dates(value: Value) -> list[str]:
    """Return the texts of a value that are dates."""
    payload = content(value)
    if payload is None:
        return []
    if not isinstance(payload, vendor_models.Computed):
        return texts(value) if value.type in {"date", "created_time", "last_edited_time"} else []
    return [text for item in payload.array for text in dates(item)] + (
        _period_texts(payload.date) if payload.date else []
    )


TEXT_READERS: Mapping[str, Callable[[Any], list[str]]] = {
    "title": lambda items: [plain_text(items)],
    "rich_text": lambda items: [plain_text(items)],
    "number": lambda number: [number_text(number)],
    "checkbox": lambda flag: [flag_text(flag)],
    "select": lambda option: [option.name],
    "status": lambda option: [option.name],
    "multi_select": lambda options: [option.name for option in options],
    "date": _period_texts,
    "url": _single_text,
    "email": _single_text,
    "phone_number": _single_text,
    "people": lambda users: [text for user in users for text in _user_texts(user)],
    "relation": lambda pages: [page.id for page in pages],
    "files": lambda files: [text for file in files for text in _file_texts(file)],
    "place": place_texts,
    "created_by": _user_texts,
    "last_edited_by": _user_texts,
    "created_time": _single_text,
    "last_edited_time": _single_text,
    "unique_id": _unique_id_texts,
    "formula": _computed_texts,
    "rollup": _computed_texts,
    "verification": lambda verification: [verification.state],
}


def is_truncated(value: Value) -> bool:
    """Return True if a page may include only part of a property value."""
    return value.type in TRUNCATABLE_TYPES and (value.has_more or len(content(value) or ()) >= TRUNCATED_AT)


def complete_value(value: Value, items: Iterable[vendor_models.Item]) -> Value:
    """Return a property value completed from its single items."""
    parts = [getattr(item, value.type) for item in items]
    if None in parts:
        raise UpstreamUnexpected(f"The vendor lists a value of type {value.type} without its items.")
    return msgspec.structs.replace(value, has_more=False, **{value.type: parts})


def plain_text(items: Sequence[vendor_models.RichText]) -> str:
    """Return the text of rich-text items."""
    return "".join(item.plain_text for item in items)
