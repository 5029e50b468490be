"""The schemas of what is accepted and returned, each under the name of its class."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema
from typing_extensions import override

Schema = dict[str, Any]

ABOUT = {"description", "default"}
"""Keywords that describe a field rather than its values."""

COMPONENT = "#/components/schemas/{model}"


class WithoutTitles(GenerateJsonSchema):
    """Leaves out the titles that pydantic makes from the names of fields: generators take them for names of types."""

    @override
    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        return False


class SchemaRegistry:
    """The schemas of all shapes."""

    def __init__(self, accepted: Iterable[type[BaseModel]], returned: Iterable[type[BaseModel]]) -> None:
        self._params = _definitions(accepted, "validation")
        self._results = _definitions(returned, "serialization")

    def params_schema(self, params: type[BaseModel]) -> Schema:
        """The schema of *params*, whole."""
        return dict(self._params[params.__name__])

    def result_ref(self, item: type[BaseModel]) -> Schema:
        """A reference to the schema of *item*."""
        return reference(item.__name__)

    def definitions(self, top: Iterable[type[BaseModel]]) -> Mapping[str, Schema]:
        """The shapes of results, and those that parameters are made of; *top* are told by the routes that take them."""
        whole = {shape.__name__ for shape in top}
        parts = {name: with_nulls(schema) for name, schema in self._params.items() if name not in whole}
        return parts | self._results


def _definitions(shapes: Iterable[type[BaseModel]], mode: Any) -> dict[str, Schema]:
    wanted = [(shape, mode) for shape in dict.fromkeys(shapes)]
    _, schema = models_json_schema(wanted, ref_template=COMPONENT, schema_generator=WithoutTitles)
    return {
        name: {key: value for key, value in definition.items() if key != "title"}
        for name, definition in schema.get("$defs", {}).items()
    }


def inlined(shape: type[BaseModel]) -> Schema:
    """The schema of *shape* with those of its parts in their places."""
    schema = _definitions([shape], "serialization")
    placed: Schema = _in_place(schema[shape.__name__], schema)
    return placed


def _in_place(schema: Any, definitions: Mapping[str, Schema]) -> Any:
    if isinstance(schema, list):
        return [_in_place(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _in_place(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {name: _in_place(value, definitions) for name, value in schema.items()}


def reference(name: str) -> Schema:
    """A reference to the component called *name*."""
    return {"$ref": COMPONENT.format(model=name)}


def object_of(properties: Schema, **more: Any) -> Schema:
    """The schema of an object that has all of *properties*."""
    return {"type": "object", "required": list(properties), "properties": properties} | more


def body_of(properties: Schema, required: Sequence[str], description: str) -> Schema:
    """The schema of a body: nothing but *properties*, of which those that are not *required* may be null."""
    fields = {name: _without_empty_default(field) for name, field in properties.items()}
    schema: Schema = {"type": "object", "properties": fields, "additionalProperties": False}
    schema |= {"description": description} if description else {}
    whole: Schema = with_nulls(schema | ({"required": list(required)} if required else {}))
    return whole


def _without_empty_default(field: Schema) -> Schema:
    """Return *field* without a default of null or nothing: it is the same as leaving the field out."""
    if field.get("default") in (None, "", [], {}):
        return {name: value for name, value in field.items() if name != "default"}
    return field


def with_nulls(schema: Any) -> Any:
    """*schema*, in which every optional field of an object may be null, which means the same as leaving it out."""
    if isinstance(schema, list):
        return [with_nulls(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    whole = {name: with_nulls(value) for name, value in schema.items() if name != "properties"}
    if "properties" in schema:
        required = schema.get("required", [])
        whole["properties"] = {
            name: with_nulls(field) if name in required else _nullable(with_nulls(field))
            for name, field in schema["properties"].items()
        }
    return whole


def _nullable(schema: Schema) -> Schema:
    """*schema*, or null; what is said about it stays where it is looked for."""
    # It says so already.
    if {"type": "null"} in schema.get("anyOf", []):
        return schema
    about = {name: value for name, value in schema.items() if name in ABOUT}
    return {"anyOf": [{name: value for name, value in schema.items() if name not in ABOUT}, {"type": "null"}]} | about
