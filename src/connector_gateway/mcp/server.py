"""The protocol's side of one request: lists tools and resources, calls operations, and ends with the request.

Nothing outlives a request: the present protocol has no sessions, and those of former versions are answered without.
"""

import asyncio
import time
from collections.abc import Awaitable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import anyio
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextResourceContents,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic_core import to_json
from sqlalchemy import Row
from sse_starlette.sse import AppStatus
from starlette.types import Message, Receive, Scope, Send

from connector_gateway import __version__
from connector_gateway.core.access.keys import Caller
from connector_gateway.core.access.rate_limit import raise_if_exceeded
from connector_gateway.core.calls.arguments import Body
from connector_gateway.core.calls.envelope import error_envelope
from connector_gateway.core.calls.error_details import truncate
from connector_gateway.core.connections import ConnectionSelector
from connector_gateway.core.history.runs import Run, RunStore
from connector_gateway.http.api.responses import RequestContext, common_headers, log_private
from connector_gateway.http.api.routes import ApiContext, result_or_error
from connector_gateway.kit.errors import CallerError, GatewayError, InvalidCursor, ToolNotFound
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.management.runs import RunRecord
from connector_gateway.mcp import resources, results
from connector_gateway.mcp.tool_calls import ToolCaller
from connector_gateway.mcp.tools import Tool, build_tools

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]
Paged = PaginatedRequestParams | None

NAME = "connector-gateway"
PROGRESS_SECONDS = 2.0
"""How often a client that wants to know is told that a call still goes on."""

INSTRUCTIONS = """\
Acts in the workspace applications that the user has connected.
Leave out connection_id unless you are told that there are several connections.
An error says what to do; where it names a link to connect again, give that link to the user; otherwise say whom to ask.
Pass an idempotency_key to writes; if the outcome of one is unknown, repeat it with the same key.
With dry_run a write tells what it would do, and does nothing.
"""


class _Called(msgspec.Struct):
    """What is called."""

    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class _Call(msgspec.Struct):
    """A request to call a tool, of which the arguments are wanted as they came."""

    params: _Called


class McpServices:
    """What all requests share."""

    def __init__(
        self, edge: ApiContext, choosing: ConnectionSelector, runs: RunStore, connectors: Mapping[str, AnyConnector]
    ) -> None:
        self.edge = edge
        self.choosing = choosing
        self.runs = runs
        self.tools = build_tools(connectors.values())
        self.calls = ToolCaller(edge.gateway, choosing)
        # It would end streams at once when the process is told to stop; calls under way have time to end.
        AppStatus.enable_automatic_graceful_drain = False

    async def answer(self, exchange: RequestContext, caller: Caller, body: Body, send: Send) -> None:
        """Answer one request of the protocol, whose *body* was read."""
        asked = McpRequest(self, exchange.run, caller, body.text, wants_progress=_wants_progress(body.value))
        manager = StreamableHTTPSessionManager(
            asked.server(),
            stateless=True,
            # A stream only for those who are told something before the end.
            json_response=not asked.wants_progress,
            max_request_body_size=self.edge.max_body_bytes,
        )
        async with anyio.create_task_group() as group, manager.run():
            if _cancels_on_disconnect(exchange):
                group.start_soon(_cancel_without_client, exchange.receive, group.cancel_scope)
            await manager.handle_request(_trimmed(exchange.scope), _again(body.text), _with_headers(exchange, send))
            group.cancel_scope.cancel()


@dataclass(frozen=True)
class McpRequest:
    """One request, and who sent it."""

    surface: McpServices
    run: Run
    caller: Caller
    text: bytes
    wants_progress: bool

    def server(self) -> Server[Any]:
        """The protocol's server for this request alone."""
        return Server(
            NAME,
            version=__version__,
            title="Connector gateway",
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            # No argument travels in a header; without this, every call would list all tools first.
            get_tool_input_schema=lambda _: None,
        )

    async def list_tools(self, _: Context, __: Paged) -> ListToolsResult:
        """The tools that the key may call, of the connectors that there are connections of."""
        connected = await self._given(self.surface.choosing.connectors(self.caller))
        tools = [tool for tool in self.surface.tools.values() if tool.connector.name in connected]
        return ListToolsResult(tools=[tool.declaration for tool in tools if tool.allowed_for(self.caller)])

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        """Perform an operation; what goes wrong is a result as well, for it is the agent who can mend it."""
        tool = await self._given(self._find_tool(params.name))
        # From the body itself: the package has made floats of its numbers.
        given = bytes(msgspec.json.decode(self.text, type=_Call).params.arguments)
        return await self._told_of(context, tool, self._perform(tool, given))

    async def _find_tool(self, name: str) -> Tool:
        tool = self.surface.tools.get(name)
        if tool is None:
            # The gateway refuses a call beyond the key's minute only where there is one.
            raise_if_exceeded(self.run.allowance)
            raise ToolNotFound(f"There is no tool {truncate(name)}.")
        return tool

    async def list_resources(self, _: Context, params: Paged) -> ListResourcesResult:
        """The list of connections, and the events of each."""
        after = params.cursor if params else None
        rows, following = await self._given(self._connections(after))
        events = resources.events_of(rows, self.surface.tools)
        # The list itself is one resource, however many pages its connections fill.
        listed = [resources.ALL, *events] if after is None else events
        return ListResourcesResult(resources=listed, next_cursor=following)

    async def list_templates(self, _: Context, __: Paged) -> ListResourceTemplatesResult:
        """The addresses that have something to be filled in."""
        return ListResourceTemplatesResult(resource_templates=list(resources.TEMPLATES))

    async def read_resource(self, context: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """What is behind an address."""
        text = await self._given(self._read(context, params.uri), uri=params.uri)
        contents = TextResourceContents(uri=params.uri, mime_type=resources.JSON, text=text.decode())
        return ReadResourceResult(contents=[contents])

    async def _read(self, context: Context, uri: str) -> bytes:
        if found := resources.EVENTS.fullmatch(uri):
            return await self._events(context, uri, found[1], found[2])
        if found := resources.RUN.fullmatch(uri):
            shown = await self.surface.runs.show(found[1], self.caller.workspace_id, self.caller.connection_ids)
            return to_json(RunRecord(**shown))
        if found := resources.LIST.fullmatch(uri):
            return resources.connections_json(*await self._connections(found[1]))
        raise resources.unknown_resource(uri)

    async def _connections(self, after: str | None) -> tuple[Sequence[Row[Any]], str | None]:
        """A page of connections, and where the next one begins."""
        if after is not None and not resources.CURSOR.fullmatch(after):
            raise InvalidCursor("The cursor was not issued for this request.", {"parameter": "cursor"})
        rows = await self.surface.choosing.list_usable(self.caller, resources.MOST_LISTED + 1, after=after)
        shown = rows[: resources.MOST_LISTED]
        return shown, shown[-1].connection_id if len(rows) > len(shown) else None

    async def _events(self, context: Context, uri: str, connection_id: str, cursor: str | None) -> bytes:
        connector = await self.surface.choosing.connector(self.caller, connection_id)
        tool = resources.events_tool(self.surface.tools, connector)
        if tool is None:
            raise resources.unknown_resource(uri)
        given = resources.events_arguments(connection_id, cursor)
        envelope = await self._told_of(context, tool, self.surface.calls.envelope(self.run, self.caller, tool, given))
        return results.truncate_result(envelope, tool.operation)[0]

    async def _perform(self, tool: Tool, given: bytes) -> CallToolResult:
        ended = await result_or_error(self._succeed(tool, given))
        status = ended.status if isinstance(ended, GatewayError) else 200
        self.surface.edge.metrics.for_operation(tool.connector.name, tool.operation.name).observe(status, self.run)
        if isinstance(ended, GatewayError):
            log_private(self.run, ended)
            return results.failed(self.run, tool.connector, ended)
        return ended

    async def _succeed(self, tool: Tool, given: bytes) -> CallToolResult:
        envelope = await self.surface.calls.envelope(self.run, self.caller, tool, given)
        return results.success_result(envelope, tool.operation)

    async def _told_of(self, context: Context, tool: Tool, work: Coroutine[Any, Any, T]) -> T:
        """The result of *work*, of which a client that wants to is told that it goes on."""
        task = asyncio.create_task(work)
        began = time.monotonic()
        try:
            while not task.done():
                elapsed, sent = time.monotonic() - began, len(self.run.trace.requests)
                await context.session.report_progress(round(elapsed, 1), message=_progress(tool, elapsed, sent))
                await asyncio.wait({task}, timeout=PROGRESS_SECONDS if self.wants_progress else None)
        finally:
            # The package cancels again and again until a task ends, which would keep this one from noting how it ended.
            if not task.done():
                task.cancel()
                with anyio.CancelScope(shield=True):
                    await asyncio.wait({task})
        return task.result()

    async def _given(self, work: Awaitable[T], **about: str) -> T:
        """What *work* gives; where it fails, an error of the protocol."""
        # The package would tell clients of former versions the text of any other exception.
        ended = await result_or_error(work)
        if isinstance(ended, GatewayError):
            self._refuse(ended, **about)
        return ended

    def _refuse(self, error: GatewayError, **about: str) -> NoReturn:
        """Raise *error* as the protocol has it, with what it is *about*."""
        log_private(self.run, error)
        body = error_envelope(self.run, None, error) | about
        code = INVALID_PARAMS if isinstance(error, CallerError) else INTERNAL_ERROR
        raise MCPError(code, results.error_text(body), body)


def _progress(tool: Tool, elapsed: float, sent: int) -> str:
    if elapsed < PROGRESS_SECONDS:
        return f"{tool.declaration.title}: begun."
    return (
        f"{tool.declaration.title}: {elapsed:.0f} seconds, {sent} requests answered by {tool.connector.vendor}; "
        "waiting for the next, or for a turn within what the application allows."
    )


def _wants_progress(request: Any) -> bool:
    """Whether the client has named a token to be told of progress by."""
    params = request.get("params") if isinstance(request, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and "progressToken" in meta


def _trimmed(scope: Scope) -> Scope:
    """*scope* with header values as HTTP reads them: without blanks around them, which the HTTP server leaves there."""
    return {**scope, "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"]]}


def _cancels_on_disconnect(exchange: RequestContext) -> bool:
    """Whether a client of this version means its call to be cancelled when it hangs up; formerly it did not."""
    version = exchange.header(b"mcp-protocol-version")
    return version is not None and version not in HANDSHAKE_PROTOCOL_VERSIONS


async def _cancel_without_client(receive: Receive, scope: anyio.CancelScope) -> None:
    # The body was read before, so what is left to come is only the end.
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _again(text: bytes) -> Receive:
    """Gives a body that was read once more, and then nothing; a client that leaves is noticed elsewhere."""
    given = False

    async def receive_again() -> Message:
        nonlocal given
        if given:
            await anyio.sleep_forever()
        given = True
        return {"type": "http.request", "body": text, "more_body": False}

    return receive_again


def _with_headers(exchange: RequestContext, send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = common_headers(exchange)
            names = {name for name, _ in own}
            message["headers"] = [*own, *(header for header in message["headers"] if header[0].lower() not in names)]
        await send(message)

    return send_with_headers
