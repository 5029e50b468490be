"""Formula functions on text."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from workspace_sandbox.tables.formulas.values import MAX_ARGUMENTS, FormulaError, Function, from_values, to_int
from workspace_sandbox.tables.formulas.values import to_text as text

MAX_LENGTH = 100_000
"""The maximum length of a text in the vendor's cells."""


def _find(needle: Any, within: Any, start: Any = 1) -> int:
    """Return the position, counted from 1, or 0 if there is no match."""
    return text(within).find(text(needle), max(0, to_int(start) - 1)) + 1


def _search(needle: Any, within: Any, start: Any = 1) -> int | None:
    """Return the position regardless of case, or None if there is no match."""
    return _find(text(needle).casefold(), text(within).casefold(), start) or None


def _mid(value: Any, start: Any, count: Any) -> str:
    position = max(0, to_int(start) - 1)
    return text(value)[position : position + max(0, to_int(count))]


def _right(value: Any, count: Any = 1) -> str:
    length = max(0, to_int(count))
    return text(value)[-length:] if length else ""


def _replace(value: Any, start: Any, count: Any, new: Any) -> str:
    position = max(0, to_int(start) - 1)
    return text(value)[:position] + text(new) + text(value)[position + max(0, to_int(count)) :]


def _substitute(value: Any, old: Any, new: Any, occurrence: Any = None) -> str:
    """Replace text. With *occurrence*, only that one is replaced, counted from 1."""
    within, needle = text(value), text(old)
    if occurrence is None:
        return within.replace(needle, text(new)) if needle else within
    parts = within.split(needle) if needle else [within]
    index = to_int(occurrence)
    if not 1 <= index < len(parts):
        return within
    return needle.join(parts[:index]) + text(new) + needle.join(parts[index:])


def _repeat(value: Any, count: Any) -> str:
    repetitions = max(0, to_int(count))
    if len(text(value)) * repetitions > MAX_LENGTH:
        raise FormulaError
    return text(value) * repetitions


TEXTS: Mapping[str, Function] = {
    "CONCATENATE": (1, MAX_ARGUMENTS, from_values(lambda *values: "".join(map(text, values)))),
    "ENCODE_URL_COMPONENT": (1, 1, from_values(lambda value: quote(text(value), safe=""))),
    "FIND": (2, 3, from_values(_find)),
    "SEARCH": (2, 3, from_values(_search)),
    "LEFT": (1, 2, from_values(lambda value, count=1: text(value)[: max(0, to_int(count))])),
    "RIGHT": (1, 2, from_values(_right)),
    "MID": (3, 3, from_values(_mid)),
    "LEN": (1, 1, from_values(lambda value: len(text(value)))),
    "LOWER": (1, 1, from_values(lambda value: text(value).lower())),
    "UPPER": (1, 1, from_values(lambda value: text(value).upper())),
    "TRIM": (1, 1, from_values(lambda value: text(value).strip())),
    "REPLACE": (4, 4, from_values(_replace)),
    "REPT": (2, 2, from_values(_repeat)),
    "SUBSTITUTE": (3, 4, from_values(_substitute)),
    "T": (1, 1, from_values(lambda value: value if isinstance(value, str) else None)),
}
