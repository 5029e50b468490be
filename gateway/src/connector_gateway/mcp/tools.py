"""MCP tools: every operation, built from its declaration."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from mcp_types import Tool as ToolDeclaration
from mcp_types import ToolAnnotations
from pydantic import BaseModel

from connector_gateway.core.access.keys import Caller
from connector_gateway.core.calls.arguments import CONNECTION
from connector_gateway.core.calls.idempotency_key_format import MAX_KEY_CHARACTERS
from connector_gateway.core.calls.passthrough import operations_of
from connector_gateway.http.openapi.schemas import Schema, WithoutTitles
from connector_gateway.kit.models import IDEMPOTENCY_FIELD, Listing, Page
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.mcp.result_paging import CURSOR, items_field

CONNECTION_SCHEMA: Schema = {"type": "string"}
"""Described once, in the instructions of the server."""

KEY_SCHEMA: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": MAX_KEY_CHARACTERS,
    "description": "Repeating a call with the same key within 24 hours writes nothing again.",
}
DRY_RUN = "dry_run"
"""The argument for a dry run."""

DRY_RUN_SCHEMA: Schema = {"type": "boolean", "description": "Write nothing, and return what would be written."}

CONFIRMATION = "confirmation_token"
"""The argument with the token of a confirmed write."""

CONFIRMATION_SCHEMA: Schema = {
    "type": "string",
    "description": "The token of confirmation_required, after a person has confirmed exactly this call.",
}

CURSOR_SCHEMA: Schema = {"type": "string", "description": "next_cursor of the previous result."}

REDUNDANT: list[tuple[str, Any]] = [("default", None), ("default", []), ("additionalProperties", True)]
"""Keywords with values that are equivalent to leaving the keyword out."""


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

    @property
    def searchable_text(self) -> str:
        """The description, and the words of the name, which count twice."""
        return f"{self.name.replace('_', ' ')} " * 2 + (self.declaration.description or "")

    def for_caller(self, caller: Caller) -> "Tool":
        """Return the tool with the confirmation token in its schema if the key of *caller* requires confirmation."""
        if not caller.must_confirm(self.connector.name, self.operation):
            return self
        schema = self.declaration.input_schema
        properties = schema["properties"] | {CONFIRMATION: CONFIRMATION_SCHEMA}
        declaration = self.declaration.model_copy(update={"input_schema": schema | {"properties": properties}})
        return replace(self, declaration=declaration)

    def allowed_for(self, caller: Caller) -> bool:
        """Return True if the key of *caller* may call the tool."""
        return caller.allows(self.connector.name, self.operation)


def build_tools(connectors: Iterable[AnyConnector]) -> Mapping[str, Tool]:
    """Return the tools of all operations of *connectors*, by name."""
    tools = [_tool(connector, operation) for connector in connectors for operation in operations_of(connector)]
    return {tool.name: tool for tool in tools}


def _tool(connector: AnyConnector, operation: AnyOperation) -> Tool:
    declaration = ToolDeclaration(
        name=f"{connector.name}_{operation.name}",
        title=f"{connector.vendor}: {operation.title.lower()}",
        description=_description(connector, operation),
        input_schema=_input_schema(operation),
        annotations=ToolAnnotations(
            read_only_hint=operation.scope == "read",
            destructive_hint=operation.overwrites,
            idempotent_hint=operation.idempotent,
            # Other people use the same vendor accounts.
            open_world_hint=True,
        ),
    )
    return Tool(connector, operation, declaration)


def _description(connector: AnyConnector, operation: AnyOperation) -> str:
    """Return the description of a tool: the operation, when to use it, its vendor, and the fields of its result."""
    fields = ", ".join(field.alias or name for name, field in operation.item.model_fields.items())
    returned = f"Returns {'items with ' if _is_list(operation) else ''}{fields}."
    return _one_line(f"{operation.guidance} Vendor: {connector.vendor}. {returned}")


def _one_line(text: str) -> str:
    """Return *text* without line ends and code markup."""
    return " ".join(text.replace("``", "").split())


def _is_list(operation: AnyOperation) -> bool:
    return issubclass(operation.result, Page | Listing)


def _input_schema(operation: AnyOperation) -> Schema:
    """Return the schema of the arguments."""
    params: type[BaseModel] = operation.params
    schema: Schema = _compact(_model_schema(params))
    fields = {CONNECTION: CONNECTION_SCHEMA} | schema.get("properties", {})
    if operation.scope == "write":
        if operation.keyed:
            fields[IDEMPOTENCY_FIELD] = KEY_SCHEMA
        fields[DRY_RUN] = DRY_RUN_SCHEMA
    if items_field(operation) is not None:
        fields[CURSOR] = CURSOR_SCHEMA
    schema.pop("description", None)
    return schema | {"properties": fields}


@cache
def _model_schema(model: type[BaseModel]) -> Schema:
    """Return the JSON schema of *model*, which callers must not modify. Cached, since pydantic needs a millisecond."""
    return model.model_json_schema(schema_generator=WithoutTitles)


def _compact(schema: Any) -> Any:
    """Return *schema* without what restricts nothing. Null is equivalent to omitting a field, so it is not listed."""
    if isinstance(schema, list):
        return [_compact(item) for item in schema]
    if not isinstance(schema, dict):
        return _one_line(schema) if isinstance(schema, str) else schema
    *alternatives, last = schema.get("anyOf", [None])
    if last == {"type": "null"} and len(alternatives) == 1:
        schema = {**alternatives[0], **{name: value for name, value in schema.items() if name != "anyOf"}}
    return {
        # Fields may have the names of keywords.
        name: {field: _compact(value) for field, value in value.items()} if name == "properties" else _compact(value)
        for name, value in schema.items()
        if name not in ("title", "examples") and (name, value) not in REDUNDANT
    }
