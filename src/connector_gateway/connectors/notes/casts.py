"""Property values, one small function per type: into the vendor's form without loss, and back into text."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from email_validator import EmailNotValidError, validate_email

from connector_gateway.kit.errors import LossyCast, SelectOptionMissing

Raw = Mapping[str, Any]

TEXT_PART = 1900
"""UTF-16 units of one rich-text item; the vendor takes 2,000 and does not say how it counts, but is written in
JavaScript."""

MAX_PARTS = 100
MAX_TEXT = 2000
MAX_CONTACT = 200
MAX_ITEMS = 100
MAX_EXACT_INTEGER = 2**53
MAX_EXPONENT = 400

TRUNCATED_AT = 25
"""The vendor shows no more people, relations or mentions than this within a page."""


# Writing


def cast(name: str, described: Raw, value: Any) -> Any:
    """The vendor's form of *value* for the property *described*; ``LossyCast`` where it would lose something."""
    kind = described["type"]
    if value is None and kind not in UNCLEARABLE:
        return [] if kind in LISTS else None
    try:
        return CASTS[kind](described, value)
    except ValueError as fault:
        shown = value if isinstance(value, str | int | bool | None) else str(value)
        raise LossyCast(
            f"The value of {name!r} cannot become {kind} without loss: {fault}.",
            {"property": name, "type": kind, "value": shown},
        ) from fault


def _text(_: Raw, value: Any) -> list[dict[str, Any]]:
    return rich_text(_words(value))


def _number(_: Raw, value: Any) -> int | float:
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


def _checkbox(_: Raw, value: Any) -> bool:
    choices = {True: True, False: False, "true": True, "false": False}
    if not isinstance(value, bool | str) or value not in choices:
        raise ValueError("it is neither true nor false")
    return choices[value]


def _select(described: Raw, value: Any) -> dict[str, str]:
    if not isinstance(value, str):
        raise ValueError("it is no option name")
    return {"id": _option(described, value)}


def _multi_select(described: Raw, value: Any) -> list[dict[str, str]]:
    return [{"id": _option(described, name)} for name in dict.fromkeys(_strings(value))]


def _option(described: Raw, wanted: str) -> str:
    kind = described["type"]
    options = {option["name"]: option["id"] for option in described[kind]["options"]}
    if wanted not in options:
        raise SelectOptionMissing(
            f"{wanted!r} is not an option of {described['name']!r}.",
            {"property": described["name"], "value": wanted, "allowed": list(options)},
        )
    return str(options[wanted])


def _date(_: Raw, value: Any) -> dict[str, str]:
    if not isinstance(value, str):
        raise ValueError("it is no ISO 8601 date")
    return {"start": iso_date(value.strip())}


def iso_date(text: str) -> str:
    """*text* if it is an ISO 8601 date, or a date and time with an offset; otherwise ``ValueError``."""
    if len(text) == len("2026-11-02"):
        return date.fromisoformat(text).isoformat()
    parsed = datetime.fromisoformat(text)
    if parsed.tzinfo is None:
        raise ValueError("a time needs an offset, such as Z")
    if parsed.microsecond % 1000:
        raise ValueError("the application keeps milliseconds only")
    return parsed.isoformat()


def _url(_: Raw, value: Any) -> str:
    text = _bounded(value, MAX_TEXT)
    parts = urlsplit(text)
    if not parts.scheme or not (parts.netloc or parts.path) or any(space in text for space in " \t\n"):
        raise ValueError("it is no URL")
    return text


def _email(_: Raw, value: Any) -> str:
    text = _bounded(value, MAX_CONTACT)
    try:
        validate_email(text, check_deliverability=False, test_environment=True)
    except EmailNotValidError as fault:
        raise ValueError("it is no e-mail address") from fault
    return text


def _phone(_: Raw, value: Any) -> str:
    return _bounded(value, MAX_CONTACT)


def _ids(_: Raw, value: Any) -> list[dict[str, str]]:
    return [{"id": uid} for uid in dict.fromkeys(str(UUID(text.strip())) for text in _strings(value))]


def _files(_: Raw, value: Any) -> list[dict[str, Any]]:
    return [_file(text) for text in _strings(value)]


def _file(text: str) -> dict[str, Any]:
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.netloc or _units(text) > MAX_TEXT:
        raise ValueError("it is no http or https URL")
    name = parts.path.rpartition("/")[2] or parts.netloc
    return {"name": name[:MAX_ITEMS], "type": "external", "external": {"url": text}}


def _place(_: Raw, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not {"lat", "lon"} <= value.keys() <= {"lat", "lon", "name", "address"}:
        raise ValueError("it is no object of lat, lon, and perhaps name and address")
    if not all(isinstance(value.get(name), str | None) for name in ("name", "address")):
        raise ValueError("its name and address should be text")
    return {**value, "lat": exact_number(value["lat"]), "lon": exact_number(value["lon"])}


CASTS: Mapping[str, Callable[[Raw, Any], Any]] = {
    "title": _text,
    "rich_text": _text,
    "number": _number,
    "checkbox": _checkbox,
    "select": _select,
    "status": _select,
    "multi_select": _multi_select,
    "date": _date,
    "url": _url,
    "email": _email,
    "phone_number": _phone,
    "people": _ids,
    "relation": _ids,
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
        if units[end - 1 : end] and 0xD8 <= units[end - 1] < 0xDC:
            end -= 2
        yield units[start:end].decode("utf-16-le")
        start = end


# Reading


def texts(value: Raw) -> list[str]:
    """Every text by which a property value may be found; none where it is empty."""
    kind = value["type"]
    content = value.get(kind)
    if content is None or content == []:
        return []
    return [text for text in READS.get(kind, _any_text)(content) if text]


def _any_text(content: Any) -> list[str]:
    return [content] if isinstance(content, str) else []


def number_text(number: float | Decimal) -> str:
    """A number as people write it: no exponent, no trailing zeros."""
    text = format(Decimal(str(number)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _number_texts(content: float) -> list[str]:
    return [number_text(content)]


def _flag_texts(content: bool) -> list[str]:  # noqa: FBT001  # a vendor's value
    return ["true" if content else "false"]


def _option_texts(content: Raw) -> list[str]:
    return [content["name"]]


def _date_texts(content: Raw) -> list[str]:
    start, end = content["start"], content.get("end")
    return [start, f"{start}/{end}"] if end else [start]


def _user_texts(content: Raw) -> list[str]:
    person = content.get("person") or {}
    return [content.get("name") or "", content["id"], person.get("email") or ""]


def _file_texts(content: Raw) -> list[str]:
    return [content.get("name") or "", (content.get("external") or content.get("file") or {}).get("url", "")]


def _unique_id_texts(content: Raw) -> list[str]:
    number = str(content["number"])
    return [f"{content['prefix']}-{number}", number] if content.get("prefix") else [number]


def _place_texts(content: Raw) -> list[str]:
    return [content.get("name") or "", content.get("address") or ""]


def _computed_texts(content: Raw) -> list[str]:
    """A formula or rollup: whatever it results in."""
    kind = content["type"]
    if kind == "array":
        return [text for item in content["array"] for text in texts(item)]
    plain = "checkbox" if kind == "boolean" else kind
    return texts({"type": plain, plain: content.get(kind)})


READS: Mapping[str, Callable[[Any], list[str]]] = {
    "title": lambda content: [plain_text(content)],
    "rich_text": lambda content: [plain_text(content)],
    "number": _number_texts,
    "checkbox": _flag_texts,
    "select": _option_texts,
    "status": _option_texts,
    "multi_select": lambda content: [text for item in content for text in _option_texts(item)],
    "date": _date_texts,
    "people": lambda content: [text for item in content for text in _user_texts(item)],
    "relation": lambda content: [item["id"] for item in content],
    "files": lambda content: [text for item in content for text in _file_texts(item)],
    "place": _place_texts,
    "created_by": _user_texts,
    "last_edited_by": _user_texts,
    "unique_id": _unique_id_texts,
    "formula": _computed_texts,
    "rollup": _computed_texts,
    "verification": lambda content: [content["state"]],
}


def truncated(value: Raw) -> bool:
    """Whether a page may show only part of a property value."""
    kind = value["type"]
    content = value.get(kind)
    return bool(value.get("has_more")) or (
        kind in {"people", "relation", "title", "rich_text"} and len(content or []) >= TRUNCATED_AT
    )


def completed(value: Raw, items: Iterable[Raw]) -> Raw:
    """A property value made whole from its single items."""
    kind = value["type"]
    return {"type": kind, kind: [item[kind] for item in items]}


def plain_text(items: Sequence[Raw]) -> str:
    """The text of rich-text items, read or written."""
    return "".join(item.get("plain_text") or (item.get("text") or {}).get("content", "") for item in items)


# Comparing


def holds(value: Raw, kind: str, content: Any) -> bool:
    """Whether a property value of a page is what was written as *content*, as far as the page shows it."""
    held, wanted = trace(kind, value.get(kind)), trace(kind, content)
    if kind in {"people", "relation"} and held and truncated(value):
        return set(held) <= set(wanted or ())
    return bool(held == wanted)


def blank(value: Raw, status: str | None) -> bool:
    """Whether a property value of a page is as on a new page, whose *status* the vendor chooses.

    What cannot be written is not looked at.
    """
    kind = value["type"]
    content = value.get(kind)
    if kind == "status" and content is not None:
        return bool(content["id"] == status)
    return kind not in CASTS or content is None or content is False or content == []


def trace(kind: str, content: Any) -> Any:
    """What is the same of a value whether it is written or read."""
    return None if content is None else TRACES.get(kind, lambda plain: plain)(content)


def _period_of(content: Raw) -> tuple[Any, ...]:
    """Beginning and end, of which the latter is never written here."""
    start: str = content["start"]
    moment = start if len(start) == len("2026-11-02") else datetime.fromisoformat(start)
    return moment, content.get("end")


def _ids_of(content: Iterable[Raw]) -> list[str]:
    return sorted(item["id"] for item in content)


TRACES: Mapping[str, Callable[[Any], Any]] = {
    "title": plain_text,
    "rich_text": plain_text,
    "select": lambda content: content["id"],
    "status": lambda content: content["id"],
    "multi_select": _ids_of,
    "people": _ids_of,
    "relation": _ids_of,
    "files": lambda content: [(item.get("external") or {}).get("url") for item in content],
    "date": _period_of,
    "place": lambda content: (content["lat"], content["lon"]),
}


# Observing


def text(value: Raw) -> str:
    """A property value as one text, which is empty where the value is; only for types of ``ONE_TEXT``."""
    kind = value["type"]
    content = value.get(kind)
    return "" if content is None else ONE_TEXT[kind](content)


def mark(value: Raw) -> str:
    """What is the same as long as a property value is: identifiers where names may change, otherwise its text."""
    kind = value["type"]
    if kind not in NAMED:
        return text(value)
    traced: str | list[str] = trace(kind, value.get(kind)) or ""
    return traced if isinstance(traced, str) else ",".join(traced)


def _names(content: Iterable[Raw]) -> str:
    return ", ".join(item.get("name") or item["id"] for item in content)


def _period(content: Raw) -> str:
    zone = f"[{content['time_zone']}]" if content.get("time_zone") else ""
    return "/".join(f"{moment}{zone}" for moment in (content["start"], content.get("end")) if moment)


def _file_text(content: Raw) -> str:
    """The address of a linked file; that of a hosted one is another every hour, but it has a name."""
    return (content.get("external") or {}).get("url") or content.get("name") or ""


def _place_text(content: Raw) -> str:
    known = ", ".join(filter(None, _place_texts(content)))
    return f"{known} ({number_text(content['lat'])}, {number_text(content['lon'])})".lstrip()


ONE_TEXT: Mapping[str, Callable[[Any], str]] = {
    "title": plain_text,
    "rich_text": plain_text,
    "number": number_text,
    "checkbox": lambda content: "true" if content else "false",
    "select": lambda content: content["name"],
    "status": lambda content: content["name"],
    "multi_select": _names,
    "date": _period,
    "url": str,
    "email": str,
    "phone_number": str,
    "people": _names,
    "relation": lambda content: ", ".join(_ids_of(content)),
    "files": lambda content: ", ".join(map(_file_text, content)),
    "place": _place_text,
}
"""The types whose changes are observed: those that people set, and that nothing computes."""

NAMED = frozenset({"select", "status", "multi_select", "people"})
"""Types whose values may be called otherwise without being others."""
