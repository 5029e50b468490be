"""Declaration of checks, and the comparison of expected with observed behaviour."""

import re
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass, field
from typing import Any

from connector_gateway.verify.account_under_test import Account

Run = Callable[[Account], Coroutine[Any, Any, None]]

VENDOR_WORD = re.compile(r"[A-Za-z]{1,40}(?:[_.\-/ ][A-Za-z]{1,40}){0,6}")
"""Codes and types of vendors, such as ``object_not_found``. Checks compare no names and texts of people."""


class Contradicted(Exception):
    """The vendor does not behave as a fact says."""

    def __init__(self, expected: object, observed: object) -> None:
        super().__init__(f"expected {describe(expected)}, observed {describe(observed)}")
        self.expected = describe(expected)
        self.observed = describe(observed)


@dataclass(frozen=True)
class Check:
    """A check of one fact."""

    fact: str
    """The name of the fact, without the connector."""

    run: Run
    writes: bool
    """Whether it needs a place in which it may write."""


@dataclass(frozen=True)
class Checks:
    """The checks of one connector."""

    open_place: Run
    """Raises ``UnsuitablePlace`` if the account's place is of another kind or not empty."""

    place: str
    """The kind of place in which ``--write`` writes."""

    all: list[Check] = field(default_factory=list)

    def reads(self, run: Run) -> Run:
        """Register a check that changes nothing. The name of the function is that of the fact."""
        return self._register(run, writes=False)

    def writes(self, run: Run) -> Run:
        """Register a check that writes in the account's place."""
        return self._register(run, writes=True)

    def _register(self, run: Run, *, writes: bool) -> Run:
        self.all.append(Check(run.__name__.strip("_").replace("_", "-"), run, writes))
        return run


def expect(expected: object, observed: object) -> None:
    """Raise ``Contradicted`` if *observed* differs from *expected*."""
    if expected != observed:
        raise Contradicted(expected, observed)


def describe(value: object) -> str:
    """Return *value* for the report: texts by their shape only, unless they are words of the vendor."""
    if isinstance(value, str):
        return value if VENDOR_WORD.fullmatch(value) else shape_of(value)
    if isinstance(value, Collection):
        return ", ".join(describe(one) for one in value) or "nothing"
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)


def shape_of(text: str) -> str:
    """Return *text* with every digit as 9 and every letter as a or A."""
    return re.sub(r"[^\W\d_A-Z]", "a", re.sub(r"[^\W\d_a-z]", "A", re.sub(r"\d", "9", text)))[:40]
