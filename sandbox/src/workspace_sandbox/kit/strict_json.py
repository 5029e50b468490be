"""Strict JSON parsing without ``NaN`` and ``Infinity``, which Python accepts and vendors reject."""

import json
from typing import Any, NoReturn


def parse_json(content: str | bytes) -> Any:
    """Return the value of *content*; raise ``ValueError`` or ``RecursionError`` if it is not JSON."""
    return json.loads(content, parse_constant=_reject_constant)


def _reject_constant(constant: str) -> NoReturn:
    raise ValueError(constant)
