"""Create, connect, test, list, change and remove connections."""

from typing import Any, Literal

from pydantic import Field

from connector_gateway.core.history.run_filters import check_filters
from connector_gateway.kit import errors
from connector_gateway.kit.models import Identifier, Page, Params, Result, UtcDatetime
from connector_gateway.management.list_parameters import ListParams, Name
from connector_gateway.management.request import ManagementRequest, position_before
from connector_gateway.management.route_declaration import CommandDeclaration, Resource

RESOURCE = Resource(
    "connections",
    columns=("connection_id", "connector", "status", "name", "account_name", "updated_at", "workspace_id"),
)

UPSTREAM_ERRORS = (
    errors.UpstreamForbidden,
    errors.UpstreamRateLimited,
    errors.UpstreamError,
    errors.UpstreamUnexpected,
    errors.UpstreamTimeout,
    errors.UpstreamUnavailable,
)
"""Errors of requests to the vendor."""


class CreateConnection(Params):
    """A new connection."""

    workspace_id: Identifier
    connector: str
    name: Name = ""
    """A name for people."""

    credentials: dict[str, str] | None = Field(default=None, repr=False)
    """The secrets of the authorisation, by the connector's names, such as ``token``. They are stored encrypted.

    Without them the connection is pending, and the response has a link at which its user connects an account.
    """
    settings: dict[str, Any] = Field(default_factory=dict)
    """Settings of the connector, as a JSON object."""

    verify: bool = True
    """Checks with the vendor first whose the credentials are."""

    return_url: str | None = None
    """The URL for the final redirect: one of the workspace's ``return_urls``, which may have its own query."""


class ListConnections(ListParams):
    """The requested page of connections."""

    workspace_id: Identifier | None = None
    """Only connections of this workspace."""

    connector: str | None = None
    """Only connections of this connector."""


class NameConnection(Params):
    """The selected connection."""

    connection_id: Identifier


class ChangeConnection(Params):
    """Changes to a connection."""

    connection_id: Identifier
    name: Name | None = None
    """A new name."""

    settings: dict[str, Any] | None = None
    """New settings of the connector, as a JSON object. They replace the previous ones."""

    credentials: dict[str, str] | None = Field(default=None, repr=False)
    """New secrets, by the connector's names."""

    verify: bool = True
    """Checks with the vendor first whose the credentials are."""

    allow_other_account: bool = False
    """Accepts credentials of another account than before."""


class Reconnect(Params):
    """The connection to connect again."""

    connection_id: Identifier
    return_url: str | None = None
    """The URL for the final redirect: one of the workspace's ``return_urls``, which may have its own query."""

    allow_other_account: bool = False
    """Accepts another account than before."""


class Progress(Result):
    """Progress of the first read of a connection."""

    done: int
    total: int
    """Total number of databases or channels."""


class Rejection(Result):
    """A delivery that was rejected."""

    at: UtcDatetime
    why: str


class ConnectionRecord(Result):
    """A connection, without its secrets."""

    connection_id: str
    workspace_id: str
    connector: str
    name: str
    status: Literal["pending", "active", "revoked", "removed"]
    """``pending`` until an account is connected, ``revoked`` while the vendor rejects the credentials."""

    reason: str | None
    """Why it is revoked: ``withdrawn``, or ``refresh_interrupted`` if refreshed credentials were lost."""

    account_id: str | None
    """The vendor's identifier of the account; null if it was not requested."""

    account_name: str | None
    scopes: list[str] | None
    """Scopes that the vendor reports as granted; null if it reports none."""

    settings: dict[str, Any]
    watching_since: UtcDatetime | None
    """Time from which all changes become events; null until everything was read for the first time."""

    watching_progress: Progress | None
    """Progress of that first read; null before it is known, and after it has ended."""

    deliveries_rejected: Rejection | None
    """The last delivery for this connection, if its signature was not valid; null once one is accepted again."""

    created_at: UtcDatetime
    updated_at: UtcDatetime
    expires_at: UtcDatetime | None
    """Expiry of the present credentials, which are refreshed before; null if unknown."""

    last_used_at: UtcDatetime | None
    """Time of the last call through it, to the minute."""

    last_refreshed_at: UtcDatetime | None


class CreatedConnection(ConnectionRecord):
    """A new connection."""

    connect_url: str | None
    """The link at which the user connects an account, if no credentials were sent; ``expires_at`` is its expiry."""


class ConnectLinkRecord(Result):
    """A link at which the user of a connection connects its account."""

    connection_id: str
    status: Literal["pending", "active", "revoked"]
    connect_url: str
    expires_at: UtcDatetime
    """Expiry of the link."""


class MissingScope(Result):
    """A scope that was not granted."""

    scope: str
    operations: list[str]
    """The operations that need it."""


class TestedConnection(ConnectionRecord):
    """A connection, as the vendor has just described it."""

    missing_scopes: list[MissingScope]


@RESOURCE.route(
    "POST /v1/connections",
    CommandDeclaration(
        "create WORKSPACE_ID CONNECTOR",
        "Create a connection from credentials: a prompt asks for them on a terminal; otherwise they are read from "
        'standard input, as a JSON object such as {"token": "…"}.',
        options=("name", "settings", "verify"),
        required=("credentials",),
    ),
    CommandDeclaration(
        "connect WORKSPACE_ID CONNECTOR",
        "Create a link at which a user connects an account in a browser.",
        options=("name", "settings", "return_url"),
    ),
    open_to_managers=True,
    errors=[
        errors.WorkspaceNotFound,
        errors.QuotaExceeded,
        errors.CredentialsRefused,
        errors.ConnectNotSetUp,
        *UPSTREAM_ERRORS,
    ],
)
async def create_connection(request: ManagementRequest, params: CreateConnection) -> CreatedConnection:
    """Create a connection from credentials, or a link at which its user connects an account.

    Credentials are verified with the vendor first, and wrong ones are rejected.
    """
    created = await request.management.connecting.create(
        request.own_workspace(params.workspace_id),
        params.connector,
        params.credentials,
        name=params.name,
        settings=params.settings,
        verify=params.verify,
        return_url=params.return_url,
    )
    return CreatedConnection(**created)


@RESOURCE.route("GET /v1/connections", "list", open_to_keys=True)
async def list_connections(request: ManagementRequest, params: ListConnections) -> Page[ConnectionRecord]:
    """List connections, newest first, without their secrets."""
    check_filters(request.management.connectors, connector=params.connector)
    page = await request.management.connections.page(
        request.workspace_filter(params.workspace_id),
        request.connection_ids,
        connector=params.connector,
        before=request.before,
        limit=params.limit,
    )
    return Page(items=[ConnectionRecord(**row) for row in page.rows], position=position_before(page.before))


@RESOURCE.route(
    "GET /v1/connections/{connection_id}", "show CONNECTION_ID", open_to_keys=True, errors=[errors.ConnectionNotFound]
)
async def show_connection(request: ManagementRequest, params: NameConnection) -> ConnectionRecord:
    """Show a connection, without its secrets."""
    connections = request.management.connections
    return ConnectionRecord(
        **await connections.show(params.connection_id, request.workspace_id, request.connection_ids)
    )


@RESOURCE.route(
    "PATCH /v1/connections/{connection_id}",
    "change CONNECTION_ID",
    CommandDeclaration(
        "watch CONNECTION_ID",
        "Choose what a connection watches. The options replace the previous ones.",
        options=(),
        has_settings=True,
    ),
    open_to_managers=True,
    errors=[errors.ConnectionNotFound, errors.CredentialsRefused, errors.OtherAccount, *UPSTREAM_ERRORS],
)
async def change_connection(request: ManagementRequest, params: ChangeConnection) -> ConnectionRecord:
    """Change the name, settings or credentials of a connection."""
    await request.require_own_connection(params.connection_id)
    changes = params.model_dump(exclude={"connection_id"}, exclude_none=True)
    return ConnectionRecord(**await request.management.connecting.change(params.connection_id, **changes))


@RESOURCE.route(
    "POST /v1/connections/{connection_id}/reconnect",
    "reconnect CONNECTION_ID",
    open_to_managers=True,
    errors=[errors.ConnectionNotFound, errors.ConnectNotSetUp],
)
async def reconnect_connection(request: ManagementRequest, params: Reconnect) -> ConnectLinkRecord:
    """Create a link at which the user connects the account again; the connection keeps its identifier."""
    await request.require_own_connection(params.connection_id)
    issued = await request.management.connecting.reconnect(
        params.connection_id, return_url=params.return_url, allow_other_account=params.allow_other_account
    )
    return ConnectLinkRecord(**issued)


@RESOURCE.route(
    "POST /v1/connections/{connection_id}/test",
    "test CONNECTION_ID",
    open_to_managers=True,
    errors=[errors.ConnectionNotFound, errors.ConnectionPending, errors.OtherAccount, *UPSTREAM_ERRORS],
    done="The connection works: the vendor accepts its credentials.",
)
async def test_connection(request: ManagementRequest, params: NameConnection) -> TestedConnection:
    """Check with the vendor that a connection works, whose it is and what it allows; expired tokens are refreshed."""
    await request.require_own_connection(params.connection_id)
    return TestedConnection(**await request.management.connecting.test(params.connection_id))


@RESOURCE.route(
    "DELETE /v1/connections/{connection_id}",
    "remove CONNECTION_ID",
    open_to_managers=True,
    errors=[errors.ConnectionNotFound],
    confirmation="The gateway deletes its secrets, stops observing it and rejects calls through it; its history stays. "
    "The account can be connected again, as a new connection.",
    done="The connection is removed.",
)
async def remove_connection(request: ManagementRequest, params: NameConnection) -> ConnectionRecord:
    """Remove a connection and its secrets, which are revoked at the vendor if possible; its history stays."""
    await request.require_own_connection(params.connection_id)
    return ConnectionRecord(**await request.management.connecting.remove(params.connection_id))
