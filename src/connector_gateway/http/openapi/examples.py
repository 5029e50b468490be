"""Examples of calls: what was really sent to the stand-ins through a gateway, and what came back."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pydantic_core import from_json


@dataclass(frozen=True)
class Example:
    """One call."""

    arguments: Mapping[str, Any]
    answer: Mapping[str, Any]


@cache
def examples() -> Mapping[str, Example]:
    """One call of each operation, by its operationId."""
    kept = from_json((files(__package__) / "examples.json").read_bytes())
    return {name: Example(**example) for name, example in kept.items()}
