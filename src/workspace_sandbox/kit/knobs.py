"""What knobs are turned to, read strictly: by the kind of the first value, unless an application says more."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.kit.asking import Field, InvalidInput, flag, number, suggested, text, whole

SECONDS = "_seconds"


def turned(wanted: Mapping[str, Any], first: Mapping[str, Any], readers: Mapping[str, Field]) -> dict[str, Any]:
    """What *wanted* turns of the knobs with those *first* values; all that is wrong with it is told at once."""
    wrong: list[str] = []
    for name, value in wanted.items():
        if name not in first:
            wrong.append(f"There is no knob {name!r}; {suggested(name, first)}")
            continue
        try:
            (readers.get(name) or _reader(name, first[name]))(value)
        except ValueError as error:
            wrong.append(f"{name} {error}.")
    if wrong:
        raise InvalidInput(" ".join(wrong))
    # As it was given: a whole number of seconds is told as one.
    return dict(wanted)


def or_null(field: Field) -> Field:
    """A reader of the same, or of null."""

    def read(value: Any) -> Any:
        try:
            return None if value is None else field(value)
        except ValueError as error:
            raise ValueError(f"{error}, or null") from None

    return read


def texts(value: Any) -> list[str]:
    """A list of texts."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError("must be a list of texts")
    return value


def numbers(value: Any) -> list[float]:
    """A list of numbers from 0 on."""
    if not isinstance(value, list):
        raise ValueError("must be a list of numbers from 0 on")
    try:
        return [number(one) for one in value]
    except ValueError:
        raise ValueError("must be a list of numbers from 0 on") from None


def _reader(name: str, first: Any) -> Field:
    """What reads values like *first*."""
    if isinstance(first, list | tuple):
        return numbers if name.endswith(SECONDS) else texts
    if isinstance(first, float) or name.endswith(SECONDS):
        return number
    return {bool: flag, int: whole, str: text}[type(first)]
