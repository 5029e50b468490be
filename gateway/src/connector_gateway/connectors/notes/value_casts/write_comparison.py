"""Comparison of a page's values with the values of a write."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from connector_gateway.connectors.notes import vendor_models
from connector_gateway.connectors.notes.value_casts.from_vendor import content, is_truncated, parse_date, plain_text
from connector_gateway.connectors.notes.value_casts.to_vendor import CASTS
from connector_gateway.connectors.notes.vendor_models import Value


def equals_written(value: Value, kind: str, written: Any) -> bool:
    """Return True if a property value of a page equals *written*, as far as the page includes it."""
    actual, expected = (comparison_key(value) if value.type == kind else None), written_comparison_key(kind, written)
    # A page includes 25 of them. Reading the others would cost a request per search.
    if kind in {"people", "relation"} and actual and is_truncated(value):
        return set(actual) <= set(expected or ())
    return bool(actual == expected)


def is_default(value: Value, status: str | None) -> bool:
    """Return True if a property value is that of a new page, whose *status* the vendor chooses.

    Values that cannot be written count as default.
    """
    payload = content(value)
    if value.type == "status" and payload is not None:
        return bool(payload.id == status)
    return value.type not in CASTS or payload is None or payload is False or payload == []


def comparison_key(value: Value) -> Any:
    """Return a value read from the vendor in a form that equals ``written_comparison_key`` of the same value."""
    payload = content(value)
    return None if payload is None else COMPARISON_KEYS.get(value.type, _unchanged)(payload)


def written_comparison_key(kind: str, written: Any) -> Any:
    """Return a written value in the form of ``comparison_key``."""
    return None if written is None else WRITTEN_COMPARISON_KEYS.get(kind, _unchanged)(written)


def _unchanged(value: Any) -> Any:
    return value


def _period_key(start: str, end: str | None, zone: str | None) -> tuple[Any, ...]:
    """Return the start and end as datetimes or dates, and the time zone."""
    return parse_date(start), None if end is None else parse_date(end), zone


def sorted_ids(items: Iterable[vendor_models.Reference | vendor_models.Option | vendor_models.User]) -> list[str]:
    """Return the identifiers in a value, sorted."""
    return sorted(item.id for item in items)


def _ids_written(written: Iterable[Mapping[str, str]]) -> list[str]:
    return sorted(item["id"] for item in written)


def written_text(written: Iterable[Mapping[str, Any]]) -> str:
    """Return the text of rich-text items in the form of a write."""
    return "".join(item["text"]["content"] for item in written)


COMPARISON_KEYS: Mapping[str, Callable[[Any], Any]] = {
    "title": plain_text,
    "rich_text": plain_text,
    "select": lambda option: option.id,
    "status": lambda option: option.id,
    "multi_select": sorted_ids,
    "people": sorted_ids,
    "relation": sorted_ids,
    "files": lambda files: [file.external.url if file.external else None for file in files],
    "date": lambda period: _period_key(period.start, period.end, period.time_zone),
    "place": lambda place: (place.lat, place.lon),
}

WRITTEN_COMPARISON_KEYS: Mapping[str, Callable[[Any], Any]] = {
    "title": written_text,
    "rich_text": written_text,
    "select": lambda written: written["id"],
    "status": lambda written: written["id"],
    "multi_select": _ids_written,
    "people": _ids_written,
    "relation": _ids_written,
    "files": lambda written: [item["external"]["url"] for item in written],
    "date": lambda written: _period_key(written["start"], written.get("end"), written.get("time_zone")),
    "place": lambda written: (written["lat"], written["lon"]),
}
