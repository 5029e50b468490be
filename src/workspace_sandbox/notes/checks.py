"""Checks of what a request carries; a failed one is refused in the vendor's wording.

A path such as ``body.properties.Due.date.start`` names the place in the request.
"""

import json
import math
import re
from typing import Any
from uuid import UUID

from workspace_sandbox.notes.wire import Refusal, invalid

UNDEFINED: Any = object()
UUID_FORM = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
SHOWN = 200


def unfit(path: str, should: str, value: Any = UNDEFINED) -> Refusal:
    """The refusal of *value* at *path*."""
    shown = "undefined" if value is UNDEFINED else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    part = path.split(".", maxsplit=1)[0]
    return invalid(f"{part} failed validation: {path} should be {should}, instead was `{shown[:SHOWN]}`.")


def need(raw: dict[str, Any], key: str, path: str) -> Any:
    """The member *key* of *raw*, which must be there."""
    if key not in raw:
        raise unfit(f"{path}.{key}", "defined")
    return raw[key]


def obj(raw: Any, path: str, *allowed: str) -> dict[str, Any]:
    """An object; with *allowed*, one that has no other keys."""
    if not isinstance(raw, dict):
        raise unfit(path, "an object", raw)
    for key in raw if allowed else ():
        if key not in allowed:
            raise unfit(f"{path}.{key}", "not present", raw[key])
    return raw


def array(raw: Any, path: str, most: int = 100) -> list[Any]:
    """An array of at most *most* items."""
    if not isinstance(raw, list):
        raise unfit(path, "an array", raw)
    if len(raw) > most:
        raise unfit(f"{path}.length", f"≤ `{most}`", len(raw))
    return raw


def utf16_length(text: str) -> int:
    """Length as the vendor counts it, in UTF-16 code units."""
    # The vendor is written in JavaScript: an emoji counts as two. No page says so; the cautious reading is played.
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def string(raw: Any, path: str, most: int | None = None) -> str:
    """A string of at most *most* UTF-16 code units."""
    if not isinstance(raw, str):
        raise unfit(path, "a string", raw)
    if most is not None and utf16_length(raw) > most:
        raise unfit(f"{path}.length", f"≤ `{most}`", utf16_length(raw))
    return raw


def populated(raw: Any, path: str, most: int) -> str:
    """A string that is not empty."""
    if not string(raw, path, most):
        raise unfit(path, "populated", raw)
    return str(raw)


def number(raw: Any, path: str) -> int | float:
    """A finite number, which booleans are not."""
    # JSON knows true, and Python would count it as 1.
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not math.isfinite(raw):
        raise unfit(path, "a number", raw)
    return raw


def boolean(raw: Any, path: str) -> bool:
    """True or false."""
    if not isinstance(raw, bool):
        raise unfit(path, "a boolean", raw)
    return raw


def true(raw: Any, path: str) -> bool:
    """Nothing but true."""
    if raw is not True:
        raise unfit(path, "`true`", raw)
    return True


def one_of(raw: Any, path: str, choices: tuple[str, ...]) -> str:
    """One of the *choices*."""
    if not isinstance(raw, str) or raw not in choices:
        raise unfit(path, " or ".join(f'`"{choice}"`' for choice in choices), raw)
    return raw


def uid(raw: Any, path: str) -> str:
    """An identifier with or without dashes, returned with them."""
    if not isinstance(raw, str) or not UUID_FORM.fullmatch(raw):
        raise unfit(path, "a valid uuid", raw)
    return str(UUID(raw))


def sole(raw: dict[str, Any], path: str) -> tuple[str, Any]:
    """The only member of *raw*."""
    if len(raw) != 1:
        raise unfit(path, "an object with exactly one condition", raw)
    return next(iter(raw.items()))
