"""Property values, one small function per type: into the vendor's form without loss, and back into text."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import SplitResult, urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from connector_gateway.connectors.notes import wire
from connector_gateway.connectors.notes.wire import Property, Value
from connector_gateway.kit.errors import LossyCast, SelectOptionMissing, UpstreamUnexpected

TEXT_PART = 1900
"""UTF-16 units of one rich-text item; the vendor takes 2,000 and does not say how it counts, but is written in
JavaScript."""

MAX_PARTS = 100
MAX_TEXT = 2000
MAX_CONTACT = 200
MAX_ITEMS = 100
MAX_EXACT_INTEGER = 2**53
MAX_EXPONENT = 400

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:[Zz]|[+-]\d{2}:?\d{2})?)?", re.ASCII)
_FINER = re.compile(r"[.,]\d{6}0*[1-9]")
"""Digits that are beyond a microsecond, where parsing ends."""

TRUNCATED_AT = 25
"""The vendor shows no more people, relations or mentions than this within a page."""


# Writing


def cast(name: str, described: Property, value: Any) -> Any:
    """The vendor's form of *value* for the property *described*; ``LossyCast`` where it would lose something."""
    kind = described.type
    if value is None and kind not in UNCLEARABLE:
        return [] if kind in LISTS else None
    try:
        return CASTS[kind](described, value)
    except ValueError as fault:
        raise LossyCast(
            f'The value of "{name}" cannot become {kind} without loss: {fault}.',
            {"property": name, "type": kind, "value": value},
        ) from fault


def _text(_: Property, value: Any) -> list[dict[str, Any]]:
    return rich_text(_words(value))


def _number(_: Property, value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise ValueError("it is no number")
    return exact_number(value)


def exact_number(value: str | float | Decimal) -> int | float:
    """*value* as a JSON number that says exactly the same; ``ValueError`` if there is none."""
    text = value.strip() if isinstance(value, str) else str(value)
    if not text.replace("_", "x").isascii():
        raise ValueError("it is no plain decimal number")
    number = _decimal("x" if "_" in text else text)
    if not number.is_finite() or abs(number.adjusted()) > MAX_EXPONENT:
        raise ValueError("it is beyond what the application keeps")
    if number == number.to_integral_value():
        if abs(number) > MAX_EXACT_INTEGER:
            raise ValueError("it has more digits than the application keeps")
        return int(number)
    if Decimal(repr(float(number))) != number:
        raise ValueError("it has more digits than the application keeps")
    return float(number)


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as fault:
        raise ValueError("it is no plain decimal number") from fault


def _checkbox(_: Property, value: Any) -> bool:
    choices = {True: True, False: False, "true": True, "false": False}
    if not isinstance(value, bool | str) or value not in choices:
        raise ValueError("it is neither true nor false")
    return choices[value]


def _select(described: Property, value: Any) -> dict[str, str]:
    if not isinstance(value, str):
        raise ValueError("it is no option name")
    # By identifier: a name that was changed a moment ago would make the vendor add an option.
    return {"id": _options(described, [value])[0]}


def _multi_select(described: Property, value: Any) -> list[dict[str, str]]:
    return [{"id": uid} for uid in _options(described, list(dict.fromkeys(_strings(value))))]


def _options(described: Property, wanted: Sequence[str]) -> list[str]:
    """The options of those names; ``SelectOptionMissing`` names every one that there is not."""
    known = {option.name: option.id for option in options(described)}
    missing = [name for name in wanted if name not in known]
    if missing:
        listed = ", ".join(f'"{name}"' for name in missing)
        raise SelectOptionMissing(
            f'"{described.name}" has no option {listed}.',
            *({"property": described.name, "value": name, "allowed": list(known)} for name in missing),
        )
    return [known[name] for name in wanted]


def options(described: Property) -> Sequence[wire.Option]:
    """What can be chosen of a select, multi-select or status."""
    choices: wire.Choices | None = getattr(described, described.type)
    if choices is None:
        raise UpstreamUnexpected(f'The application describes "{described.name}" without its options.')
    return choices.options


def _date(_: Property, value: Any) -> dict[str, str]:
    if not isinstance(value, str):
        raise ValueError("it is no ISO 8601 date")
    return {"start": iso_date(value.strip())}


def iso_date(text: str) -> str:
    """*text* if it is an ISO 8601 date, or a date and time with an offset; otherwise ``ValueError``."""
    found = moment(text)
    if found is None:
        raise ValueError("it is no ISO 8601 date, and no date and time")
    # The vendor would take it for UTC, which the caller may not have meant.
    if isinstance(found, datetime) and found.tzinfo is None:
        raise ValueError("a time needs an offset, such as Z")
    if isinstance(found, datetime) and (found.microsecond % 1000 or _FINER.search(text)):
        raise ValueError("the application keeps milliseconds only")
    return found.isoformat()


def _url(_: Property, value: Any) -> str:
    return _bounded(value, MAX_TEXT)


def _contact(_: Property, value: Any) -> str:
    return _bounded(value, MAX_CONTACT)


def _identifiers(_: Property, value: Any) -> list[dict[str, str]]:
    return [{"id": uid} for uid in dict.fromkeys(map(_uuid, _strings(value)))]


def _uuid(text: str) -> str:
    try:
        return str(UUID(text.strip()))
    except ValueError as fault:
        raise ValueError("it names something by other than its identifier") from fault


def _files(_: Property, value: Any) -> list[dict[str, Any]]:
    return [_file(text) for text in _strings(value)]


def _file(text: str) -> dict[str, Any]:
    parts = _split(text)
    if parts is None or parts.scheme not in {"http", "https"} or not parts.netloc or _units(text) > MAX_TEXT:
        raise ValueError("it is no http or https URL")
    name = parts.path.rpartition("/")[2] or parts.netloc
    return {"name": name[:MAX_ITEMS], "type": "external", "external": {"url": text}}


def _split(text: str) -> SplitResult | None:
    """The parts of an address; None where it cannot be one."""
    try:
        return urlsplit(text)
    except ValueError:
        return None


def _place(_: Property, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not {"lat", "lon"} <= value.keys() <= {"lat", "lon", "name", "address"}:
        raise ValueError("it is no object of lat, lon, and perhaps name and address")
    if not all(isinstance(value.get(name), str | None) for name in ("name", "address")):
        raise ValueError("its name and address should be text")
    return {**value, "lat": exact_number(value["lat"]), "lon": exact_number(value["lon"])}


CASTS: Mapping[str, Callable[[Property, Any], Any]] = {
    "title": _text,
    "rich_text": _text,
    "number": _number,
    "checkbox": _checkbox,
    "select": _select,
    "status": _select,
    "multi_select": _multi_select,
    "date": _date,
    "url": _url,
    "email": _contact,
    "phone_number": _contact,
    "people": _identifiers,
    "relation": _identifiers,
    "files": _files,
    "place": _place,
}
LISTS = frozenset({"title", "rich_text", "multi_select", "people", "relation", "files"})
UNCLEARABLE = frozenset({"checkbox", "status"})
"""Types that the vendor gives a value of its own where none is sent."""


def _words(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return number_text(value)
    raise ValueError("it is no text")


def _bounded(value: Any, most: int) -> str:
    if not isinstance(value, str):
        raise ValueError("it is no text")
    if not value or _units(value) > most:
        raise ValueError(f"it should have 1 to {most} characters")
    return value


def _units(text: str) -> int:
    """The length of *text* as JavaScript counts it."""
    return len(text.encode("utf-16-le")) // 2


def _strings(value: Any) -> list[str]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise ValueError("it is no string or list of strings")
    if len(items) > MAX_ITEMS:
        raise ValueError(f"it has more than {MAX_ITEMS} items")
    return items


def rich_text(text: str) -> list[dict[str, Any]]:
    """*text* in as many items as the vendor's limit asks for."""
    parts = [text] if 0 < len(text) <= TEXT_PART // 2 else list(_parts(text.encode("utf-16-le")))
    if len(parts) > MAX_PARTS:
        raise ValueError(f"it is longer than {TEXT_PART * MAX_PARTS} characters")
    return [{"type": "text", "text": {"content": part}} for part in parts]


def _parts(units: bytes) -> Iterator[str]:
    """Pieces of a text that end between whole characters."""
    start = 0
    while start < len(units):
        end = start + 2 * TEXT_PART
        # Cut here, an emoji would be halved, and both halves would be lost.
        if units[end - 1 : end] and 0xD8 <= units[end - 1] < 0xDC:
            end -= 2
        yield units[start:end].decode("utf-16-le")
        start = end


# Reading

KINDS = frozenset(Value.__struct_fields__) - {"type", "id", "has_more"}
"""The types whose values are read."""


def content(value: Value) -> Any:
    """What a property value holds, in the shape of its type; None where it is empty, or of a type unknown here."""
    return getattr(value, value.type) if value.type in KINDS else None


def texts(value: Value) -> list[str]:
    """Every text by which a property value may be found; none where it is empty."""
    held = content(value)
    return [] if held is None else [text for text in READS[value.type](held) if text]


def number_text(number: float | Decimal) -> str:
    """A number as people write it: no exponent, no trailing zeros."""
    text = format(Decimal(str(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _as_it_is(held: str) -> list[str]:
    return [held]


def _period_texts(held: wire.Period) -> list[str]:
    start, end = (_zoned(text, held.time_zone) for text in (held.start, held.end or ""))
    return [start, f"{start}/{end}"] if end else [start]


def _zoned(text: str, zone: str | None) -> str:
    """A time of a date with its offset, which the vendor leaves out where it tells the *zone* instead."""
    found = moment(text)
    if zone is None or not isinstance(found, datetime) or found.tzinfo is not None:
        return text
    try:
        # The vendor's zones may be newer than this machine's list of them: then the text stays as it came.
        return text + found.replace(tzinfo=ZoneInfo(zone)).isoformat()[-len("+00:00") :]
    except (ZoneInfoNotFoundError, ValueError):
        return text


def _user_texts(held: wire.User) -> list[str]:
    return [held.name or "", held.id, (held.person and held.person.email) or ""]


def _file_texts(held: wire.File) -> list[str]:
    link = held.external or held.file
    return [held.name or "", link.url if link else ""]


def _unique_id_texts(held: wire.UniqueId) -> list[str]:
    if held.number is None:
        return []
    return [f"{held.prefix}-{held.number}", str(held.number)] if held.prefix else [str(held.number)]


def _place_texts(held: wire.Place) -> list[str]:
    return [held.name or "", held.address or ""]


def _computed_texts(held: wire.Computed) -> list[str]:
    """A formula or rollup: whatever it results in."""
    found = [text for item in held.array for text in texts(item)]
    found += [] if held.string is None else [held.string]
    found += [] if held.number is None else [number_text(held.number)]
    found += [] if held.boolean is None else [_flag_text(held.boolean)]
    return found + ([] if held.date is None else _period_texts(held.date))


def _flag_text(held: bool) -> str:  # noqa: FBT001  # a vendor's value
    return "true" if held else "false"


def dates(value: Value) -> list[str]:
    """Those texts of a value that are dates."""
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
    "checkbox": lambda held: [_flag_text(held)],
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
    "place": _place_texts,
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
    """Whether a page may show only part of a property value."""
    return value.type in LONG and (value.has_more or len(content(value) or ()) >= TRUNCATED_AT)


def completed(value: Value, items: Iterable[wire.Item]) -> Value:
    """A property value made whole from its single items."""
    held = [getattr(item, value.type) for item in items]
    if None in held:
        raise UpstreamUnexpected(f"The application lists a value of type {value.type} without its items.")
    return msgspec.structs.replace(value, has_more=False, **{value.type: held})


def plain_text(items: Sequence[wire.RichText]) -> str:
    """The text of rich-text items."""
    return "".join(item.plain_text for item in items)


# Comparing


def holds(value: Value, kind: str, written: Any) -> bool:
    """Whether a property value of a page is what was *written*, as far as the page shows it."""
    held, wanted = (trace(value) if value.type == kind else None), trace_written(kind, written)
    # A page shows 25 of them. The others would cost a request each time something is looked for.
    if kind in {"people", "relation"} and held and truncated(value):
        return set(held) <= set(wanted or ())
    return bool(held == wanted)


def blank(value: Value, status: str | None) -> bool:
    """Whether a property value of a page is as on a new page, whose *status* the vendor chooses.

    What cannot be written is not looked at.
    """
    held = content(value)
    if value.type == "status" and held is not None:
        return bool(held.id == status)
    return value.type not in CASTS or held is None or held is False or held == []


def trace(value: Value) -> Any:
    """A value that was read, in a form that is equal for the same value as written."""
    held = content(value)
    return None if held is None else TRACES.get(value.type, _same)(held)


def trace_written(kind: str, written: Any) -> Any:
    """The same form of a value that is written."""
    return None if written is None else WRITTEN_TRACES.get(kind, _same)(written)


def _same(held: Any) -> Any:
    return held


def _period_trace(start: str, end: str | None) -> tuple[Any, ...]:
    """Beginning and end, of which the latter is never written here."""
    return moment(start), end


def moment(text: str) -> date | datetime | None:
    """The day or the instant that a text tells, the latter perhaps without an offset; None where it is neither."""
    try:
        if not _DATE.fullmatch(text):
            return None
        return date.fromisoformat(text) if len(text) == len("2026-11-02") else datetime.fromisoformat(text)
    except ValueError:
        return None


def _ids(held: Iterable[wire.Reference | wire.Option | wire.User]) -> list[str]:
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
    "multi_select": _ids,
    "people": _ids,
    "relation": _ids,
    "files": lambda held: [file.external.url if file.external else None for file in held],
    "date": lambda held: _period_trace(held.start, held.end),
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
    "date": lambda written: _period_trace(written["start"], None),
    "place": lambda written: (written["lat"], written["lon"]),
}


# Observing


def text(value: Value) -> str:
    """A property value as one text, which is empty where the value is; only for types of ``ONE_TEXT``."""
    held = content(value)
    return "" if held is None else ONE_TEXT[value.type](held)


def mark(value: Value) -> str:
    """A text that changes only when the value does: identifiers where names may change, otherwise its text."""
    if value.type not in NAMED:
        return text(value)
    traced: str | list[str] = trace(value) or ""
    return traced if isinstance(traced, str) else ",".join(traced)


def _period(held: wire.Period) -> str:
    zone = f"[{held.time_zone}]" if held.time_zone else ""
    return "/".join(f"{at}{zone}" for at in (held.start, held.end) if at)


def _file_text(held: wire.File) -> str:
    """The address of a linked file, or the name of a hosted one, whose address changes every hour."""
    return (held.external.url if held.external else "") or held.name or ""


def _place_text(held: wire.Place) -> str:
    known = ", ".join(filter(None, _place_texts(held)))
    return f"{known} ({number_text(held.lat)}, {number_text(held.lon)})".lstrip()


ONE_TEXT: Mapping[str, Callable[[Any], str]] = {
    "title": plain_text,
    "rich_text": plain_text,
    "number": number_text,
    "checkbox": _flag_text,
    "select": lambda held: str(held.name),
    "status": lambda held: str(held.name),
    "multi_select": lambda held: ", ".join(option.name for option in held),
    "date": _period,
    "url": str,
    "email": str,
    "phone_number": str,
    "people": lambda held: ", ".join(user.name or user.id for user in held),
    "relation": lambda held: ", ".join(_ids(held)),
    "files": lambda held: ", ".join(map(_file_text, held)),
    "place": _place_text,
}
"""The types whose changes are observed: those that people set, and that nothing computes."""

NAMED = frozenset({"select", "status", "multi_select", "people"})
"""Types whose values may be renamed and stay the same."""

LONG = frozenset({"people", "relation", "title", "rich_text"})
"""Types of whose values a page may show only a part."""
