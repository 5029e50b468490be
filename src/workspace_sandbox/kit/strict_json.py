"""JSON as vendors read it: without the numbers ``NaN`` and ``Infinity``, which Python takes and they do not."""

import json
from typing import Any, NoReturn


def parse_json(content: str | bytes) -> Any:
    """Return the value of *content*; raise ``ValueError`` or ``RecursionError`` if it is not JSON."""
    return json.loads(content, parse_constant=_refuse)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
