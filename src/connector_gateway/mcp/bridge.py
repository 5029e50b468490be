"""The protocol over standard input and output, each request of which is passed on to the running gateway."""

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
from connector_gateway.mcp.gateway_connection import GatewayConnection

Context = ServerRequestContext[Any, Any]
Paged = PaginatedRequestParams | None
R = TypeVar("R", bound=Result)


async def bridge(base_url: str, api_key: str) -> None:
    """Answer on standard output what is asked on standard input, until that ends."""
    async with GatewayConnection(base_url, api_key) as link:
        server = Bridge(link).server((await link.client()).instructions)
        async with stdio_server() as (asked, answered):
            await server.run(asked, answered, server.create_initialization_options())


class Bridge:
    """Passes requests on, and their results back, as they are."""

    def __init__(self, link: GatewayConnection) -> None:
        self._link = link

    def server(self, instructions: str | None) -> Server[Any]:
        """What is spoken to on this side."""
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
        """The tools of the gateway."""
        return await self._pass_on(ListToolsRequest(params=_page(params)), ListToolsResult)

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """A call, with the progress that the gateway tells of it."""
        wanted = context.session.report_progress if "progress_token" in (context.meta or {}) else None
        # Made anew, without what the client has said about its own connection to this side.
        asked = CallToolRequest(params=CallToolRequestParams(name=params.name, arguments=params.arguments))
        return await self._link.send(asked, CallToolResult, wanted)

    async def list_resources(self, _: Context, params: Paged) -> ListResourcesResult:
        """The resources of the gateway."""
        return await self._pass_on(ListResourcesRequest(params=_page(params)), ListResourcesResult)

    async def list_templates(self, _: Context, params: Paged) -> ListResourceTemplatesResult:
        """The addresses of resources that have something to be filled in."""
        return await self._pass_on(ListResourceTemplatesRequest(params=_page(params)), ListResourceTemplatesResult)

    async def read_resource(self, _: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """One resource."""
        asked = ReadResourceRequest(params=ReadResourceRequestParams(uri=params.uri))
        return await self._pass_on(asked, ReadResourceResult)

    async def _pass_on(self, request: Request[Any, Any], result: type[R]) -> R:
        return await self._link.send(request, result)


def _page(params: Paged) -> PaginatedRequestParams:
    """The same page, without what belongs to the connection that it was asked on."""
    return PaginatedRequestParams(cursor=params.cursor if params else None)
