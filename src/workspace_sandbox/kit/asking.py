"""What testers ask for, read strictly: a misspelt word that is accepted makes a test pass for the wrong reason."""

import math
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any

Field = Callable[[Any], Any]
"""Reads one value; a ``ValueError`` ends the sentence that begins with the field's name."""


class InvalidInput(ValueError):
    """Something that was asked for cannot be read; the text says everything that is wrong with it."""


def read(given: Any, wanted: Mapping[str, Field], *, needs: Iterable[str] = ()) -> dict[str, Any]:
    """The values of *given* by the readers of *wanted*; null is the same as leaving a field out."""
    if not isinstance(given, Mapping):
        raise InvalidInput("A JSON object is needed.")
    wrong = [f"There is no {name!r}; {suggested(name, wanted)}" for name in given if name not in wanted]
    made: dict[str, Any] = {}
    for name, value in given.items():
        if name in wanted and value is not None:
            try:
                made[name] = wanted[name](value)
            except ValueError as fault:
                wrong.append(f"{name} {fault}.")
    wrong += [f"{name} is needed." for name in needs if given.get(name) is None]
    if wrong:
        raise InvalidInput(" ".join(wrong))
    return made


def suggested(name: str, known: Iterable[str]) -> str:
    """What *name* was probably meant to be, and all there is."""
    names = list(known)
    meant = get_close_matches(str(name), names, 1)
    return f"{f'did you mean {meant[0]}? ' if meant else ''}There are {', '.join(names)}."


def one_of(*known: str) -> Field:
    """A reader of one of these words."""

    def word(value: Any) -> str:
        if value not in known:
            raise ValueError(f"is no {value!r}; {suggested(str(value), known)}".rstrip("."))
        return str(value)

    return word


def text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ValueError("must be a text")
    return value


def whole(value: Any) -> int:
    """A whole number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError("must be a whole number from 0 on")
    return value


def number(value: Any) -> float:
    """A number from 0 on."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise ValueError("must be a number from 0 on")
    return float(value)


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise ValueError("must be true or false")
    return value


def object_of(value: Any) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise ValueError("must be a JSON object")
    return value
