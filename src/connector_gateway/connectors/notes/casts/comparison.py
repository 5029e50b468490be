"""Values of a page beside those that were written."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from connector_gateway.connectors.notes import wire
from connector_gateway.connectors.notes.casts.from_vendor import content, moment, plain_text, truncated
from connector_gateway.connectors.notes.casts.to_vendor import CASTS
from connector_gateway.connectors.notes.wire import Value


def equals_written(value: Value, kind: str, written: Any) -> bool:
    """Whether a property value of a page is what was *written*, as far as the page shows it."""
    held, wanted = (comparison_key(value) if value.type == kind else None), trace_written(kind, written)
    # A page shows 25 of them. The others would cost a request each time something is looked for.
    if kind in {"people", "relation"} and held and truncated(value):
        return set(held) <= set(wanted or ())
    return bool(held == wanted)


def is_default(value: Value, status: str | None) -> bool:
    """Whether a property value of a page is as on a new page, whose *status* the vendor chooses.

    What cannot be written is not looked at.
    """
    held = content(value)
    if value.type == "status" and held is not None:
        return bool(held.id == status)
    return value.type not in CASTS or held is None or held is False or held == []


def comparison_key(value: Value) -> Any:
    """A value that was read, in a form that is equal for the same value as written."""
    held = content(value)
    return None if held is None else TRACES.get(value.type, _same)(held)


def trace_written(kind: str, written: Any) -> Any:
    """The same form of a value that is written."""
    return None if written is None else WRITTEN_TRACES.get(kind, _same)(written)


def _same(held: Any) -> Any:
    return held


def _period_trace(start: str, end: str | None, zone: str | None) -> tuple[Any, ...]:
    """Return the start and end as instants or days, and the time zone."""
    return moment(start), None if end is None else moment(end), zone


def ids(held: Iterable[wire.Reference | wire.Option | wire.User]) -> list[str]:
    """The identifiers of what a value names, in one order."""
    return sorted(item.id for item in held)


def _ids_written(written: Iterable[Mapping[str, str]]) -> list[str]:
    return sorted(item["id"] for item in written)


def written_text(written: Iterable[Mapping[str, Any]]) -> str:
    """The text of rich-text items in the form in which they are written."""
    return "".join(item["text"]["content"] for item in written)


TRACES: Mapping[str, Callable[[Any], Any]] = {
    "title": plain_text,
    "rich_text": plain_text,
    "select": lambda held: held.id,
    "status": lambda held: held.id,
    "multi_select": ids,
    "people": ids,
    "relation": ids,
    "files": lambda held: [file.external.url if file.external else None for file in held],
    "date": lambda held: _period_trace(held.start, held.end, held.time_zone),
    "place": lambda held: (held.lat, held.lon),
}

WRITTEN_TRACES: Mapping[str, Callable[[Any], Any]] = {
    "title": written_text,
    "rich_text": written_text,
    "select": lambda written: written["id"],
    "status": lambda written: written["id"],
    "multi_select": _ids_written,
    "people": _ids_written,
    "relation": _ids_written,
    "files": lambda written: [item["external"]["url"] for item in written],
    "date": lambda written: _period_trace(written["start"], written.get("end"), written.get("time_zone")),
    "place": lambda written: (written["lat"], written["lon"]),
}
