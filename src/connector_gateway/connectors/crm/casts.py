"""Property values, one small function per type: into the vendor's text without loss, and compared as what they mean."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from connector_gateway.connectors.crm.wire import Definition
from connector_gateway.kit import shapes
from connector_gateway.kit.errors import LossyCast, OptionMissing
from connector_gateway.kit.nearest import nearest_first

MAX_TEXT = 65_536
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_EXPONENT = 300
"""Numbers beyond this many places are no quantities of anything; written out, they would only be long."""

MAX_NAMES = 10
MAX_SHOWN = 100
"""How many names a sentence lists, and how many characters of each."""


# Writing


def cast(definition: Definition, value: Any) -> str:
    """The vendor's text for *value*; ``LossyCast`` where it would lose something, ``OptionMissing`` for no option."""
    if value is None or value == "":
        return ""
    name, kind = definition.name, definition.type
    try:
        return CASTS.get(kind, _text)(definition, value)
    except ValueError as fault:
        raise LossyCast(
            f'The value of "{name}" cannot become {kind} without loss: {fault}.',
            {"property": name, "type": kind, "value": as_sent(value)},
        ) from fault


def _text(_: Definition, value: Any) -> str:
    text = value if isinstance(value, str) else plain(_decimal(value))
    if len(text) > MAX_TEXT:
        raise ValueError(f"it is longer than {MAX_TEXT} characters")
    return text


def _number(_: Definition, value: Any) -> str:
    return plain(_decimal(value))


def _flag(_: Definition, value: Any) -> str:
    choices = {True: "true", False: "false", "true": "true", "false": "false"}
    if not isinstance(value, bool | str) or value not in choices:
        raise ValueError("it is neither true nor false")
    return choices[value]


def _date(_: Definition, value: Any) -> str:
    moment = _given(value)
    # The vendor keeps a day as midnight in UTC; the time of day of any other instant would be lost.
    if moment != moment.replace(hour=0, minute=0, second=0, microsecond=0):
        raise ValueError("it is not midnight in UTC")
    return moment.date().isoformat()


def _datetime(_: Definition, value: Any) -> str:
    moment = _given(value)
    if moment.microsecond % 1000:
        raise ValueError("the application keeps milliseconds")
    return timestamp(moment)


def _choice(definition: Definition, value: Any) -> str:
    if definition.field_type == "checkbox":
        return _choices(definition, value)
    return _options(definition, [_word(value)])[0]


def _choices(definition: Definition, value: Any) -> str:
    """Several options; a text that starts with the separator adds to those there are."""
    words = [_word(item) for item in value] if isinstance(value, list) else _word(value).split(";")
    chosen = _options(definition, list(dict.fromkeys(filter(None, words))))
    return (";" if not isinstance(value, list) and words[0] == "" else "") + ";".join(chosen)


def _options(definition: Definition, wanted: Sequence[str]) -> Sequence[str]:
    """*wanted*, if all of them are options; ``OptionMissing`` names every one that is not."""
    allowed = options(definition)
    missing = [] if definition.external_options else [word for word in wanted if word not in allowed]
    if missing:
        raise OptionMissing(
            f'"{definition.name}" has no option {quoted(missing)}.',
            *(
                {"property": definition.name, "value": word, "allowed": nearest_first(word, allowed)}
                for word in missing
            ),
        )
    return wanted


CASTS: Mapping[str, Callable[[Definition, Any], str]] = {
    "number": _number,
    "bool": _flag,
    "date": _date,
    "datetime": _datetime,
    "enumeration": _choice,
}


def options(definition: Definition) -> list[str]:
    """The values that an enumeration accepts."""
    return [option.value for option in definition.options]


def quoted(names: Sequence[str]) -> str:
    """*names* as a sentence lists them: the first of them, and of long ones the beginning."""
    shown = [f'"{name[:MAX_SHOWN]}{"…" if len(name) > MAX_SHOWN else ""}"' for name in names[:MAX_NAMES]]
    return ", ".join(shown) + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")


def as_sent(value: Any) -> Any:
    """A caller's value as it was in JSON; numbers are decimals here, so that they keep their digits."""
    if isinstance(value, Decimal):
        # A number only where it says the same as what was sent; otherwise its digits as a text.
        return float(value) if Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, list):
        return [as_sent(item) for item in value]
    return {name: as_sent(item) for name, item in value.items()} if isinstance(value, dict) else value


def plain(number: Decimal) -> str:
    """*number* written out, every digit as given and no exponent."""
    return format(number, "f")


def timestamp(moment: datetime) -> str:
    """*moment* as the vendor writes instants."""
    return shapes.timestamp(moment)


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
        return _after_epoch(value)
    if not isinstance(value, str):
        raise ValueError("it is no ISO 8601 date or time")
    try:
        return shapes.parse_instant(value.strip())
    except shapes.OffsetMissing:
        raise
    except (ValueError, OverflowError) as fault:
        raise ValueError("it is no ISO 8601 date or time") from fault


def _after_epoch(milliseconds: int) -> datetime:
    try:
        return EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError as fault:
        raise ValueError("it is beyond the years 1 to 9999") from fault


def _moment(text: str) -> datetime:
    parsed = datetime.fromisoformat(text.strip())
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)


# Searching


def wanted(definition: Definition, value: str) -> str:
    """The value for a search filter: instants and days as milliseconds since the epoch, others as they are stored."""
    kind = definition.type
    if kind in {"enumeration", "string"}:
        return value
    text = cast(definition, value.strip())
    if kind in {"date", "datetime"}:
        return str(round(_moment(text).timestamp() * 1000))
    return text


# Comparing


def same(definition: Definition, sent: str, held: str | None) -> bool:
    """Whether the text *held* says what was *sent*."""
    if not sent.strip() or not held:
        return not sent.strip() and not held
    if definition.field_type == "checkbox" and definition.type == "enumeration":
        chosen, there = set(sent.split(";")) - {""}, set(held.split(";"))
        return chosen <= there if sent.startswith(";") else chosen == there
    meaning = MEANINGS.get(definition.type, str.strip)
    try:
        return bool(meaning(sent) == meaning(held))
    except (ValueError, InvalidOperation, OverflowError):
        return sent.strip() == held.strip()


MEANINGS: Mapping[str, Callable[[str], Any]] = {"number": Decimal, "date": _moment, "datetime": _moment}
"""A text of a type in the form in which two texts are compared."""
