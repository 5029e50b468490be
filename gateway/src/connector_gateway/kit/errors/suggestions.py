"""Suggestions of existing names for mistyped ones."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

MAX_NAME_LENGTH = 100
"""The maximum length of a name that is compared. Longer names are not typos."""

MAX_COMPARED = 250
"""The maximum number of names to compare with, which limits the cost of an error."""

MAX_ALLOWED = 50
"""The maximum number of names that an error lists."""

MIN_SIMILARITY = 0.7
"""The minimum similarity of two names for a suggestion."""

SUGGESTION_KEY = "did_you_mean"
"""The key of the suggested name in a detail."""

MISTAKEN_KEYS = ("value", "property", "field", "parameter")
"""The keys of the mistaken name in a detail, in order of precedence."""


def closest_match(mistyped: str, known: Collection[Any]) -> str | None:
    """Return the name in *known* closest to *mistyped*, or None if none is similar or *mistyped* is one of them."""
    if len(mistyped) > MAX_NAME_LENGTH or mistyped in known:
        return None
    by_folded_name = {
        name.casefold(): name
        for name in islice(known, MAX_COMPARED)
        if isinstance(name, str) and len(name) <= MAX_NAME_LENGTH
    }
    matches = get_close_matches(mistyped.casefold(), by_folded_name, n=1, cutoff=MIN_SIMILARITY)
    return by_folded_name[matches[0]] if matches else None


def nearest_first(mistyped: str, known: Collection[str]) -> list[str]:
    """Return at most 50 names of *known*: all in their order, or the closest first if there are more."""
    if len(known) <= MAX_ALLOWED:
        return list(known)
    by_folded_name = {name.casefold(): name for name in islice(known, MAX_COMPARED) if len(name) <= MAX_NAME_LENGTH}
    close = get_close_matches(mistyped.casefold()[:MAX_NAME_LENGTH], by_folded_name, n=MAX_ALLOWED, cutoff=0.0)
    return [by_folded_name[name] for name in close]


def get_suggestion(detail: Mapping[str, Any]) -> str | None:
    """Return the suggestion for the mistaken name in *detail*, chosen from the allowed names."""
    if SUGGESTION_KEY in detail:
        suggestion: str | None = detail[SUGGESTION_KEY]
        return suggestion
    allowed, name = detail.get("allowed"), get_mistaken_name(detail)
    return closest_match(name, allowed) if isinstance(allowed, list | tuple) and name is not None else None


def get_mistaken_name(detail: Mapping[str, Any]) -> str | None:
    """Return the name in *detail* that is not allowed."""
    kind = next((name for name in MISTAKEN_KEYS if name in detail), "")
    value = detail.get(kind)
    if not isinstance(value, str):
        return None
    # The allowed names correspond to the last part of the path.
    return value.rpartition(".")[2] if kind == "parameter" else value
