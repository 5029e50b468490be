"""What an operation takes and returns, as names and types for people."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from connector_gateway.kit.operation import AnyOperation
from connector_gateway.kit.shapes import DryRunResult, Listing

MOST_CHOICES = 6
"""Values of an enumeration that are named."""


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a part of a result."""

    name: str
    type: str


def parameters_of(operation: AnyOperation) -> Sequence[Field]:
    """The parameters that an operation takes."""
    return _fields(operation.params, "validation")


def result_of(operation: AnyOperation, *, dry_run: bool) -> Sequence[Field]:
    """The fields of ``data``; of its items where it is an array."""
    if dry_run:
        return _fields(DryRunResult, "serialization")
    fields = _fields(operation.item, "serialization")
    if not (operation.pages or issubclass(operation.result, Listing)):
        return fields
    return [Field(f"[].{field.name}", field.type) for field in fields]


def _fields(shape: type[BaseModel], mode: Any) -> Sequence[Field]:
    schema = shape.model_json_schema(mode=mode)
    definitions = schema.get("$defs", {})
    return [Field(name, _type(field, definitions)) for name, field in schema.get("properties", {}).items()]


def _type(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """The type that a JSON schema describes, in a few words."""
    if "$ref" in schema:
        return _type(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        # That a parameter may be left out is not what it was sent as.
        types = dict.fromkeys(_type(choice, definitions) for choice in choices)
        return " or ".join(name for name in types if name != "null")
    if "enum" in schema and len(schema["enum"]) <= MOST_CHOICES:
        return " or ".join(str(value) for value in schema["enum"])
    if schema.get("type") == "array":
        return f"array of {_type(schema.get('items', {}), definitions)}"
    return "instant" if schema.get("format") == "date-time" else str(schema.get("type", "any"))
