"""Event texts of the values whose changes are observed."""

from collections.abc import Callable, Mapping
from typing import Any

from connector_gateway.connectors.notes import vendor_models
from connector_gateway.connectors.notes.value_casts.from_vendor import content, flag_text, place_texts, plain_text
from connector_gateway.connectors.notes.value_casts.write_comparison import comparison_key, sorted_ids
from connector_gateway.connectors.notes.vendor_models import Value
from connector_gateway.kit.casts import number_text


def text(value: Value) -> str:
    """Return a property value as one text, empty for an empty value. Accepts only the types of ``ONE_TEXT``."""
    payload = content(value)
    return "" if payload is None else TEXT_CONVERTERS[value.type](payload)


def identity_text(value: Value) -> str:
    """Return a text that changes only with the value: identifiers if names can change, otherwise its text."""
    if value.type not in RENAMABLE_TYPES:
        return text(value)
    key: str | list[str] = comparison_key(value) or ""
    return key if isinstance(key, str) else ",".join(key)


def _period(period: vendor_models.Period) -> str:
    zone = f"[{period.time_zone}]" if period.time_zone else ""
    return "/".join(f"{at}{zone}" for at in (period.start, period.end) if at)


def _place_text(place: vendor_models.Place) -> str:
    labels = ", ".join(filter(None, place_texts(place)))
    return f"{labels} ({number_text(place.lat)}, {number_text(place.lon)})".lstrip()


TEXT_CONVERTERS: Mapping[str, Callable[[Any], str]] = {
    "title": plain_text,
    "rich_text": plain_text,
    "number": number_text,
    "checkbox": flag_text,
    "select": lambda option: str(option.name),
    "status": lambda option: str(option.name),
    "multi_select": lambda options: ", ".join(option.name for option in options),
    "date": _period,
    "url": str,
    "email": str,
    "phone_number": str,
    "people": lambda users: ", ".join(user.name or user.id for user in users),
    "relation": lambda pages: ", ".join(sorted_ids(pages)),
    "files": lambda files: ", ".join((file.external.url if file.external else "") or file.name or "" for file in files),
    "place": _place_text,
}
"""Converters for the types whose changes are observed: those that people set and the vendor does not compute."""

RENAMABLE_TYPES = frozenset({"select", "status", "multi_select", "people"})
"""Types whose values can be renamed without a change of the property."""
