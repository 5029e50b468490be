"""Management: workspaces, keys, connections and the history of runs."""

import hmac
import inspect
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import Field
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from connector_gateway.core.arguments import Arguments
from connector_gateway.core.connections import Connections
from connector_gateway.core.cursors import Cursors
from connector_gateway.core.events.hooks import Hooks
from connector_gateway.core.keys import Caller, Keys, bearer
from connector_gateway.core.runs import Runs
from connector_gateway.core.workspaces import Plan, Workspaces
from connector_gateway.http.answers import HttpExchange, HttpResponse, refused, shown
from connector_gateway.http.bodies import read_body
from connector_gateway.http.routes import Edge, Methods, query_of, unforeseen
from connector_gateway.kit.errors import GatewayError, InvalidApiKey, OperatorTokenRequired
from connector_gateway.kit.identifiers import ConnectionId, KeyId, WorkspaceId
from connector_gateway.kit.shapes import Cursor, Identifier, Instant, Params

NAME = Annotated[str, Field(min_length=1, max_length=200)]


@dataclass(frozen=True)
class Management:
    """What the management routes work on."""

    edge: Edge
    workspaces: Workspaces
    keys: Keys
    connections: Connections
    runs: Runs
    hooks: Hooks
    cursors: Cursors
    operator_token: str


@dataclass(frozen=True)
class Asked:
    """A management request that was let in: *caller* is None for the operator, who sees all."""

    management: Management
    caller: Caller | None

    @property
    def workspace_id(self) -> WorkspaceId | None:
        """The workspace that can be seen; all of them if None."""
        return self.caller.workspace_id if self.caller else None

    @property
    def connection_ids(self) -> Collection[ConnectionId] | None:
        """The connections that can be seen; all of the workspace if None."""
        return self.caller.connection_ids if self.caller else None

    def within(self, workspace_id: str | None) -> WorkspaceId | None:
        """The workspace to look into; a key's own, whatever was asked for."""
        return self.workspace_id or (WorkspaceId(workspace_id) if workspace_id else None)


@dataclass(frozen=True)
class ManagementRoute:
    """One management route."""

    name: str
    method: str
    path: str
    params: type[Params]
    perform: Callable[[Asked, Any], Awaitable[HttpResponse]]
    open_to_keys: bool
    description: str

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.name.replace("_", " ").capitalize()


MANAGEMENT: list[ManagementRoute] = []
"""Every management route, in the order of this page."""


def manages(
    route: str, *, open_to_keys: bool = False
) -> Callable[[Callable[[Asked, Any], Awaitable[HttpResponse]]], ManagementRoute]:
    """Declare a management route: for the operator, and where *open_to_keys* for a workspace's own keys."""
    method, _, path = route.partition(" ")

    def declare(perform: Callable[[Asked, Any], Awaitable[HttpResponse]]) -> ManagementRoute:
        params = get_type_hints(perform)["params"]
        description = inspect.getdoc(perform) or ""
        management = ManagementRoute(perform.__name__, method, path, params, perform, open_to_keys, description)
        MANAGEMENT.append(management)
        return management

    return declare


class CreateWorkspace(Params):
    """A workspace to be made."""

    name: NAME
    plan: Plan = "free"
    """Decides how long observed events are kept."""


class ListAll(Params):
    """Nothing to choose."""


class ChangeWorkspace(Params):
    """What is to be changed of a workspace."""

    workspace_id: Identifier
    name: NAME | None = None
    plan: Plan | None = None


class CreateKey(Params):
    """An API key to be made."""

    workspace_id: Identifier
    scope: Literal["read", "read_write"]
    name: Annotated[str, Field(max_length=200)] = ""
    expires_at: Instant | None = None
    calls_per_minute: Annotated[int, Field(ge=1, le=1_000_000)] = 120
    connection_ids: list[Identifier] | None = None
    """Limits the key to these connections."""


class ListKeys(Params):
    """Which keys to list."""

    workspace_id: Identifier | None = None


class RevokeKey(Params):
    """Which key to revoke."""

    key_id: Identifier


class CreateConnection(Params):
    """A connection to be made."""

    workspace_id: Identifier
    connector: str
    name: Annotated[str, Field(max_length=200)] = ""
    credentials: dict[str, str] = Field(repr=False)
    """The secrets of the authorisation, by the connector's names, such as ``token``; they are stored encrypted."""
    settings: dict[str, Any] = Field(default_factory=dict)


class ListConnections(Params):
    """Which connections to list."""

    workspace_id: Identifier | None = None
    connector: str | None = None


class NameConnection(Params):
    """Which connection."""

    connection_id: Identifier


class ChangeConnection(Params):
    """What is to be changed of a connection."""

    connection_id: Identifier
    name: Annotated[str, Field(max_length=200)] | None = None
    settings: dict[str, Any] | None = None
    credentials: dict[str, str] | None = Field(default=None, repr=False)


class NameHook(Params):
    """Whose deliveries."""

    connector: Identifier


class ShowRun(Params):
    """Which run to show."""

    run_id: Identifier


class ListRuns(Params):
    """Which runs to list."""

    workspace_id: Identifier | None = None
    connection_id: Identifier | None = None
    connector: str | None = None
    operation: str | None = None
    status: Literal["ok", "partial", "error", "running", "interrupted"] | None = None
    since: Instant | None = None
    cursor: Cursor | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50


@manages("POST /v1/workspaces")
async def create_workspace(asked: Asked, params: CreateWorkspace) -> HttpResponse:
    """Create a workspace."""
    return shown(await asked.management.workspaces.create(params.name, params.plan))


@manages("GET /v1/workspaces")
async def list_workspaces(asked: Asked, params: ListAll) -> HttpResponse:  # noqa: ARG001  # declared by it
    """List all workspaces, newest first."""
    return shown(await asked.management.workspaces.list())


@manages("PATCH /v1/workspaces/{workspace_id}")
async def change_workspace(asked: Asked, params: ChangeWorkspace) -> HttpResponse:
    """Change the name or plan of a workspace."""
    changes = params.model_dump(exclude={"workspace_id"}, exclude_none=True)
    return shown(await asked.management.workspaces.change(WorkspaceId(params.workspace_id), **changes))


@manages("POST /v1/keys")
async def create_key(asked: Asked, params: CreateKey) -> HttpResponse:
    """Create an API key; ``key`` is shown this once."""
    wanted = params.connection_ids
    created = await asked.management.keys.create(
        WorkspaceId(params.workspace_id),
        params.scope,
        name=params.name,
        calls_per_minute=params.calls_per_minute,
        connection_ids=None if wanted is None else [ConnectionId(connection_id) for connection_id in wanted],
        expires_at=params.expires_at.timestamp() if params.expires_at else None,
    )
    return shown(created)


@manages("GET /v1/keys")
async def list_keys(asked: Asked, params: ListKeys) -> HttpResponse:
    """List API keys, newest first, without the keys themselves."""
    return shown(await asked.management.keys.list(asked.within(params.workspace_id)))


@manages("DELETE /v1/keys/{key_id}")
async def revoke_key(asked: Asked, params: RevokeKey) -> HttpResponse:
    """Revoke an API key."""
    return shown(await asked.management.keys.revoke(KeyId(params.key_id)))


@manages("POST /v1/connections")
async def create_connection(asked: Asked, params: CreateConnection) -> HttpResponse:
    """Create a connection from credentials."""
    created = await asked.management.connections.create(
        WorkspaceId(params.workspace_id),
        params.connector,
        params.credentials,
        name=params.name,
        settings=params.settings,
    )
    return shown(created)


@manages("GET /v1/connections", open_to_keys=True)
async def list_connections(asked: Asked, params: ListConnections) -> HttpResponse:
    """List connections, newest first; secrets are never shown."""
    workspace_id = asked.within(params.workspace_id)
    return shown(await asked.management.connections.list(workspace_id, params.connector, asked.connection_ids))


@manages("GET /v1/connections/{connection_id}", open_to_keys=True)
async def show_connection(asked: Asked, params: NameConnection) -> HttpResponse:
    """Show a connection."""
    found = await asked.management.connections.show(params.connection_id, asked.workspace_id, asked.connection_ids)
    return shown(found)


@manages("PATCH /v1/connections/{connection_id}")
async def change_connection(asked: Asked, params: ChangeConnection) -> HttpResponse:
    """Change the name, settings or credentials of a connection."""
    changes = params.model_dump(exclude={"connection_id"}, exclude_none=True)
    return shown(await asked.management.connections.change(params.connection_id, **changes))


@manages("DELETE /v1/connections/{connection_id}")
async def remove_connection(asked: Asked, params: NameConnection) -> HttpResponse:
    """Remove a connection and its secrets; its history stays."""
    return shown(await asked.management.connections.remove(params.connection_id))


@manages("GET /v1/hooks/{connector}")
async def show_hook(asked: Asked, params: NameHook) -> HttpResponse:
    """Show the token that an application handed over for its deliveries, to be confirmed in its settings."""
    return shown(await asked.management.hooks.show(params.connector))


@manages("DELETE /v1/hooks/{connector}")
async def forget_hook(asked: Asked, params: NameHook) -> HttpResponse:
    """Forget the token of an application's deliveries, so that it can hand over another one."""
    return shown(await asked.management.hooks.forget(params.connector))


@manages("GET /v1/runs/{run_id}", open_to_keys=True)
async def show_run(asked: Asked, params: ShowRun) -> HttpResponse:
    """Show a run: how it ended, and every request it made upstream."""
    return shown(await asked.management.runs.show(params.run_id, asked.workspace_id, asked.connection_ids))


@manages("GET /v1/runs", open_to_keys=True)
async def list_runs(asked: Asked, params: ListRuns) -> HttpResponse:
    """List runs, newest first."""
    workspace_id = asked.within(params.workspace_id)
    filters = params.model_dump(include={"connection_id", "connector", "operation", "status"})
    binding = ("runs", workspace_id, filters, params.since)
    before = asked.management.cursors.read(params.cursor, *binding)["before"] if params.cursor else None
    since = params.since.timestamp() if params.since else None
    rows = await asked.management.runs.list(
        workspace_id, asked.connection_ids, before=before, limit=params.limit + 1, since=since, **filters
    )
    page = rows[: params.limit]
    more = len(rows) > params.limit
    cursor = asked.management.cursors.issue({"before": page[-1]["run_id"]}, *binding) if more else None
    return shown(page, next_cursor=cursor, paged=True)


class ManagementEndpoint:
    """One management route at its address."""

    def __init__(self, management: Management, route: ManagementRoute) -> None:
        self._management = management
        self._route = route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        exchange = HttpExchange(scope, receive)
        try:
            answer = await self._answer(exchange)
        except GatewayError as error:
            answer = refused(exchange.run, None, error)
        except Exception as fault:  # noqa: BLE001  # the edge of a surface: nothing leaves without our shape
            answer = refused(exchange.run, None, unforeseen(fault))
        await exchange.send(answer, send)

    async def _answer(self, exchange: HttpExchange) -> HttpResponse:
        route, edge = self._route, self._management.edge
        caller = await self._let_in(exchange)
        arguments = Arguments(
            path=exchange.scope["path_params"],
            query=query_of(exchange.scope),
            body=await read_body(exchange, edge.max_body_bytes) if route.method in {"POST", "PATCH"} else None,
        )
        params = arguments.read(route.params, connection=False)
        return await route.perform(Asked(self._management, caller), params)

    async def _let_in(self, exchange: HttpExchange) -> Caller | None:
        """None for the operator; the holder of a key where keys are let in."""
        authorization = exchange.header("authorization")
        if hmac.compare_digest(bearer(authorization).encode(), self._management.operator_token.encode()):
            return None
        try:
            caller = await self._management.keys.authenticate(authorization)
        except InvalidApiKey as error:
            raise InvalidApiKey("This is neither the operator token nor a current API key.") from error
        exchange.run.allowance = await self._management.edge.limits.peek(caller)
        if not self._route.open_to_keys:
            raise OperatorTokenRequired("An API key cannot do this.")
        return caller


def management_routes(management: Management) -> list[Route]:
    """Every management route at its address."""
    paths: dict[str, dict[str, ASGIApp]] = {}
    for route in MANAGEMENT:
        paths.setdefault(route.path, {})[route.method] = ManagementEndpoint(management, route)
    return [Route(path, Methods(management.edge, endpoints)) for path, endpoints in paths.items()]
