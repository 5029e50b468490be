"""Searches: vendor filters and matching."""

from datetime import UTC, datetime
from typing import Any

from connector_gateway.connectors.notes import value_casts, vendor_models
from connector_gateway.kit.casts import to_json_number
from connector_gateway.kit.errors.suggestions import closest_match


def matches(value: vendor_models.Value, query: str, match: str) -> bool:
    """Return True if a property value equals (``exact``) or contains (``contains``) the trimmed text *query*."""
    candidates = [text.strip() for text in value_casts.from_vendor.texts(value)]
    if not query:
        return match == "contains" or not any(candidates)
    if match == "contains":
        return any(query in text for text in candidates)
    return any(texts_match(value.type, text, query) for text in candidates) or any(
        _same_period(text, query) for text in value_casts.from_vendor.dates(value)
    )


def texts_match(kind: str, text: str, query: str) -> bool:
    """Return True if two texts are equal: numbers by value, identifiers without dashes, others by character."""
    if text == query:
        return True
    if kind in {"number", "formula", "rollup"}:
        return _numerically_equal(text, query)
    if kind in {"people", "relation", "created_by", "last_edited_by"}:
        return text.replace("-", "").lower() == query.replace("-", "").lower()
    return False


def _same_period(text: str, query: str) -> bool:
    ours, theirs = query.split("/"), text.split("/")
    return len(ours) == len(theirs) and all(map(_same_moment, theirs, ours))


def _same_moment(text: str, query: str) -> bool:
    """Return True if a vendor's date or time equals the time *query*, or lies on the day *query*."""
    vendor_time, query_time = value_casts.from_vendor.parse_date(text), value_casts.from_vendor.parse_date(query)
    if vendor_time is None or query_time is None:
        return False
    if not isinstance(query_time, datetime):
        return (vendor_time.date() if isinstance(vendor_time, datetime) else vendor_time) == query_time
    return isinstance(vendor_time, datetime) and _in_utc(vendor_time) == _in_utc(query_time)


def _in_utc(moment: datetime) -> datetime:
    """Return a datetime with an offset, reading naive ones as UTC."""
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _numerically_equal(text: str, query: str) -> bool:
    try:
        return to_json_number(text) == to_json_number(query)
    except ValueError:
        return False


def search_filter(described: vendor_models.Property, query: str, match: str) -> dict[str, Any] | None:
    """Return a vendor's filter that includes all matches, to read fewer rows, or None if there is none."""
    kind = described.type
    condition: dict[str, Any] | None = None
    if query and kind in {"title", "rich_text", "url", "email", "phone_number"}:
        condition = {"contains": query}
    elif match == "exact" and kind in {"select", "status", "multi_select"}:
        is_option = query in {option.name for option in value_casts.to_vendor.options(described)}
        condition = {"contains" if kind == "multi_select" else "equals": query} if is_option else None
    elif match == "exact" and kind == "checkbox" and query in {"true", "false"}:
        condition = {"equals": query == "true"}
    elif match == "exact" and kind == "number":
        condition = _equal_number(query)
    return None if condition is None else {"property": described.id, kind: condition}


def _equal_number(query: str) -> dict[str, Any] | None:
    try:
        return {"equals": to_json_number(query)}
    except ValueError:
        return None


def cannot_match(described: vendor_models.Property, query: str, match: str) -> bool:
    """Return True if no row can match, so that none is read."""
    kind = described.type
    if match == "contains" or not query:
        return False
    if kind in {"select", "status", "multi_select"}:
        return all(option.name.strip() != query for option in value_casts.to_vendor.options(described))
    return (kind == "checkbox" and query not in {"true", "false"}) or (
        kind == "number" and _equal_number(query) is None
    )


def no_such_option(described: vendor_models.Property, query: str, match: str) -> str | None:
    """Return the warning that no row can match because *query* is not an option, or None if it may be one."""
    if match != "exact" or not query or described.type not in {"select", "status", "multi_select"}:
        return None
    names = [option.name.strip() for option in value_casts.to_vendor.options(described)]
    if query in names:
        return None
    suggestion = closest_match(query, names)
    return f'"{query}" is not an option of "{described.name}"' + (
        f'; did you mean "{suggestion}"?' if suggestion else "."
    )
