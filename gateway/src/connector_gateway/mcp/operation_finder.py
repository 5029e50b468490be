"""The two tools that replace a long list of tools: one finds operations by a description, the other calls them."""

from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from mcp_types import Tool as ToolDeclaration
from pydantic_core import to_json

from connector_gateway.core.error_serialization import truncate
from connector_gateway.kit.errors import InvalidParameters
from connector_gateway.mcp.tool_ranking import rank
from connector_gateway.mcp.tools import Tool

T = TypeVar("T")

FIND, CALL = "find_operation", "call_operation"

MAX_MATCHES = 3


class _Request(msgspec.Struct, forbid_unknown_fields=True):
    request: str


class OperationCall(msgspec.Struct, forbid_unknown_fields=True):
    """The name of an operation, and its unparsed arguments."""

    operation: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


def declarations(tools: Collection[Tool]) -> list[ToolDeclaration]:
    """Return the declarations of both tools, for callers who may call *tools*."""
    vendors = ", ".join(dict.fromkeys(tool.connector.vendor for tool in tools))
    return [
        ToolDeclaration(
            name=FIND,
            title="Find an operation",
            description=f"Find operations in {vendors} by what they should do. Returns the {MAX_MATCHES} best matches, "
            f"with description and input_schema. Call them with {CALL}.",
            input_schema=_object(
                request={"type": "string", "description": "What to do, in words that name the application."}
            ),
            annotations=ToolAnnotations(
                read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
            ),
        ),
        ToolDeclaration(
            name=CALL,
            title="Call an operation",
            description=f"Call an operation in {vendors}. Use {FIND} first for its name and its input_schema. Returns "
            "the result of the operation.",
            input_schema=_object(
                operation={"type": "string", "description": f"A name from {FIND}."},
                arguments={"type": "object", "description": "The arguments, by the operation's input_schema."},
            ),
            annotations=ToolAnnotations(
                read_only_hint=all(tool.operation.scope == "read" for tool in tools),
                destructive_hint=any(tool.operation.overwrites for tool in tools),
                idempotent_hint=all(tool.operation.idempotent for tool in tools),
                open_world_hint=True,
            ),
        ),
    ]


def find(arguments: bytes, tools: Mapping[str, Tool]) -> CallToolResult:
    """Return the *tools* that match a request best, with their declarations."""
    request = decode_arguments(arguments, _Request).request
    matches = rank(request, {name: tool.searchable_text for name, tool in tools.items()})[:MAX_MATCHES]
    found = [
        {
            "operation": name,
            "description": tools[name].declaration.description,
            "input_schema": tools[name].declaration.input_schema,
        }
        for name in matches
    ]
    body = {"operations": found}
    return CallToolResult(content=[TextContent(text=to_json(body).decode())], structured_content=body)


def decode_arguments(arguments: bytes, form: type[T]) -> T:
    """Return *arguments* as *form*. Raises ``InvalidParameters``."""
    try:
        return msgspec.json.decode(arguments, type=form)
    except msgspec.DecodeError as error:
        raise InvalidParameters(f"The arguments are invalid: {truncate(str(error))}.") from error


def _object(**fields: Any) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": [*fields][:1], "additionalProperties": False}
