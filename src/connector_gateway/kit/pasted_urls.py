"""Pasted addresses: what a person copies out of an application stands for the object that it shows.

A parameter that takes an identifier takes such an address as well; each room says how those of its application look.
"""

import re
from collections.abc import Callable

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

LONGEST = 2000
"""Characters of an address that is looked at."""

_SCHEME = re.compile(r"https?://", re.IGNORECASE)


def id_or_url(what: str, *forms: str) -> BeforeValidator:
    """Reads the address of *what* as its identifier; any other address is refused."""
    return BeforeValidator(_reader(forms, what))


def name_or_url(*forms: str) -> BeforeValidator:
    """Reads an address of one of these *forms* as an identifier; any other one may be a name."""
    return BeforeValidator(_reader(forms, None))


def _reader(forms: tuple[str, ...], what: str | None) -> Callable[[object], object]:
    """Turns an address into the identifier in it: the groups of the first of *forms* that matches, joined by dots.

    A form is a regular expression of a whole address without its scheme.
    """
    patterns = [re.compile(form) for form in forms]

    def read(given: object) -> object:
        scheme = _SCHEME.match(given) if isinstance(given, str) else None
        if scheme is None or not isinstance(given, str):
            return given
        address = given[scheme.end() :].strip() if len(given) <= LONGEST else ""
        found = next((match for pattern in patterns if (match := pattern.fullmatch(address))), None)
        if found is not None:
            return ".".join(found.groups())
        if what is None:
            return given
        raise PydanticCustomError("address", f"Is an address without the identifier of {what}")

    return read
