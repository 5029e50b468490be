"""Lossless conversions of plain values, for the properties of any vendor."""

from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from connector_gateway.kit.errors import GatewayError, LossyCast
from connector_gateway.kit.errors.suggestions import nearest_first
from connector_gateway.kit.models import OffsetMissing, parse_instant

T = TypeVar("T")

MAX_EXACT_INTEGER = 2**53
MAX_EXPONENT = 323
"""The decimal exponents of the largest and the smallest number that a double can hold."""

MAX_NAMES = 10
MAX_NAME = 100
"""The maximum number of names in a sentence, and of characters of each."""

FLAGS: Mapping[Any, bool] = {True: True, False: False, "true": True, "false": False}
NOT_A_DATETIME = "it should be a date, or a date and time with an offset, such as 2026-11-02T09:30:00Z"


class UnfitValue(ValueError):
    """A property cannot hold a value without change. The message completes the sentence of ``create_lossy_cast``."""


def convert(key: str, name: str, kind: str, value: Any, cast: Callable[[], T]) -> T:
    """Return the result of *cast*. Raises ``LossyCast`` for the property *name* if *value* would change."""
    try:
        return cast()
    except UnfitValue as error:
        raise create_lossy_cast(key, name, kind, value, str(error)) from error
    except (ValueError, ArithmeticError) as error:
        raise create_lossy_cast(key, name, kind, value, "it is not a valid value") from error


def create_lossy_cast(key: str, name: str, kind: str, value: Any, why: str) -> LossyCast:
    """Return the error of a value that would change as a *kind*. *key* is that of *name* in its detail."""
    message = f'The value of "{name}" cannot be converted to {kind} without loss: {why}.'
    return LossyCast(message, {key: name, "type": kind, "value": to_sent_json(value)})


def create_missing_options_error(
    error: type[GatewayError], key: str, name: str, missing: Sequence[str], options: Collection[str]
) -> GatewayError:
    """Return the error of options that the property *name* does not have."""
    details = ({key: name, "value": option, "allowed": nearest_first(option, options)} for option in missing)
    return error(f'"{name}" has no option {quote_names(missing)}.', *details)


def quote_names(names: Sequence[str]) -> str:
    """Return *names* as a list for a sentence: the first few of them, with long ones truncated."""
    names_listed = [f'"{name[:MAX_NAME]}{"…" if len(name) > MAX_NAME else ""}"' for name in names[:MAX_NAMES]]
    return ", ".join(names_listed) + (f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else "")


def to_decimal(value: Any) -> Decimal:
    """Convert a number or its text to a finite decimal with all its digits."""
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise UnfitValue("it is not a number")
    digits = str(value).strip()
    try:
        number = Decimal(digits if digits.isascii() and "_" not in digits else "none")
    except InvalidOperation as error:
        raise UnfitValue("it is not a plain decimal number") from error
    if not number.is_finite() or abs(number.adjusted()) > MAX_EXPONENT:
        raise UnfitValue("it is too large or too small for the vendor")
    return number


def to_json_number(value: Any) -> int | float:
    """Convert *value* to a JSON number that is exactly equal."""
    number = to_decimal(value)
    exact = int(number) if number == number.to_integral_value() else float(number)
    if abs(number) > MAX_EXACT_INTEGER or Decimal(repr(exact)) != number:
        raise UnfitValue("it has more digits than the vendor stores")
    return exact


def to_bool(value: Any) -> bool:
    """Convert *value*, which is true or false or the word for it."""
    if not isinstance(value, bool | str) or value not in FLAGS:
        raise UnfitValue("it is neither true nor false")
    return FLAGS[value]


def text(value: Any) -> str:
    """Return a text, or a number in plain decimal notation."""
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return number_text(value)
    return check_string(value, "it is not text")


def check_string(value: Any, otherwise: str) -> str:
    """Return *value* if it is a string. Otherwise raises ``UnfitValue`` with *otherwise*."""
    if not isinstance(value, str):
        raise UnfitValue(otherwise)
    return value


def to_strings(value: Any, max_items: int) -> list[str]:
    """Return a list of strings. A single string counts as a list."""
    return [check_string(item, "it is not a string or a list of strings") for item in to_items(value, max_items)]


def to_items(value: Any, max_items: int) -> list[Any]:
    """Return a list of items. A single item counts as a list."""
    listed = value if isinstance(value, list) else [value]
    if len(listed) > max_items:
        raise UnfitValue(f"it has more than {max_items} items")
    return listed


def number_text(number: float | Decimal) -> str:
    """Return a number in plain decimal notation, without exponent and trailing zeros."""
    written = format(Decimal(str(number)), "f")
    return written.rstrip("0").rstrip(".") if "." in written else written


def parse_datetime(value: Any) -> datetime:
    """Parse an ISO 8601 date, or a date and time with an offset."""
    try:
        return parse_instant(check_string(value, NOT_A_DATETIME).strip())
    except OffsetMissing as error:
        raise UnfitValue(str(error)) from error
    except (ValueError, OverflowError) as error:
        raise UnfitValue(NOT_A_DATETIME) from error


def check_milliseconds(moment: datetime) -> datetime:
    """Return *moment* if it has no more than millisecond precision, like vendors' timestamps."""
    if moment.microsecond % 1000:
        raise UnfitValue("the vendor stores only milliseconds")
    return moment


def to_sent_json(value: Any) -> Any:
    """Return a value as it was in JSON: decimals as numbers if a double is exactly equal, otherwise as text."""
    if isinstance(value, Decimal):
        number = float(value)
        return number if Decimal(repr(number)) == value else str(value)
    if isinstance(value, dict):
        return {name: to_sent_json(part) for name, part in value.items()}
    return [to_sent_json(part) for part in value] if isinstance(value, list) else value
