"""An MCP server on standard input and output that forwards each request to the running gateway."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequest,
    CallToolRequestParams,
    CallToolResult,
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

from connector_gateway import __version__
from connector_gateway.mcp.stdio_proxy_connection import GatewayConnection

Context = ServerRequestContext[Any, Any]
Paged = PaginatedRequestParams | None
R = TypeVar("R", bound=Result)


KEY_ID = re.compile(r"\bkey_[0-9A-Z]+")
"""The identifier of the key, as the gateway's instructions name it."""


async def serve_stdio_proxy(
    base_url: str, api_key: str, selection: Mapping[str, str], report_key: Callable[[str], None]
) -> None:
    """Serve requests from standard input on standard output until the input ends.

    *report_key* receives the identifier of the key once the gateway has accepted it.
    """
    async with GatewayConnection(base_url, api_key, selection) as connection:
        instructions = (await connection.client()).instructions or ""
        report_key(*KEY_ID.findall(instructions)[:1] or ["a key"])
        server = StdioProxy(connection).server(instructions)
        async with stdio_server() as (requests, responses):
            await server.run(requests, responses, server.create_initialization_options())


class StdioProxy:
    """Forwards requests and their results unchanged."""

    def __init__(self, connection: GatewayConnection) -> None:
        self._connection = connection

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

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """Call a tool, and forward progress notifications of the gateway."""
        on_progress = context.session.report_progress if "progress_token" in (context.meta or {}) else None
        # A new request, without the metadata of the local connection.
        request = CallToolRequest(params=CallToolRequestParams(name=params.name, arguments=params.arguments))
        return await self._connection.send(request, CallToolResult, on_progress)

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


def _page(params: Paged) -> PaginatedRequestParams:
    """Return the cursor of *params*, without the metadata of the local connection."""
    return PaginatedRequestParams(cursor=params.cursor if params else None)
