"""Property values, one small function per type: into the vendor's text without loss, and compared as what they mean."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from connector_gateway.kit.errors import LossyCast, OptionMissing

Raw = Mapping[str, Any]

MAX_TEXT = 65_536
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_EXPONENT = 300
"""Numbers beyond this many places are no quantities of anything; written out, they would only be long."""


# Writing


def cast(definition: Raw, value: Any) -> str:
    """The vendor's text for *value*; ``LossyCast`` where it would lose something, ``OptionMissing`` for no option."""
    if value is None or value == "":
        return ""
    kind = definition["type"]
    try:
        return CASTS.get(kind, _text)(definition, value)
    except (ValueError, InvalidOperation, OverflowError) as fault:
        shown = value if isinstance(value, str | int | bool) else str(value)
        raise LossyCast(
            f"The value of {definition['name']!r} cannot become {kind} without loss: {fault}.",
            {"property": definition["name"], "type": kind, "value": shown},
        ) from fault


def _text(_: Raw, value: Any) -> str:
    text = value if isinstance(value, str) else plain(_decimal(value))
    if len(text) > MAX_TEXT:
        raise ValueError(f"it is longer than {MAX_TEXT} characters")
    return text


def _number(_: Raw, value: Any) -> str:
    return plain(_decimal(value))


def _flag(_: Raw, value: Any) -> str:
    choices = {True: "true", False: "false", "true": "true", "false": "false"}
    if not isinstance(value, bool | str) or value not in choices:
        raise ValueError("it is neither true nor false")
    return choices[value]


def _date(_: Raw, value: Any) -> str:
    moment = _given(value)
    if moment != moment.replace(hour=0, minute=0, second=0, microsecond=0):
        raise ValueError("it is not midnight in UTC")
    return moment.date().isoformat()


def _datetime(_: Raw, value: Any) -> str:
    moment = _given(value)
    if moment.microsecond % 1000:
        raise ValueError("the application keeps milliseconds")
    return timestamp(moment)


def _choice(definition: Raw, value: Any) -> str:
    if definition.get("fieldType") == "checkbox":
        return _choices(definition, value)
    return _option(definition, _word(value))


def _choices(definition: Raw, value: Any) -> str:
    """Several options; a text that starts with the separator adds to those there are."""
    words = [_word(item) for item in value] if isinstance(value, list) else _word(value).split(";")
    chosen = dict.fromkeys(_option(definition, word) for word in words if word)
    return (";" if not isinstance(value, list) and words[0] == "" else "") + ";".join(chosen)


def _option(definition: Raw, wanted: str) -> str:
    allowed = options(definition)
    if wanted not in allowed and not definition.get("externalOptions"):
        raise OptionMissing(
            f"{wanted!r} is not an option of {definition['name']!r}.",
            {"property": definition["name"], "value": wanted, "allowed": allowed},
        )
    return wanted


CASTS: Mapping[str, Callable[[Raw, Any], str]] = {
    "number": _number,
    "bool": _flag,
    "date": _date,
    "datetime": _datetime,
    "enumeration": _choice,
}


def options(definition: Raw) -> list[str]:
    """The values that an enumeration accepts."""
    return [option["value"] for option in definition.get("options") or ()]


def plain(number: Decimal) -> str:
    """*number* written out, every digit as given and no exponent."""
    return format(number, "f")


def timestamp(moment: datetime) -> str:
    """*moment* as the vendor writes instants."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _decimal(value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, str | int | Decimal):
        raise ValueError("it is no plain value")
    text = str(value).strip()
    if not text.isascii() or "_" in text:
        raise ValueError("it is no plain decimal number")
    try:
        number = Decimal(text)
    except InvalidOperation as fault:
        raise ValueError("it is no decimal number") from fault
    if not number.is_finite() or abs(number.adjusted()) > MAX_EXPONENT:
        raise ValueError("it is no quantity")
    return number


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int):
        return str(value)
    raise ValueError("it is no option value")


def _given(value: Any) -> datetime:
    """The instant that a caller gives: ISO 8601, or milliseconds since the epoch."""
    if isinstance(value, int) and not isinstance(value, bool):
        return EPOCH + timedelta(milliseconds=value)
    if not isinstance(value, str):
        raise ValueError("it is no ISO 8601 date or time")
    return _moment(value)


def _moment(text: str) -> datetime:
    parsed = datetime.fromisoformat(text.strip())
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)


# Searching


def wanted(definition: Raw, value: str) -> str:
    """What a search compares with: instants and days as milliseconds since the epoch, other values as kept."""
    kind = definition["type"]
    if kind in {"enumeration", "string"}:
        return value
    text = cast(definition, value.strip())
    if kind in {"date", "datetime"}:
        return str(round(_moment(text).timestamp() * 1000))
    return text


# Comparing


def same(definition: Raw, sent: str, held: str | None) -> bool:
    """Whether the text *held* says what was *sent*."""
    if not sent.strip() or not held:
        return not sent.strip() and not held
    if definition.get("fieldType") == "checkbox" and definition["type"] == "enumeration":
        chosen, there = set(sent.split(";")) - {""}, set(held.split(";"))
        return chosen <= there if sent.startswith(";") else chosen == there
    meaning = MEANINGS.get(definition["type"], str.strip)
    try:
        return bool(meaning(sent) == meaning(held))
    except (ValueError, InvalidOperation):
        return sent.strip() == held.strip()


MEANINGS: Mapping[str, Callable[[str], Any]] = {"number": Decimal, "date": _moment, "datetime": _moment}
"""What two texts of a type are compared as."""
