"""Observed changes of properties."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from connector_gateway.connectors.notes import value_casts, vendor_models
from connector_gateway.connectors.notes.mapping.properties import Schema

MAX_EVENT_TEXT = 10_000
"""Characters after which event texts are cut. Changes are still detected by the full text."""

Entry = Sequence[str]
"""The snapshot of a property value: its type, its text, and its identity if that is not the text."""


@dataclass(frozen=True, slots=True)
class Change:
    """A property whose value changed."""

    property_id: str
    name: str
    before: str
    after: str


def entries(page: vendor_models.Page) -> dict[str, Entry]:
    """Return the snapshots of a page's properties by id, without those that have a new page's value."""
    current = {property_id: entry(value) for property_id, value in observable(page)}
    return {
        property_id: value_entry
        for property_id, value_entry in current.items()
        if value_entry != _default_entry(value_entry[0], None)
    }


def observable(page: vendor_models.Page) -> Iterator[tuple[str, vendor_models.Value]]:
    """Yield the property values whose changes are observed, by their decoded ids."""
    return (
        (unquote(value.id), value)
        for value in page.properties.values()
        if value.type in value_casts.event_text.TEXT_CONVERTERS
    )


def entry(value: vendor_models.Value) -> Entry:
    """Return the snapshot of a property value."""
    text, mark = value_casts.event_text.text(value), value_casts.event_text.identity_text(value)
    short_text = text if len(text) <= MAX_EVENT_TEXT else text[:MAX_EVENT_TEXT] + "…"
    identity = mark if len(mark) <= MAX_EVENT_TEXT else hashlib.sha256(mark.encode()).hexdigest()
    return [value.type, short_text] if identity == short_text else [value.type, short_text, identity]


def changes(page: vendor_models.Page, previous: Mapping[str, Entry], schema: Schema) -> list[Change]:
    """Return the differences between the properties of a page and *previous*. A change of type does not count."""
    described = {unquote(item.id): item for item in schema.values()}
    names = {unquote(value.id): name for name, value in page.properties.items()}
    differences = []
    for property_id, value in observable(page):
        after = entry(value)
        before = previous.get(property_id) or _default_entry(value.type, described.get(property_id)) or after
        if before[0] == after[0] and before[-1] != after[-1]:
            differences.append(Change(property_id, names[property_id], before[1], after[1]))
    return differences


def _default_entry(kind: str, described: vendor_models.Property | None) -> Entry | None:
    """Return the snapshot of a property of a new page. A status is assumed to be its first option."""
    if kind == "status":
        choices = described and described.status
        return entry(vendor_models.Value(type=kind, status=choices.options[0])) if choices and choices.options else None
    return entry(vendor_models.Value(type=kind, checkbox=False))
