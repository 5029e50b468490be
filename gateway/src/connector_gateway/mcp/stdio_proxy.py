"""An MCP server on standard input and output that forwards each request to the running gateway."""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitResult,
    InputRequiredResult,
    InputResponses,
    ListResourcesRequest,
    ListResourcesResult,
    ListResourceTemplatesRequest,
    ListResourceTemplatesResult,
    ListToolsRequest,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequest,
    ReadResourceRequestParams,
    ReadResourceResult,
    Request,
    Result,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import TypeAdapter

from connector_gateway import __version__
from connector_gateway.mcp.elicitation_support import ANSWER_SECONDS, shows_forms
from connector_gateway.mcp.stdio_proxy_connection import GatewayConnection

Context = ServerRequestContext[Any, Any]
Paged = PaginatedRequestParams | None
R = TypeVar("R", bound=Result)
CallResult = CallToolResult | InputRequiredResult
CALL_RESULT: TypeAdapter[CallResult] = TypeAdapter(CallResult)


KEY_ID = re.compile(r"\bkey_[0-9A-Z]+")
"""The identifier of the key, as the gateway's instructions name it."""


async def serve_stdio_proxy(
    base_url: str, api_key: str, selection: Mapping[str, str], report_key: Callable[[str], None]
) -> None:
    """Serve requests from standard input on standard output until the input ends.

    *report_key* receives the identifier of the key once the gateway has accepted it.
    """
    async with (
        GatewayConnection(base_url, api_key, selection) as connection,
        GatewayConnection(base_url, api_key, selection, shows_forms=True) as form_connection,
    ):
        instructions = (await connection.client()).instructions or ""
        report_key(*KEY_ID.findall(instructions)[:1] or ["a key"])
        server = StdioProxy(connection, form_connection).server(instructions)
        async with stdio_server() as (requests, responses):
            await server.run(requests, responses, server.create_initialization_options())


class StdioProxy:
    """Forwards requests and their results unchanged."""

    def __init__(self, connection: GatewayConnection, form_connection: GatewayConnection) -> None:
        self._connection = connection
        self._form_connection = form_connection
        """The connection for calls of a client that shows forms to a person."""

    def server(self, instructions: str) -> Server[Any]:
        """Return the MCP server for the local client."""
        return Server(
            "connector-gateway",
            version=__version__,
            title="Connector gateway",
            instructions=instructions,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
        )

    async def list_tools(self, _: Context, params: Paged) -> ListToolsResult:
        """Return the tools of the gateway."""
        return await self._forward(ListToolsRequest(params=_page(params)), ListToolsResult)

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallResult:
        """Call a tool, and forward progress notifications and questions of the gateway."""
        capabilities = context.session.client_capabilities
        has_forms = shows_forms(capabilities.elicitation if capabilities else None)
        connection = self._form_connection if has_forms else self._connection
        on_progress = context.session.report_progress if "progress_token" in (context.meta or {}) else None
        # A new request, without the metadata of the local connection.
        own = params.model_copy(update={"meta": None})
        result = await connection.send(CallToolRequest(params=own), CALL_RESULT, on_progress)
        if not isinstance(result, InputRequiredResult) or context.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return result
        # In earlier versions of the protocol the server itself asks, and then repeats the call.
        answered = {"input_responses": await _ask(context, result), "request_state": result.request_state}
        return await connection.send(CallToolRequest(params=own.model_copy(update=answered)), CALL_RESULT, on_progress)

    async def list_resources(self, _: Context, params: Paged) -> ListResourcesResult:
        """Return the resources of the gateway."""
        return await self._forward(ListResourcesRequest(params=_page(params)), ListResourcesResult)

    async def list_templates(self, _: Context, params: Paged) -> ListResourceTemplatesResult:
        """Return the resource templates of the gateway."""
        return await self._forward(ListResourceTemplatesRequest(params=_page(params)), ListResourceTemplatesResult)

    async def read_resource(self, _: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Return the contents of one resource."""
        request = ReadResourceRequest(params=ReadResourceRequestParams(uri=params.uri))
        return await self._forward(request, ReadResourceResult)

    async def _forward(self, request: Request[Any, Any], result: type[R]) -> R:
        return await self._connection.send(request, result)


async def _ask(context: Context, result: InputRequiredResult) -> InputResponses:
    """Return the answers to the questions of *result*, without those that the client has not answered in time."""
    answers: InputResponses = {}
    for name, question in (result.input_requests or {}).items():
        if isinstance(question, ElicitRequest):
            with suppress(MCPError):
                answers[name] = await context.session.send_request(
                    question,
                    ElicitResult,
                    ANSWER_SECONDS,
                    ServerMessageMetadata(related_request_id=context.request_id),
                )
    return answers


def _page(params: Paged) -> PaginatedRequestParams:
    """Return the cursor of *params*, without the metadata of the local connection."""
    return PaginatedRequestParams(cursor=params.cursor if params else None)
