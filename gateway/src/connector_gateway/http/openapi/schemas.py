"""The schemas of parameters and results, each under the name of its class."""

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
    """Omits the titles that pydantic derives from field names, which code generators would use as type names."""

    @override
    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False."""
        return False


class SchemaRegistry:
    """The schemas of all parameters and results."""

    def __init__(self, accepted: Iterable[type[BaseModel]], returned: Iterable[type[BaseModel]]) -> None:
        self._params = _definitions(accepted, "validation")
        self._results = _definitions(returned, "serialization")

    def params_schema(self, params: type[BaseModel]) -> Schema:
        """Return the complete schema of *params*."""
        return dict(self._params[params.__name__])

    def result_ref(self, item: type[BaseModel]) -> Schema:
        """Return a reference to the schema of *item*."""
        return reference(item.__name__)

    def definitions(self, top: Iterable[type[BaseModel]]) -> Mapping[str, Schema]:
        """Return the schemas of results and of nested parameters. The routes describe those of *top* themselves."""
        top_names = {shape.__name__ for shape in top}
        parts = {name: with_nulls(schema) for name, schema in self._params.items() if name not in top_names}
        return parts | self._results


def _definitions(shapes: Iterable[type[BaseModel]], mode: Any) -> dict[str, Schema]:
    requested = [(shape, mode) for shape in dict.fromkeys(shapes)]
    _, schema = models_json_schema(requested, ref_template=COMPONENT, schema_generator=WithoutTitles)
    return {
        name: {key: value for key, value in definition.items() if key != "title"}
        for name, definition in schema.get("$defs", {}).items()
    }


def inline_schema(shape: type[BaseModel]) -> Schema:
    """Return the schema of *shape* with all references inlined."""
    schema = _definitions([shape], "serialization")
    result: Schema = _inline(schema[shape.__name__], schema)
    return result


def _inline(schema: Any, definitions: Mapping[str, Schema]) -> Any:
    if isinstance(schema, list):
        return [_inline(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inline(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    return {name: _inline(value, definitions) for name, value in schema.items()}


def reference(name: str) -> Schema:
    """Return a reference to the component *name*."""
    return {"$ref": COMPONENT.format(model=name)}


def object_schema(properties: Schema, **more: Any) -> Schema:
    """Return the schema of an object in which all *properties* are required."""
    return {"type": "object", "required": list(properties), "properties": properties} | more


def body_schema(properties: Schema, required: Sequence[str], description: str) -> Schema:
    """Return the schema of a body with only *properties*. Those that are not *required* may be null."""
    fields = {name: _without_empty_default(field) for name, field in properties.items()}
    schema: Schema = {"type": "object", "properties": fields, "additionalProperties": False}
    schema |= {"description": description} if description else {}
    result: Schema = with_nulls(schema | ({"required": list(required)} if required else {}))
    return result


def _without_empty_default(field: Schema) -> Schema:
    """Return *field* without a null or empty default, which is equivalent to omitting the field."""
    if field.get("default") in (None, "", [], {}):
        return {name: value for name, value in field.items() if name != "default"}
    return field


def with_nulls(schema: Any) -> Any:
    """Return *schema* with every optional field nullable. Null is equivalent to omitting the field."""
    if isinstance(schema, list):
        return [with_nulls(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {name: with_nulls(value) for name, value in schema.items() if name != "properties"}
    if "properties" in schema:
        required = schema.get("required", [])
        result["properties"] = {
            name: with_nulls(field) if name in required else _nullable(with_nulls(field))
            for name, field in schema["properties"].items()
        }
    return result


def _nullable(schema: Schema) -> Schema:
    """Return *schema* or null, with the description and the default outside the union."""
    # It is nullable already, or has any value.
    if {"type": "null"} in schema.get("anyOf", []) or schema.keys() <= ABOUT:
        return schema
    about = {name: value for name, value in schema.items() if name in ABOUT}
    return {"anyOf": [{name: value for name, value in schema.items() if name not in ABOUT}, {"type": "null"}]} | about
