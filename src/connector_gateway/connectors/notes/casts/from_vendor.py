"""Conversion of property values to text."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from connector_gateway.connectors.notes import wire
from connector_gateway.connectors.notes.wire import Value
from connector_gateway.kit.casts import number_text
from connector_gateway.kit.errors import UpstreamUnexpected

TRUNCATED_AT = 25
"""The number of people, relations or mentions after which the vendor truncates a value within a page."""

DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?", re.ASCII)

KINDS = frozenset(Value.__struct_fields__) - {"type", "id", "has_more"}
"""The types whose values are decoded."""

LONG = frozenset({"people", "relation", "title", "rich_text"})
"""Types of which a page may include only a part."""


def content(value: Value) -> Any:
    """Return the content of a property value, or None if it is empty or has an unknown type."""
    return getattr(value, value.type) if value.type in KINDS else None


def texts(value: Value) -> list[str]:
    """Return all texts that a search can match for a property value."""
    held = content(value)
    return [] if held is None else [text for text in READS[value.type](held) if text]


def _as_it_is(held: str) -> list[str]:
    return [held]


def _period_texts(held: wire.Period) -> list[str]:
    start, end = (_zoned(text, held.time_zone) for text in (held.start, held.end or ""))
    return [start, f"{start}/{end}"] if end else [start]


def _zoned(text: str, zone: str | None) -> str:
    """Return a date's time with its offset, which the vendor omits if it sends the *zone* instead."""
    found = moment(text)
    if zone is None or not isinstance(found, datetime) or found.tzinfo is not None:
        return text
    try:
        # The vendor's time zones may be newer than this machine's database. Return the text unchanged then.
        return text + found.replace(tzinfo=ZoneInfo(zone)).isoformat()[-len("+00:00") :]
    except (ZoneInfoNotFoundError, ValueError):
        return text


def moment(text: str) -> date | datetime | None:
    """Parse a date, or a time with or without an offset. Return None if *text* is neither."""
    try:
        if not DATE.fullmatch(text):
            return None
        return date.fromisoformat(text) if len(text) == len("2026-11-02") else datetime.fromisoformat(text)
    except ValueError:
        return None


def _user_texts(held: wire.User) -> list[str]:
    return [held.name or "", held.id, (held.person and held.person.email) or ""]


def _file_texts(held: wire.File) -> list[str]:
    link = held.external or held.file
    return [held.name or "", link.url if link else ""]


def _unique_id_texts(held: wire.UniqueId) -> list[str]:
    if held.number is None:
        return []
    return [f"{held.prefix}-{held.number}", str(held.number)] if held.prefix else [str(held.number)]


def place_texts(held: wire.Place) -> list[str]:
    """Return the name and the address of a place, each empty if missing."""
    return [held.name or "", held.address or ""]


def _computed_texts(held: wire.Computed) -> list[str]:
    """Return the texts of the result of a formula or rollup."""
    found = [text for item in held.array for text in texts(item)]
    found += [] if held.string is None else [held.string]
    found += [] if held.number is None else [number_text(held.number)]
    found += [] if held.boolean is None else [flag_text(held.boolean)]
    return found + ([] if held.date is None else _period_texts(held.date))


def flag_text(held: bool) -> str:  # noqa: FBT001  # a vendor's value
    """Return a checkbox as text."""
    return "true" if held else "false"


def dates(value: Value) -> list[str]:
    """Return the texts of a value that are dates."""
    held = content(value)
    if held is None:
        return []
    if not isinstance(held, wire.Computed):
        return texts(value) if value.type in {"date", "created_time", "last_edited_time"} else []
    return [text for item in held.array for text in dates(item)] + (_period_texts(held.date) if held.date else [])


READS: Mapping[str, Callable[[Any], list[str]]] = {
    "title": lambda held: [plain_text(held)],
    "rich_text": lambda held: [plain_text(held)],
    "number": lambda held: [number_text(held)],
    "checkbox": lambda held: [flag_text(held)],
    "select": lambda held: [held.name],
    "status": lambda held: [held.name],
    "multi_select": lambda held: [option.name for option in held],
    "date": _period_texts,
    "url": _as_it_is,
    "email": _as_it_is,
    "phone_number": _as_it_is,
    "people": lambda held: [text for user in held for text in _user_texts(user)],
    "relation": lambda held: [page.id for page in held],
    "files": lambda held: [text for file in held for text in _file_texts(file)],
    "place": place_texts,
    "created_by": _user_texts,
    "last_edited_by": _user_texts,
    "created_time": _as_it_is,
    "last_edited_time": _as_it_is,
    "unique_id": _unique_id_texts,
    "formula": _computed_texts,
    "rollup": _computed_texts,
    "verification": lambda held: [held.state],
}


def truncated(value: Value) -> bool:
    """Return True if a page may include only part of a property value."""
    return value.type in LONG and (value.has_more or len(content(value) or ()) >= TRUNCATED_AT)


def completed(value: Value, items: Iterable[wire.Item]) -> Value:
    """Return a property value completed from its single items."""
    held = [getattr(item, value.type) for item in items]
    if None in held:
        raise UpstreamUnexpected(f"The application lists a value of type {value.type} without its items.")
    return msgspec.structs.replace(value, has_more=False, **{value.type: held})


def plain_text(items: Sequence[wire.RichText]) -> str:
    """Return the text of rich-text items."""
    return "".join(item.plain_text for item in items)
