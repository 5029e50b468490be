"""What somebody probably meant who wrote a name that does not exist."""

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from itertools import islice
from typing import Any

LONGEST = 100
"""Characters of a name that is compared; nobody mistypes a longer one."""

MOST = 250
"""Names that one is compared with, so that an error costs little however many are allowed."""

MAX_ALLOWED = 50
"""Names that an error lists."""

LIKENESS = 0.7
"""How much of two names is the same where one was probably meant by the other."""

MEANT = "did_you_mean"
"""What details call the name that was probably meant."""

GIVEN = ("value", "property", "field", "parameter")
"""What a detail calls the name that is not among those allowed; the first that is there."""


def closest_match(given: str, known: Collection[Any]) -> str | None:
    """The one of *known* that is most like *given*; None where nothing is like it, or *given* is among them."""
    if len(given) > LONGEST or given in known:
        return None
    names = {name.casefold(): name for name in islice(known, MOST) if isinstance(name, str) and len(name) <= LONGEST}
    found = get_close_matches(given.casefold(), names, n=1, cutoff=LIKENESS)
    return names[found[0]] if found else None


def nearest_first(given: str, known: Collection[str]) -> list[str]:
    """Return at most 50 of the names in *known*: all in their order, or the nearest ones first if there are more."""
    if len(known) <= MAX_ALLOWED:
        return list(known)
    compared = {name.casefold(): name for name in islice(known, MOST) if len(name) <= LONGEST}
    close = get_close_matches(given.casefold()[:LONGEST], compared, n=MAX_ALLOWED, cutoff=0.0)
    return [compared[name] for name in close]


def did_you_mean(detail: Mapping[str, Any]) -> str | None:
    """Which of the names that *detail* lists as allowed was probably meant."""
    if MEANT in detail:
        known: str | None = detail[MEANT]
        return known
    allowed, given = detail.get("allowed"), mistaken(detail)
    return closest_match(given, allowed) if isinstance(allowed, list | tuple) and given is not None else None


def mistaken(detail: Mapping[str, Any]) -> str | None:
    """Return the name in *detail* that is not among the allowed ones."""
    kind = next((name for name in GIVEN if name in detail), "")
    given = detail.get(kind)
    if not isinstance(given, str):
        return None
    # The allowed names are those beside the last part of a path.
    return given.rpartition(".")[2] if kind == "parameter" else given
