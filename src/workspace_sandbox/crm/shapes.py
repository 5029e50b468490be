"""Reading pieces of a request into the shape they should have."""

from collections.abc import Mapping
from typing import Any

from workspace_sandbox.crm.rejections import malformed

MOST_DIGITS = 18


def digits(text: str) -> int | None:
    """The number that *text* spells in plain digits, if it does."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else None


def list_in(raw: Mapping[str, Any], name: str) -> list[Any]:
    """The list under *name*, empty when absent; refused if it is something else."""
    given = raw.get(name)
    if given is None:
        return []
    if not isinstance(given, list):
        raise malformed(f"Cannot deserialize value of type `ArrayList` from {type(given).__name__} ({name})")
    return given
