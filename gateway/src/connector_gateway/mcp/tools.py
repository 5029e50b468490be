"""MCP tools: every operation, built from its declaration."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from mcp_types import Tool as ToolDeclaration
from mcp_types import ToolAnnotations
from pydantic import BaseModel

from connector_gateway.core.access.keys import Caller
from connector_gateway.core.calls.arguments import CONNECTION
from connector_gateway.core.calls.idempotency_key_format import MAX_KEY_CHARACTERS
from connector_gateway.http.openapi.schemas import Schema, WithoutTitles
from connector_gateway.kit.models import IDEMPOTENCY_FIELD, Listing, Page
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.mcp.results import DRY_RUN

KEY_SCHEMA: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_KEY_CHARACTERS,
    "description": "Any text. Repeating the call with it within 24 hours returns the first result, "
    "without writing again. Use a new one for each new write.",
}
DRY_RUN_SCHEMA: Schema = {
    "type": "boolean",
    "description": "True to write nothing: `dry_run` returns the requests that would be sent, the casts of values, "
    "and the errors.",
}
WOULD_BE_SCHEMA: Schema = {"type": "object", "description": "Replaces `data` if `dry_run` was requested."}
ERROR_SCHEMA: Schema = {
    "type": "object",
    "description": "Replaces `data` if the call was rejected or failed.",
    "properties": {
        "code": {"type": "string"},
        "message": {"type": "string"},
        "remedy": {"type": "string", "description": "The next action."},
        "details": {"type": "array", "items": {"type": "object"}},
        "docs": {"type": "string"},
    },
}


@dataclass(frozen=True)
class Tool:
    """An operation and its tool declaration."""

    connector: AnyConnector
    operation: AnyOperation
    declaration: ToolDeclaration

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.declaration.name

    def allowed_for(self, caller: Caller) -> bool:
        """Return True if the key of *caller* may call the tool."""
        return caller.allows(self.operation.scope, self.name)


def build_tools(connectors: Iterable[AnyConnector]) -> Mapping[str, Tool]:
    """Return the tools of all operations of *connectors*, by name."""
    tools = [_tool(connector, operation) for connector in connectors for operation in connector.operations]
    return {tool.name: tool for tool in tools}


def _tool(connector: AnyConnector, operation: AnyOperation) -> Tool:
    name = f"{connector.name}_{operation.name}"
    title = f"{connector.name.capitalize()}: {operation.title.lower()}"
    declaration = ToolDeclaration(
        name=name,
        title=title,
        description=_description(connector, operation),
        input_schema=_input_schema(connector, operation),
        output_schema=_output_schema(connector, operation),
        annotations=ToolAnnotations(
            title=title,
            read_only_hint=operation.scope == "read",
            destructive_hint=operation.overwrites,
            idempotent_hint=operation.idempotent,
            # Other people use the same vendor accounts.
            open_world_hint=True,
        ),
    )
    return Tool(connector, operation, declaration)


def _description(connector: AnyConnector, operation: AnyOperation) -> str:
    """Return the description of a tool: the operation, its application, and how to read further pages."""
    sentences = [operation.description, f"Vendor: {connector.vendor}. {connector.summary}"]
    if operation.is_paged:
        sentences.append("Returns one page: pass `next_cursor` as `cursor` for the next one, until it is null.")
    return "\n\n".join(sentences)


def _input_schema(connector: AnyConnector, operation: AnyOperation) -> Schema:
    """Return the schema of the arguments."""
    params: type[BaseModel] = operation.params
    schema = _model_schema(params, "validation")
    connection: Schema = {
        "type": "string",
        "minLength": 1,
        "description": f"The connection to use; required only if there are several of {connector.name}.",
    }
    fields = {CONNECTION: connection} | schema.get("properties", {})
    if operation.scope == "write":
        # Operations with a field of this name describe it more precisely.
        fields.setdefault(IDEMPOTENCY_FIELD, KEY_SCHEMA)
        fields[DRY_RUN] = DRY_RUN_SCHEMA
    return _without_title(schema) | {"properties": fields}


def _output_schema(connector: AnyConnector, operation: AnyOperation) -> Schema:
    """Return the schema of the envelope or the error."""
    model: type[BaseModel] = operation.item
    schema = _model_schema(model, "serialization")
    definitions: Schema = schema.get("$defs", {})
    item = {name: value for name, value in _without_title(schema).items() if name != "$defs"}
    is_list = issubclass(operation.result, Page | Listing)
    fields: Schema = {
        "run_id": {"type": "string"},
        "connector": {"type": "string", "const": connector.name},
        "status": {"type": "string", "enum": ["ok", "partial"]},
        "data": {"type": "array", "items": item} if is_list else item,
        "warnings": {"type": "array", "items": {"type": "string"}},
        "replayed": {"type": "boolean", "description": "True if the result of an earlier call is returned again."},
        "shortened": {"type": "boolean", "description": "True if long texts were truncated."},
        "error": ERROR_SCHEMA,
        "retry_after": {"type": "integer", "description": "Seconds to wait before a repeat."},
    }
    if operation.scope == "write":
        fields[DRY_RUN] = WOULD_BE_SCHEMA
    if operation.is_paged:
        fields["next_cursor"] = {"type": ["string", "null"], "description": "Null after the last page."}
    envelope: Schema = {"type": "object", "properties": fields, "required": ["run_id", "connector"]}
    return envelope | ({"$defs": definitions} if definitions else {})


@cache
def _model_schema(model: type[BaseModel], mode: Literal["validation", "serialization"]) -> Schema:
    """Return the JSON schema of *model*, which callers must not modify. Cached, since pydantic needs a millisecond."""
    return model.model_json_schema(mode=mode, schema_generator=WithoutTitles)


def _without_title(schema: Mapping[str, Any]) -> Schema:
    return {name: value for name, value in schema.items() if name != "title"}
