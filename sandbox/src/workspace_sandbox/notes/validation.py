"""Validation of request fields, with errors in the vendor's words.

A path such as ``body.properties.Due.date.start`` names the field in the request.
"""

import json
import math
import re
from typing import Any
from uuid import UUID

from workspace_sandbox.notes.error_responses import ApiError, invalid

UNDEFINED: Any = object()
UUID_FORM = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
MAX_EXCERPT = 200


def invalid_field(path: str, should: str, value: Any = UNDEFINED) -> ApiError:
    """Return the error of *value* at *path*."""
    rendered = "undefined" if value is UNDEFINED else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    part = path.split(".", maxsplit=1)[0]
    return invalid(f"{part} failed validation: {path} should be {should}, instead was `{rendered[:MAX_EXCERPT]}`.")


def need(raw: dict[str, Any], key: str, path: str) -> Any:
    """Return the required member *key* of *raw*."""
    if key not in raw:
        raise invalid_field(f"{path}.{key}", "defined")
    return raw[key]


def obj(raw: Any, path: str, *allowed: str) -> dict[str, Any]:
    """Check for an object. With *allowed*, it must not have other keys."""
    if not isinstance(raw, dict):
        raise invalid_field(path, "an object", raw)
    for key in raw if allowed else ():
        if key not in allowed:
            raise invalid_field(f"{path}.{key}", "not present", raw[key])
    return raw


def array(raw: Any, path: str, most: int = 100) -> list[Any]:
    """Check for an array of at most *most* items."""
    if not isinstance(raw, list):
        raise invalid_field(path, "an array", raw)
    if len(raw) > most:
        raise invalid_field(f"{path}.length", f"≤ `{most}`", len(raw))
    return raw


def utf16_length(text: str) -> int:
    """Return the length in UTF-16 code units, in which the vendor counts."""
    # The vendor's code is JavaScript, in which an emoji counts as two. This is undocumented; the emulator is strict.
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def string(raw: Any, path: str, most: int | None = None) -> str:
    """Check for a string of at most *most* UTF-16 code units."""
    if not isinstance(raw, str):
        raise invalid_field(path, "a string", raw)
    if most is not None and utf16_length(raw) > most:
        raise invalid_field(f"{path}.length", f"≤ `{most}`", utf16_length(raw))
    return raw


def populated(raw: Any, path: str, most: int) -> str:
    """Check for a string that is not empty."""
    if not string(raw, path, most):
        raise invalid_field(path, "populated", raw)
    return str(raw)


def number(raw: Any, path: str) -> int | float:
    """Check for a finite number. Booleans are not numbers."""
    # Python counts true as 1, JSON does not.
    if isinstance(raw, bool) or not isinstance(raw, int | float) or not math.isfinite(raw):
        raise invalid_field(path, "a number", raw)
    return raw


def boolean(raw: Any, path: str) -> bool:
    """Check for a boolean."""
    if not isinstance(raw, bool):
        raise invalid_field(path, "a boolean", raw)
    return raw


def true(raw: Any, path: str) -> bool:
    """Check for the literal true."""
    if raw is not True:
        raise invalid_field(path, "`true`", raw)
    return True


def one_of(raw: Any, path: str, choices: tuple[str, ...]) -> str:
    """Check for one of *choices*."""
    if not isinstance(raw, str) or raw not in choices:
        raise invalid_field(path, " or ".join(f'`"{choice}"`' for choice in choices), raw)
    return raw


def uid(raw: Any, path: str) -> str:
    """Check for an identifier with or without dashes, and return it with dashes."""
    if not isinstance(raw, str) or not UUID_FORM.fullmatch(raw):
        raise invalid_field(path, "a valid uuid", raw)
    return str(UUID(raw))


def sole(raw: dict[str, Any], path: str) -> tuple[str, Any]:
    """Return the only member of *raw*."""
    if len(raw) != 1:
        raise invalid_field(path, "an object with exactly one condition", raw)
    return next(iter(raw.items()))
