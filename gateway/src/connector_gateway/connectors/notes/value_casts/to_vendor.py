"""Lossless conversion to the vendor's form."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import SplitResult, urlsplit
from uuid import UUID

from connector_gateway.connectors.notes import vendor_models
from connector_gateway.connectors.notes.value_casts.from_vendor import parse_date
from connector_gateway.connectors.notes.vendor_models import Property
from connector_gateway.kit import casts
from connector_gateway.kit.errors import SelectOptionMissing, UpstreamUnexpected
from connector_gateway.kit.models import NO_OFFSET

TEXT_PART = 1900
"""UTF-16 units per rich-text item.

The vendor's limit is 2,000 in an unspecified unit. Its JavaScript suggests UTF-16.
"""

MAX_PARTS = 100
MAX_TEXT = 2000
MAX_CONTACT = 200
MAX_ITEMS = 100

LIST_SEPARATOR = ", "
"""The separator between several values in the text of an event."""

_ZONED = re.compile(r"([^\[\]]+)\[([A-Za-z0-9_+/-]+)\]")
_PERIOD = re.compile(r"([^/\[\]]*(?:\[[^\[\]]*\])?)/(.*)", re.DOTALL)
"""Two dates separated by a slash. A time zone's name in brackets may contain a slash too."""

_BETWEEN_URLS = re.compile(r", (?=https?://)")
_PLACE = re.compile(r"(.*?) ?\((-?[0-9.]+), (-?[0-9.]+)\)")
_FINER = re.compile(r"[.,]\d{6}0*[1-9]")
"""Digits finer than a microsecond, which parsing would drop."""


def cast(name: str, described: Property, value: Any) -> Any:
    """Return the vendor's form of *value* for the property *described*.

    Raises ``LossyCast`` if it would lose data.
    Null restores the value of a new page: empty, an unchecked checkbox, the default status.
    """
    kind = described.type
    if value is None:
        empty = EMPTY_VALUES.get(kind)
        return list(empty) if isinstance(empty, tuple) else empty
    return casts.convert("property", name, kind, value, lambda: CASTS[kind](described, value))


def _text(_: Property, value: Any) -> list[dict[str, Any]]:
    return rich_text(casts.text(value))


def _select(described: Property, value: Any) -> dict[str, str]:
    # By identifier: with a name that was just changed, the vendor would add an option.
    return {"id": _options(described, [casts.check_string(value, "it is not an option's name")])[0]}


def _multi_select(described: Property, value: Any) -> list[dict[str, str]]:
    names = {option.name for option in options(described)}
    # Option names have no commas, so several names in one text, as in events, can be separated.
    requested = (
        value.split(LIST_SEPARATOR)
        if isinstance(value, str) and value not in names
        else casts.to_strings(value, MAX_ITEMS)
    )
    return [{"id": uid} for uid in _options(described, list(dict.fromkeys(requested)))]


def _options(described: Property, requested: Sequence[str]) -> list[str]:
    """Return the identifiers of the named options. Raises ``SelectOptionMissing`` with all unknown names."""
    ids_by_name = {option.name: option.id for option in options(described)}
    missing = [name for name in requested if name not in ids_by_name]
    if missing:
        raise casts.create_missing_options_error(SelectOptionMissing, "property", described.name, missing, ids_by_name)
    return [ids_by_name[name] for name in requested]


def options(described: Property) -> Sequence[vendor_models.Option]:
    """Return the options of a select, multi-select or status."""
    choices: vendor_models.Choices | None = getattr(described, described.type)
    if choices is None:
        raise UpstreamUnexpected(f'The vendor describes "{described.name}" without its options.')
    return choices.options


def _date(_: Property, value: Any) -> dict[str, str]:
    start, end = _period(value)
    zoned = _ZONED.fullmatch(start.strip())
    if zoned is not None:
        return _zoned_date(zoned, end)
    first = {"start": iso_date(start.strip())}
    if end is None:
        return first
    period = {**first, "end": iso_date(end.strip())}
    _check_order(period)
    return period


def _zoned_date(start: re.Match[str], end: str | None) -> dict[str, str]:
    """Return a date with its time zone's name, which events append in brackets."""
    period = {"start": _local_time(start[1]), "time_zone": start[2]}
    if end is None:
        return period
    last = _ZONED.fullmatch(end.strip())
    if last is None or last[2] != start[2]:
        raise casts.UnfitValue("its start and end should have the same time zone")
    period["end"] = _local_time(last[1])
    _check_order(period)
    return period


def _local_time(text: str) -> str:
    parsed = parse_date(text)
    if not isinstance(parsed, datetime) or parsed.tzinfo is not None:
        raise casts.UnfitValue("a time zone in brackets should follow a date and time without an offset")
    return text


def _check_order(period: Mapping[str, str]) -> None:
    begins, ends = parse_date(period["start"]), parse_date(period["end"])
    if isinstance(begins, datetime) != isinstance(ends, datetime):
        raise casts.UnfitValue("its start and end should both have a time, or neither")
    if begins is not None and ends is not None and begins > ends:
        raise casts.UnfitValue("its end is before its start")


def _period(value: Any) -> tuple[str, str | None]:
    """Return the start and end of a date, given as a text, two texts separated by a slash, or an object."""
    if isinstance(value, str):
        period = _PERIOD.fullmatch(value)
        return (period[1], period[2]) if period else (value, None)
    if isinstance(value, dict) and {"start"} <= value.keys() <= {"start", "end"}:
        start, end = value["start"], value.get("end")
        if isinstance(start, str) and isinstance(end, str | None):
            return start, end
    raise casts.UnfitValue("it is neither an ISO 8601 date nor an object with start and, optionally, end")


def iso_date(text: str) -> str:
    """Return *text* if it is an ISO 8601 date, or a date and time with an offset.

    Raises ``ValueError`` otherwise.
    """
    parsed = parse_date(text)
    if parsed is None:
        raise casts.UnfitValue(casts.NOT_A_DATETIME)
    # The vendor would read it as UTC, which the caller may not have meant.
    if isinstance(parsed, datetime) and parsed.tzinfo is None:
        raise casts.UnfitValue(NO_OFFSET)
    if isinstance(parsed, datetime) and _FINER.search(text):
        raise casts.UnfitValue("the vendor stores milliseconds only")
    return (casts.check_milliseconds(parsed) if isinstance(parsed, datetime) else parsed).isoformat()


def _contact(_: Property, value: Any) -> str:
    return _bounded(value, MAX_CONTACT)


def _identifiers(_: Property, value: Any) -> list[dict[str, str]]:
    requested = value.split(LIST_SEPARATOR) if isinstance(value, str) else casts.to_strings(value, MAX_ITEMS)
    return [{"id": uid} for uid in dict.fromkeys(map(_uuid, casts.to_strings(requested, MAX_ITEMS)))]


def is_identifier(text: str) -> bool:
    """Return True if *text* has the form of an identifier."""
    try:
        _uuid(text)
    except ValueError:
        return False
    return True


def _uuid(text: str) -> str:
    try:
        return str(UUID(text.strip()))
    except ValueError as error:
        raise casts.UnfitValue("it is not an identifier") from error


def _files(_: Property, value: Any) -> list[dict[str, Any]]:
    urls = _BETWEEN_URLS.split(value) if isinstance(value, str) else casts.to_strings(value, MAX_ITEMS)
    return [_file(text) for text in urls]


def _file(text: str) -> dict[str, Any]:
    parts = _split(text)
    if parts is None or parts.scheme not in {"http", "https"} or not parts.netloc or _units(text) > MAX_TEXT:
        raise casts.UnfitValue("it is not an http or https URL")
    name = parts.path.rpartition("/")[2] or parts.netloc
    return {"name": name[:MAX_ITEMS], "type": "external", "external": {"url": text}}


def _split(text: str) -> SplitResult | None:
    try:
        return urlsplit(text)
    except ValueError:
        return None


def _place(_: Property, value: Any) -> dict[str, Any]:
    place = _parse_place(value) if isinstance(value, str) else value
    if not isinstance(place, dict) or not {"lat", "lon"} <= place.keys() <= {"lat", "lon", "name", "address"}:
        raise casts.UnfitValue("it is not an object with lat, lon and, optionally, name and address")
    if not all(isinstance(place.get(name), str | None) for name in ("name", "address")):
        raise casts.UnfitValue("its name and address should be text")
    return {**place, "lat": casts.to_json_number(place["lat"]), "lon": casts.to_json_number(place["lon"])}


def _parse_place(text: str) -> dict[str, Any]:
    """Parse a place from a text such as "Lisbon (38.7, -9.1)", the form of events."""
    match = _PLACE.fullmatch(text.strip())
    # With both parts present, the end of the name is ambiguous.
    if match is None or LIST_SEPARATOR in match[1]:
        raise casts.UnfitValue("it is not an object with lat, lon and, optionally, name and address")
    return {"lat": match[2], "lon": match[3]} | ({"name": match[1]} if match[1] else {})


CASTS: Mapping[str, Callable[[Property, Any], Any]] = {
    "title": _text,
    "rich_text": _text,
    "number": lambda _, value: casts.to_json_number(value),
    "checkbox": lambda _, value: casts.to_bool(value),
    "select": _select,
    "status": _select,
    "multi_select": _multi_select,
    "date": _date,
    "url": lambda _, value: _bounded(value, MAX_TEXT),
    "email": _contact,
    "phone_number": _contact,
    "people": _identifiers,
    "relation": _identifiers,
    "files": _files,
    "place": _place,
}

EMPTY_VALUES: Mapping[str, Any] = {
    **dict.fromkeys(("title", "rich_text", "multi_select", "people", "relation", "files"), ()),
    "checkbox": False,
}
"""The form of null by type, if it is not null. For a status, null means its default."""


def _bounded(value: Any, max_units: int) -> str:
    text = casts.check_string(value, "it is not text")
    if not text or _units(text) > max_units:
        raise casts.UnfitValue(f"it should have 1 to {max_units} characters")
    return text


def _units(text: str) -> int:
    """Return the length of *text* in UTF-16 units, as JavaScript counts."""
    return len(text.encode("utf-16-le")) // 2


def rich_text(text: str) -> list[dict[str, Any]]:
    """Split *text* into rich-text items within the vendor's limit."""
    parts = [text] if 0 < len(text) <= TEXT_PART // 2 else list(_parts(text.encode("utf-16-le")))
    if len(parts) > MAX_PARTS:
        raise casts.UnfitValue(f"it is longer than {TEXT_PART * MAX_PARTS} characters")
    return [{"type": "text", "text": {"content": part}} for part in parts]


def _parts(units: bytes) -> Iterator[str]:
    """Yield pieces of a text, cut between complete characters."""
    start = 0
    while start < len(units):
        end = start + 2 * TEXT_PART
        # A cut here would split an emoji and lose both halves.
        if units[end - 1 : end] and 0xD8 <= units[end - 1] < 0xDC:
            end -= 2
        yield units[start:end].decode("utf-16-le")
        start = end
