"""The OpenAPI document, made from the declarations alone."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from connector_gateway import __version__
from connector_gateway.core.arguments import CONNECTION
from connector_gateway.http.management import MANAGEMENT, ManagementRoute
from connector_gateway.http.routes import PREFIX
from connector_gateway.kit.errors import GatewayError
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.kit.shapes import Listing, Page, Params

Schema = dict[str, Any]

EXAMPLE_RUN = "run_01KAJ5T6M0Q7Z3X9V2B8N4C1DF"
CONNECTION_SCHEMA: Schema = {
    "type": "string",
    "minLength": 1,
    "description": "The authorised connection to act through.",
    "examples": ["conn_01KAJ5T6M0Q7Z3X9V2B8N4C1DF"],
}
IDEMPOTENCY_HEADER: Schema = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "Any caller-generated string. Repeating it within 24 hours returns the first result.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}
ABOUT = {"title", "description", "default"}
"""What a schema says of a field rather than of its values."""

NEXT_CURSOR: Schema = {"type": ["string", "null"], "description": "Null after the last page."}
ERROR_SCHEMA: Schema = {
    "type": "object",
    "description": "What every refusal and failure looks like.",
    "required": ["run_id", "connector", "error"],
    "properties": {
        "run_id": {"type": "string"},
        "connector": {"type": ["string", "null"]},
        "error": {
            "type": "object",
            "required": ["code", "message", "remedy", "details"],
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "remedy": {"type": "string"},
                "details": {"type": "array", "items": {"type": "object"}},
            },
        },
        "retry_after": {"type": "integer", "minimum": 1, "description": "Seconds to wait."},
    },
}


def openapi(connectors: Iterable[AnyConnector], base_url: str) -> Schema:
    """The document of *connectors* and the management routes, version 3.1."""
    connectors = list(connectors)
    schemas = _Schemas(
        [operation.params for connector in connectors for operation in connector.operations]
        + [management.params for management in MANAGEMENT],
        [operation.item for connector in connectors for operation in connector.operations]
        + [management.item for management in MANAGEMENT],
    )
    paths: dict[str, Schema] = {}
    for connector in connectors:
        for operation in connector.operations:
            address = paths.setdefault(f"{PREFIX}/{connector.name}{operation.path}", {})
            address[operation.method.lower()] = _operation(connector, operation, schemas)
    for management in MANAGEMENT:
        paths.setdefault(management.path, {})[management.method.lower()] = _management(management, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Connector gateway",
            "version": __version__,
            "summary": "Uniform operations over workspace applications, through connections that users authorised.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": base_url}],
        "security": [{"key": []}],
        "tags": [
            *({"name": connector.name, "description": connector.summary} for connector in connectors),
            {"name": "management", "description": "Workspaces, keys, connections and the history of runs."},
        ],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {"type": "http", "scheme": "bearer", "description": "An API key of a workspace."},
                "operator": {"type": "http", "scheme": "bearer", "description": "The operator token."},
            },
            "headers": _headers(),
            "schemas": {"Error": ERROR_SCHEMA, **schemas.definitions},
        },
    }


class _Schemas:
    """The JSON schemas of all shapes, named once."""

    def __init__(self, accepted: Sequence[type[BaseModel]], returned: Sequence[type[BaseModel]]) -> None:
        self._accepted, params = models_json_schema([(shape, "validation") for shape in dict.fromkeys(accepted)])
        self._returned, results = models_json_schema(
            [(shape, "serialization") for shape in dict.fromkeys(returned)], ref_template="#/components/schemas/{model}"
        )
        self._params = params["$defs"]
        self.definitions: Mapping[str, Schema] = results.get("$defs", {})

    def accepted(self, params: type[Params]) -> Schema:
        """The schema of what is accepted, whole."""
        schema = self._whole(self._accepted[params, "validation"])
        return {name: value for name, value in schema.items() if name != "title"}

    def returned(self, item: type[BaseModel]) -> Schema:
        """A reference to the schema of what is returned."""
        return dict(self._returned[item, "serialization"])

    def _whole(self, schema: Any) -> Any:
        """*schema* with references replaced by what they refer to."""
        if isinstance(schema, list):
            return [self._whole(item) for item in schema]
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            return self._whole(self._params[schema["$ref"].rpartition("/")[2]])
        return {name: self._whole(value) for name, value in schema.items()}


def _operation(connector: AnyConnector, operation: AnyOperation, schemas: _Schemas) -> Schema:
    schema = schemas.accepted(operation.params)
    parameters = _path_parameters(schema, operation.path_names)
    described: Schema = {
        "operationId": f"{connector.name}_{operation.name}",
        "tags": [connector.name],
        "summary": operation.title,
        "description": f"{operation.description}\n\nNeeds a key that may {operation.scope}.",
        "responses": {"200": _success(connector, operation, schemas), **_refusals(operation.refusals)},
    }
    rest = {name: value for name, value in schema["properties"].items() if name not in operation.path_names}
    required = [CONNECTION, *(name for name in schema.get("required", []) if name in rest)]
    if operation.method == "GET":
        parameters += [
            {"name": name, "in": "query", "required": name in required, "schema": value, **_description(value)}
            for name, value in ({CONNECTION: CONNECTION_SCHEMA} | rest).items()
        ]
    else:
        described["requestBody"] = _body({CONNECTION: CONNECTION_SCHEMA} | rest, required)
    if operation.scope == "write":
        parameters.append(IDEMPOTENCY_HEADER)
    return described | {"parameters": parameters}


def _management(management: ManagementRoute, schemas: _Schemas) -> Schema:
    schema = schemas.accepted(management.params)
    names = {part[1:-1] for part in management.path.split("/") if part.startswith("{")}
    parameters = _path_parameters(schema, names)
    rest = {name: value for name, value in schema.get("properties", {}).items() if name not in names}
    required = [name for name in schema.get("required", []) if name in rest]
    described: Schema = {
        "operationId": management.name,
        "tags": ["management"],
        "summary": management.title,
        "description": management.description,
        "security": [{"operator": []}, *([{"key": []}] if management.open_to_keys else [])],
        "responses": {"200": _managed(management, schemas), **_refusals(management.refusals)},
    }
    if management.has_body:
        described["requestBody"] = _body(rest, required)
    else:
        parameters += [
            {"name": name, "in": "query", "required": name in required, "schema": value, **_description(value)}
            for name, value in rest.items()
        ]
    return described | {"parameters": parameters}


def _path_parameters(schema: Schema, names: Iterable[str]) -> list[Schema]:
    return [
        {"name": name, "in": "path", "required": True, "schema": value, **_description(value)}
        for name, value in schema.get("properties", {}).items()
        if name in names
    ]


def _description(schema: Schema) -> Schema:
    return {"description": schema["description"]} if "description" in schema else {}


def _body(properties: Schema, required: Sequence[str]) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        schema["required"] = list(required)
    return {"required": True, "content": _json(_with_nulls(schema))}


def _with_nulls(schema: Any) -> Any:
    """*schema*, in which every optional field of an object may be null, which means the same as leaving it out."""
    if isinstance(schema, list):
        return [_with_nulls(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    whole = {name: _with_nulls(value) for name, value in schema.items() if name != "properties"}
    if "properties" in schema:
        required = schema.get("required", [])
        whole["properties"] = {
            name: _with_nulls(field) if name in required else _nullable(_with_nulls(field))
            for name, field in schema["properties"].items()
        }
    return whole


def _nullable(schema: Schema) -> Schema:
    """*schema*, or null; what is said about it stays where it is looked for."""
    if {"type": "null"} in schema.get("anyOf", []):
        return schema
    about = {name: value for name, value in schema.items() if name in ABOUT}
    return {"anyOf": [{name: value for name, value in schema.items() if name not in ABOUT}, {"type": "null"}]} | about


def _success(connector: AnyConnector, operation: AnyOperation, schemas: _Schemas) -> Schema:
    item = schemas.returned(operation.item)
    listed = issubclass(operation.result, Page | Listing)
    properties: Schema = {
        "run_id": {"type": "string", "examples": [EXAMPLE_RUN]},
        "connector": {"const": connector.name},
        "status": {"enum": ["ok", "partial"]},
        "data": {"type": "array", "items": item} if listed else item,
    }
    if operation.pages:
        properties["next_cursor"] = NEXT_CURSOR
    return {
        "description": operation.summary,
        "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in _headers()},
        "content": _json(_object(properties)),
    }


def _managed(management: ManagementRoute, schemas: _Schemas) -> Schema:
    """The answer of a management route, which has no envelope but ``data``."""
    item = schemas.returned(management.item)
    properties: Schema = {"data": {"type": "array", "items": item} if management.lists else item}
    if management.pages:
        properties["next_cursor"] = NEXT_CURSOR
    return {"description": management.description, "content": _json(_object(properties))}


def _object(properties: Schema) -> Schema:
    """The schema of an object that has all of *properties*."""
    return {"type": "object", "required": list(properties), "properties": properties}


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _refusals(errors: Sequence[type[GatewayError]]) -> Schema:
    by_status = sorted(errors, key=lambda error: error.status)
    return {str(status): _refusal(list(group)) for status, group in groupby(by_status, key=lambda error: error.status)}


def _refusal(errors: Sequence[type[GatewayError]]) -> Schema:
    described = "\n".join(f"- `{error.code}`: {(error.__doc__ or '').strip()} {error.remedy}" for error in errors)
    examples = {error.code: {"value": _example(error)} for error in errors}
    return {"description": described, "content": _error_content(examples)}


def _error_content(examples: Schema) -> Schema:
    content: Schema = {"schema": {"$ref": "#/components/schemas/Error"}}
    return {"application/json": content | ({"examples": examples} if examples else {})}


def _example(error: type[GatewayError]) -> Schema:
    message = (error.__doc__ or "").strip()
    body: Schema = {
        "run_id": EXAMPLE_RUN,
        "connector": None,
        "error": {"code": error.code, "message": message, "remedy": error.remedy, "details": []},
    }
    return body | ({"retry_after": 12} if error.status == 429 else {})


def _headers() -> Schema:
    def header(description: str, kind: str = "string") -> Schema:
        return {"description": description, "schema": {"type": kind}}

    return {
        "X-Run-Id": header("The run identifier, as in the body."),
        "X-Service-RateLimit-Remaining": header("Calls that the key has left in the rolling minute.", "integer"),
        "Server-Timing": header("Milliseconds spent queueing, upstream, and in the gateway itself."),
        "Idempotent-Replayed": header("`true` where the result of an earlier call with the same key is given."),
    }
