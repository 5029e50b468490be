"""Functions of formulas that take texts."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from workspace_sandbox.tables.operands import MOST, FormulaError, Function, of, whole
from workspace_sandbox.tables.operands import written as text

LONGEST = 100_000
"""Characters of a text, at which the vendor's cells end."""


def _find(wanted: Any, within: Any, start: Any = 1) -> int:
    """The place from 1 on; 0 where it is not."""
    return text(within).find(text(wanted), max(0, whole(start) - 1)) + 1


def _search(wanted: Any, within: Any, start: Any = 1) -> int | None:
    """As ``FIND``, without regard to case; empty where it is not."""
    return _find(text(wanted).casefold(), text(within).casefold(), start) or None


def _mid(value: Any, start: Any, count: Any) -> str:
    at = max(0, whole(start) - 1)
    return text(value)[at : at + max(0, whole(count))]


def _right(value: Any, count: Any = 1) -> str:
    wanted = max(0, whole(count))
    return text(value)[-wanted:] if wanted else ""


def _replace(value: Any, start: Any, count: Any, new: Any) -> str:
    at = max(0, whole(start) - 1)
    return text(value)[:at] + text(new) + text(value)[at + max(0, whole(count)) :]


def _substitute(value: Any, old: Any, new: Any, which: Any = None) -> str:
    """With *which*, only that occurrence, counted from 1."""
    within, wanted = text(value), text(old)
    if which is None:
        return within.replace(wanted, text(new)) if wanted else within
    parts = within.split(wanted) if wanted else [within]
    at = whole(which)
    if not 1 <= at < len(parts):
        return within
    return wanted.join(parts[:at]) + text(new) + wanted.join(parts[at:])


def _repeated(value: Any, count: Any) -> str:
    times = max(0, whole(count))
    if len(text(value)) * times > LONGEST:
        raise FormulaError
    return text(value) * times


TEXTS: Mapping[str, Function] = {
    "CONCATENATE": (1, MOST, of(lambda *values: "".join(map(text, values)))),
    "ENCODE_URL_COMPONENT": (1, 1, of(lambda value: quote(text(value), safe=""))),
    "FIND": (2, 3, of(_find)),
    "SEARCH": (2, 3, of(_search)),
    "LEFT": (1, 2, of(lambda value, count=1: text(value)[: max(0, whole(count))])),
    "RIGHT": (1, 2, of(_right)),
    "MID": (3, 3, of(_mid)),
    "LEN": (1, 1, of(lambda value: len(text(value)))),
    "LOWER": (1, 1, of(lambda value: text(value).lower())),
    "UPPER": (1, 1, of(lambda value: text(value).upper())),
    "TRIM": (1, 1, of(lambda value: text(value).strip())),
    "REPLACE": (4, 4, of(_replace)),
    "REPT": (2, 2, of(_repeated)),
    "SUBSTITUTE": (3, 4, of(_substitute)),
    "T": (1, 1, of(lambda value: value if isinstance(value, str) else None)),
}
