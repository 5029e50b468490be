"""URLs that a person copies from the vendor's pages and passes instead of an identifier.

A parameter that accepts an identifier also accepts such a URL. Each connector declares the URL forms of its vendor.
"""

import re
from collections.abc import Callable

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError

MAX_URL_LENGTH = 2000
"""The maximum length of a URL that is parsed, in characters."""

_SCHEME = re.compile(r"https?://", re.IGNORECASE)


def id_or_url(noun: str, *forms: str) -> BeforeValidator:
    """Return a validator that reads the URL of *noun* as its identifier, and rejects any other URL."""
    return BeforeValidator(_create_reader(forms, noun))


def name_or_url(*forms: str) -> BeforeValidator:
    """Return a validator that reads a URL of one of these *forms* as an identifier. Any other URL may be a name."""
    return BeforeValidator(_create_reader(forms, None))


def _create_reader(forms: tuple[str, ...], noun: str | None) -> Callable[[object], object]:
    """Return a function that extracts the identifier from a URL.

    The identifier consists of the groups of the first matching form, joined by dots. A form is a regular expression for
    a whole URL without its scheme.
    """
    patterns = [re.compile(form) for form in forms]

    def read(value: object) -> object:
        scheme = _SCHEME.match(value) if isinstance(value, str) else None
        if scheme is None or not isinstance(value, str):
            return value
        url = value[scheme.end() :].strip() if len(value) <= MAX_URL_LENGTH else ""
        matched = next((match for pattern in patterns if (match := pattern.fullmatch(url))), None)
        if matched is not None:
            return ".".join(matched.groups())
        if noun is None:
            return value
        raise PydanticCustomError("address", f"Is a URL without the identifier of {noun}")

    return read
