"""Validation of knob values, by the type of the initial value unless the emulator defines a reader."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.kit.input_validation import (
    Field,
    InvalidInput,
    flag,
    non_negative_int,
    non_negative_number,
    suggest,
    text,
)

SECONDS = "_seconds"


def parse_knobs(
    changes: Mapping[str, Any], defaults: Mapping[str, Any], readers: Mapping[str, Field]
) -> dict[str, Any]:
    """Validate the knob *changes* by the *defaults* and *readers*.

    Raises ``InvalidInput`` with all errors.
    """
    errors: list[str] = []
    for name, value in changes.items():
        if name not in defaults:
            errors.append(f"Unknown knob {name!r}; {suggest(name, defaults)}")
            continue
        try:
            (readers.get(name) or _reader(name, defaults[name]))(value)
        except ValueError as error:
            errors.append(f"{name} {error}.")
    if errors:
        raise InvalidInput(" ".join(errors))
    # Values are not converted, so that an integer is returned as one.
    return dict(changes)


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


def _reader(name: str, default: Any) -> Field:
    """Return the reader for values of the type of *default*."""
    if isinstance(default, list | tuple):
        return numbers if name.endswith(SECONDS) else texts
    if isinstance(default, float) or name.endswith(SECONDS):
        return non_negative_number
    return {bool: flag, int: non_negative_int, str: text}[type(default)]
