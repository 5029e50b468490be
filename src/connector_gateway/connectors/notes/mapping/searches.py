"""Searches: vendor filters and matching."""

from datetime import UTC, datetime
from typing import Any

from connector_gateway.connectors.notes import casts, wire
from connector_gateway.kit.casts import json_number
from connector_gateway.kit.errors.suggestions import closest_match


def matches(value: wire.Value, wanted: str, match: str) -> bool:
    """Return True if a property value equals (``exact``) or contains (``contains``) the trimmed text *wanted*."""
    found = [text.strip() for text in casts.from_vendor.texts(value)]
    if not wanted:
        return match == "contains" or not any(found)
    if match == "contains":
        return any(wanted in text for text in found)
    return any(same(value.type, text, wanted) for text in found) or any(
        _same_period(text, wanted) for text in casts.from_vendor.dates(value)
    )


def same(kind: str, text: str, wanted: str) -> bool:
    """Return True if two texts are equal: numbers by value, identifiers without dashes, others by character."""
    if text == wanted:
        return True
    if kind in {"number", "formula", "rollup"}:
        return _numerically_equal(text, wanted)
    if kind in {"people", "relation", "created_by", "last_edited_by"}:
        return text.replace("-", "").lower() == wanted.replace("-", "").lower()
    return False


def _same_period(text: str, wanted: str) -> bool:
    ours, theirs = wanted.split("/"), text.split("/")
    return len(ours) == len(theirs) and all(map(_same_moment, theirs, ours))


def _same_moment(text: str, wanted: str) -> bool:
    """Return True if a vendor's date or time equals the time *wanted*, or lies on the day *wanted*."""
    found, sought = casts.from_vendor.moment(text), casts.from_vendor.moment(wanted)
    if found is None or sought is None:
        return False
    if not isinstance(sought, datetime):
        return (found.date() if isinstance(found, datetime) else found) == sought
    return isinstance(found, datetime) and _in_utc(found) == _in_utc(sought)


def _in_utc(moment: datetime) -> datetime:
    """Return a datetime with an offset, reading naive ones as UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _numerically_equal(text: str, wanted: str) -> bool:
    try:
        return json_number(text) == json_number(wanted)
    except ValueError:
        return False


def search_filter(described: wire.Property, wanted: str, match: str) -> dict[str, Any] | None:
    """Return a vendor's filter that includes all matches, to read fewer rows, or None if there is none."""
    kind = described.type
    condition: dict[str, Any] | None = None
    if wanted and kind in {"title", "rich_text", "url", "email", "phone_number"}:
        condition = {"contains": wanted}
    elif match == "exact" and kind in {"select", "status", "multi_select"}:
        known = wanted in {option.name for option in casts.to_vendor.options(described)}
        condition = {"contains" if kind == "multi_select" else "equals": wanted} if known else None
    elif match == "exact" and kind == "checkbox" and wanted in {"true", "false"}:
        condition = {"equals": wanted == "true"}
    elif match == "exact" and kind == "number":
        condition = _equal_number(wanted)
    return None if condition is None else {"property": described.id, kind: condition}


def _equal_number(wanted: str) -> dict[str, Any] | None:
    try:
        return {"equals": json_number(wanted)}
    except ValueError:
        return None


def cannot_match(described: wire.Property, wanted: str, match: str) -> bool:
    """Return True if no row can match, so that none is read."""
    kind = described.type
    if match == "contains" or not wanted:
        return False
    if kind in {"select", "status", "multi_select"}:
        return all(option.name.strip() != wanted for option in casts.to_vendor.options(described))
    return (kind == "checkbox" and wanted not in {"true", "false"}) or (
        kind == "number" and _equal_number(wanted) is None
    )


def no_such_option(described: wire.Property, wanted: str, match: str) -> str | None:
    """Return the warning that no row can match because *wanted* is not an option, or None if it may be one."""
    if match != "exact" or not wanted or described.type not in {"select", "status", "multi_select"}:
        return None
    names = [option.name.strip() for option in casts.to_vendor.options(described)]
    if wanted in names:
        return None
    likely = closest_match(wanted, names)
    return f'"{wanted}" is not an option of "{described.name}"' + (f'; did you mean "{likely}"?' if likely else ".")
