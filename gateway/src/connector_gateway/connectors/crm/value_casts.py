"""Lossless conversion of property values to the vendor's text, and their comparison, one small function per type."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from connector_gateway.connectors.crm.vendor_models import Definition
from connector_gateway.kit import casts, models
from connector_gateway.kit.errors import OptionMissing

MAX_TEXT = 65_536
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Writing


def cast(definition: Definition, value: Any) -> str:
    """Return the vendor's text for *value*.

    Raises ``LossyCast`` if it would lose data, and ``OptionMissing`` for an unknown option.
    """
    if value is None or value == "":
        return ""
    kind = definition.type
    return casts.convert("property", definition.name, kind, value, lambda: CASTS.get(kind, _text)(definition, value))


def _text(_: Definition, value: Any) -> str:
    text = value if isinstance(value, str) else format_number(casts.to_decimal(value))
    if len(text) > MAX_TEXT:
        raise casts.UnfitValue(f"it is longer than {MAX_TEXT} characters")
    return text


def _date(_: Definition, value: Any) -> str:
    moment = _parse_datetime(value)
    # The vendor stores a day as midnight in UTC, and the time of any other datetime would be lost.
    if moment != moment.replace(hour=0, minute=0, second=0, microsecond=0):
        raise casts.UnfitValue("it is not midnight in UTC")
    return moment.date().isoformat()


def _choice(definition: Definition, value: Any) -> str:
    if definition.field_type == "checkbox":
        return _choices(definition, value)
    return _options(definition, [_word(value)])[0]


def _choices(definition: Definition, value: Any) -> str:
    """Return several options. A text that starts with the separator adds to the existing ones."""
    words = [_word(item) for item in value] if isinstance(value, list) else _word(value).split(";")
    chosen = _options(definition, list(dict.fromkeys(filter(None, words))))
    return (";" if not isinstance(value, list) and words[0] == "" else "") + ";".join(chosen)


def _options(definition: Definition, values: Sequence[str]) -> Sequence[str]:
    """Return *values* if all are options. Raises ``OptionMissing`` with those that are not."""
    allowed = options(definition)
    missing = [] if definition.external_options else [word for word in values if word not in allowed]
    if missing:
        raise casts.create_missing_options_error(OptionMissing, "property", definition.name, missing, allowed)
    return values


CASTS: Mapping[str, Callable[[Definition, Any], str]] = {
    "number": lambda _, value: format_number(casts.to_decimal(value)),
    "bool": lambda _, value: "true" if casts.to_bool(value) else "false",
    "date": _date,
    "datetime": lambda _, value: format_datetime(casts.check_milliseconds(_parse_datetime(value))),
    "enumeration": _choice,
}


def options(definition: Definition) -> list[str]:
    """Return the values that an enumeration accepts."""
    return [option.value for option in definition.options]


def format_number(number: Decimal) -> str:
    """Return *number* with all its digits and without exponent."""
    return format(number, "f")


def format_datetime(moment: datetime) -> str:
    """Format a datetime in the vendor's form."""
    return models.format_timestamp(moment)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int):
        return str(value)
    raise casts.UnfitValue("it is not an option's value")


def _parse_datetime(value: Any) -> datetime:
    """Parse a caller's time: ISO 8601, or milliseconds since the epoch."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return _after_epoch(value) if is_number else casts.parse_datetime(value)


def _after_epoch(milliseconds: int) -> datetime:
    try:
        return EPOCH + timedelta(milliseconds=milliseconds)
    except OverflowError as error:
        raise casts.UnfitValue("it is outside the years 1 to 9999") from error


def _moment(text: str) -> datetime:
    parsed = datetime.fromisoformat(text.strip())
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC)


# Search


def filter_value(definition: Definition, value: str) -> str:
    """Return the value for a search filter: times and days as epoch milliseconds, others as they are stored."""
    kind = definition.type
    if kind in {"enumeration", "string"}:
        return value
    text = cast(definition, value.strip())
    if kind in {"date", "datetime"}:
        return str(round(_moment(text).timestamp() * 1000))
    return text


# Comparison


def equal_values(definition: Definition, sent: str, stored: str | None) -> bool:
    """Return True if the text *stored* means the same as *sent*."""
    if not sent.strip() or not stored:
        return not sent.strip() and not stored
    if definition.field_type == "checkbox" and definition.type == "enumeration":
        chosen, existing = set(sent.split(";")) - {""}, set(stored.split(";"))
        return chosen <= existing if sent.startswith(";") else chosen == existing
    meaning = PARSERS.get(definition.type, str.strip)
    try:
        return bool(meaning(sent) == meaning(stored))
    except (ValueError, InvalidOperation, OverflowError):
        return sent.strip() == stored.strip()


PARSERS: Mapping[str, Callable[[str], Any]] = {"number": Decimal, "date": _moment, "datetime": _moment}
"""Parsers of the types whose texts are compared by value."""
