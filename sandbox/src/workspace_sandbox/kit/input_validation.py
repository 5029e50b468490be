"""Strict parsing of testers' input. If misspelt names were accepted, tests would pass for the wrong reason."""

import math
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

Field = Callable[[Any], Any]
"""Reads one value. The message of a ``ValueError`` continues a sentence that begins with the field's name."""


class InvalidInput(ValueError):
    """Input of a tester is invalid. The message lists all errors."""


def read(data: Any, readers: Mapping[str, Field], *, required: Iterable[str] = ()) -> dict[str, Any]:
    """Parse the fields of *data* with *readers*. Null is treated as a missing field."""
    if not isinstance(data, Mapping):
        raise InvalidInput("A JSON object is required.")
    errors = [f"Unknown field {name!r}; {suggest(name, readers)}" for name in data if name not in readers]
    values: dict[str, Any] = {}
    for name, value in data.items():
        if name in readers and value is not None:
            try:
                values[name] = readers[name](value)
            except ValueError as error:
                errors.append(f"{name} {error}.")
    errors += [f"{name} is required." for name in required if data.get(name) is None]
    if errors:
        raise InvalidInput(" ".join(errors))
    return values


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a hint with the name most similar to *name* and all *known* names."""
    names = list(known)
    matches = get_close_matches(str(name), names, 1)
    return f"{f'did you mean {matches[0]}? ' if matches else ''}allowed: {', '.join(names)}."


def one_of(*known: str) -> Field:
    """Return a reader that accepts one of the *known* words."""

    def word(value: Any) -> str:
        if value not in known:
            raise ValueError(f"cannot be {value!r}; {suggest(str(value), known)}".rstrip("."))
        return str(value)

    return word


def text(value: Any) -> str:
    """Return *value* if it is a string."""
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


def non_negative_int(value: Any) -> int:
    """Return *value* if it is a non-negative integer."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("must be a non-negative integer")
    return value


def non_negative_number(value: Any) -> float:
    """Return *value* if it is a non-negative number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError("must be a non-negative number")
    return float(value)


def flag(value: Any) -> bool:
    """Return *value* if it is a boolean."""
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def json_object(value: Any) -> dict[str, Any]:
    """Return *value* if it is a JSON object."""
    if not isinstance(value, dict):
        raise ValueError("must be a JSON object")
    return value


def or_null(field: Field) -> Field:
    """Return a reader that also accepts null."""

    def read(value: Any) -> Any:
        try:
            return None if value is None else field(value)
        except ValueError as error:
            raise ValueError(f"{error}, or null") from None

    return read


def texts(value: Any) -> list[str]:
    """Return *value* if it is a list of strings."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("must be a list of strings")
    return value


def numbers(value: Any) -> list[float]:
    """Return *value* if it is a list of non-negative numbers."""
    if not isinstance(value, list):
        raise ValueError("must be a list of non-negative numbers")
    try:
        return [non_negative_number(one) for one in value]
    except ValueError:
        raise ValueError("must be a list of non-negative numbers") from None
