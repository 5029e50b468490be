"""Examples of calls: requests that were sent to the emulators through a gateway, and their responses."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from pydantic_core import from_json

Values = Mapping[str, Mapping[str, Any]]
"""Parameter values, by connector and name."""

RECORDED: Values = MappingProxyType({})
"""No replacements for the recorded values."""


@dataclass(frozen=True)
class Example:
    """One call."""

    arguments: Mapping[str, Any]
    answer: Mapping[str, Any]


def examples(values: Values = RECORDED) -> Mapping[str, Example]:
    """Return one call of each operation, by its operationId, with *values* instead of the recorded ones."""
    text = (files(__package__) / "examples.json").read_text(encoding="utf-8")
    for operation, call in from_json(text).items():
        own = values.get(operation.partition("_")[0], {})
        for name, recorded in call["arguments"].items():
            if isinstance(recorded, str) and isinstance(own.get(name), str):
                text = text.replace(f'"{recorded}"', f'"{own[name]}"')
    return {operation: Example(**call) for operation, call in from_json(text).items()}
