"""Examples of calls: requests that were sent to the emulators through a gateway, and their responses."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any

from pydantic_core import from_json

RECORDED: Mapping[str, str] = MappingProxyType({})
"""No connections but the recorded ones."""


@dataclass(frozen=True)
class Example:
    """One call."""

    arguments: Mapping[str, Any]
    answer: Mapping[str, Any]


def examples(connections: Mapping[str, str] = RECORDED) -> Mapping[str, Example]:
    """Return one call of each operation, by its operationId.

    The calls go through *connections*, by connector, and through the recorded connection if a connector has none.
    """
    text = (files(__package__) / "examples.json").read_text(encoding="utf-8")
    for name, call in from_json(text).items():
        own = connections.get(name.partition("_")[0])
        if own:
            text = text.replace(call["arguments"]["connection_id"], own)
    return {name: Example(**call) for name, call in from_json(text).items()}
