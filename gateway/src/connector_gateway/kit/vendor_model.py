"""Typed, frozen shapes of vendors' responses, decoded once on arrival.

A shape declares only the fields that are read. Other fields are skipped.
"""

from typing import TypeVar, dataclass_transform

import msgspec

T = TypeVar("T")

_LOCATION_SEPARATOR = " - at `"
"""The separator in msgspec's messages between the error and its location."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class _Frozen(msgspec.StructMeta):
    """Declares to type checkers the arguments that ``VendorModel`` passes on."""


class VendorModel(msgspec.Struct, frozen=True, kw_only=True, metaclass=_Frozen):
    """A part of a response. Fields have the vendor's names. ``rename="camel"`` allows snake case here."""


class UnexpectedShape(ValueError):
    """A response has an unexpected shape. *json_path* is its location, such as ``results[3].properties``."""

    def __init__(self, problem: str, json_path: str = "", *, is_json: bool = True) -> None:
        super().__init__(f"{problem}, at {json_path}" if json_path else problem)
        self.json_path = json_path
        self.is_json = is_json


def decode_json(body: bytes, shape: type[T]) -> T:
    """Decode the JSON text *body* as *shape*. Raises ``UnexpectedShape`` if it is not JSON or has another shape."""
    try:
        return msgspec.json.decode(body, type=shape)
    # A few hundred brackets are enough for a RecursionError, which is not one of msgspec's own errors.
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unexpected_shape(error) from error


def convert(value: object, shape: type[T]) -> T:
    """Convert *value*, decoded JSON, to *shape*. Raises ``UnexpectedShape`` if it has another shape."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise _unexpected_shape(error) from error


def _unexpected_shape(error: Exception) -> UnexpectedShape:
    problem, _, location = str(error).rpartition(_LOCATION_SEPARATOR)
    if not problem:
        problem, location = location, ""
    json_path = location.removesuffix("`").removeprefix("key in ").removeprefix("$").removeprefix(".")
    return UnexpectedShape(problem, json_path, is_json=isinstance(error, msgspec.ValidationError))
