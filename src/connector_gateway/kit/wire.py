"""Answers of third parties as typed, frozen shapes, decoded once where the answer arrives.

A shape declares only the fields that are read. Everything else in an answer is skipped.
"""

from typing import TypeVar, dataclass_transform

import msgspec

T = TypeVar("T")

_AT = " - at `"
"""What msgspec writes between what is wrong and where."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class _Frozen(msgspec.StructMeta):
    """Tells type checkers what ``Wire`` hands down."""


class WireModel(msgspec.Struct, frozen=True, kw_only=True, metaclass=_Frozen):
    """A part of an answer. Fields have the vendor's names; ``rename="camel"`` writes them in snake case here."""


class UnexpectedShape(ValueError):
    """An answer has another shape than expected; *place* tells where, such as ``results[3].properties``."""

    def __init__(self, what: str, place: str = "", *, is_json: bool = True) -> None:
        super().__init__(f"{what}, at {place}" if place else what)
        self.json_path = place
        self.is_json = is_json


def decode_json(body: bytes, shape: type[T]) -> T:
    """*body*, a JSON text, as *shape*; ``UnexpectedShape`` if it is not JSON or has another shape."""
    try:
        return msgspec.json.decode(body, type=shape)
    # A few hundred brackets are enough for a RecursionError, which is not one of msgspec's own errors.
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        raise _unexpected(fault) from fault


def convert(value: object, shape: type[T]) -> T:
    """*value*, decoded JSON, as *shape*; ``UnexpectedShape`` if it has another one."""
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as fault:
        raise _unexpected(fault) from fault


def _unexpected(fault: Exception) -> UnexpectedShape:
    what, _, place = str(fault).rpartition(_AT)
    if not what:
        what, place = place, ""
    where = place.removesuffix("`").removeprefix("key in ").removeprefix("$").removeprefix(".")
    return UnexpectedShape(what, where, is_json=isinstance(fault, msgspec.ValidationError))
