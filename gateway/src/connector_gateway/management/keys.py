"""Create, list and revoke API keys."""

from typing import Annotated, Literal

from pydantic import Field

from connector_gateway.kit.errors import AgentsOff, KeyNotFound, QuotaExceeded, WorkspaceNotFound
from connector_gateway.kit.identifiers import ConnectionId, KeyId, WorkspaceId
from connector_gateway.kit.models import Identifier, Page, Params, Result, TextPattern, UtcDatetime
from connector_gateway.management.list_parameters import ListParams, Name
from connector_gateway.management.request import ManagementRequest, position_before
from connector_gateway.management.route_declaration import Resource

RESOURCE = Resource(
    "keys",
    columns=(
        "key_id",
        "name",
        "scope",
        "ending",
        "last_used_at",
        "revoked_at",
        "expires_at",
        "calls_per_minute",
        "workspace_id",
    ),
)

Scope = Literal["read", "read_write"]
Mentions = Literal["allow", "neutralise"]

OperationPattern = Annotated[
    str,
    Field(min_length=1, max_length=100),
    TextPattern(r"^[a-z0-9_*]+$", "Should consist of lowercase letters, digits, underscores and asterisks"),
]
"""The name of an operation after that of its connector; an asterisk matches any characters."""


class CreateKey(Params):
    """A new API key."""

    workspace_id: Identifier
    """The workspace whose connections the key can use."""

    scope: Scope
    """``read`` allows only reads, ``read_write`` also writes."""

    name: Name = ""
    """The purpose of the key."""

    expires_at: UtcDatetime | None = None
    """ISO 8601 date and time at which the key expires; never by default."""

    calls_per_minute: Annotated[int, Field(ge=1, le=1_000_000)] = 120
    """Calls that the key may make per minute."""

    connection_ids: list[Identifier] | None = None
    """Limits the key to these connections."""

    manages_connections: bool = False
    """Lets the key also create, change, reconnect, test and remove the connections of its workspace."""

    operations: Annotated[list[OperationPattern], Field(min_length=1, max_length=100)] | None = None
    """Limits the key to these operations, such as ``notes_create_page``, or to all that match ``notes_*``."""

    mentions: Mentions | None = None
    """Decides if texts that the key writes notify the people whom they mention.

    With ``neutralise`` mentions are written as plain text. By default, only calls of agents neutralise them, and calls
    with the header ``Prefer: mentions=neutralise``.
    """

    confirm: Annotated[list[OperationPattern], Field(min_length=1, max_length=100)] | None = None
    """Writes that a person has to confirm: the first call only returns its dry run and a token for the second one.

    Names or patterns of operations. The caller passes the confirmation on, so it prevents mistakes, not abuse.
    """

    passthrough: bool = False
    """Lets the key also send requests of its own to the vendors' APIs, through the connections that it can use."""


class CreateAgentCode(Params):
    """A code for the client of an agent, and the rights that it grants at most."""

    workspace_id: Identifier
    """The workspace whose connections the agent can use."""

    scope: Scope = "read_write"
    """``read`` allows only reads, ``read_write`` also writes."""

    name: Name = ""
    """The purpose of the agent; by default the name of its client."""

    calls_per_minute: Annotated[int, Field(ge=1, le=1_000_000)] = 120
    """Calls that the agent may make per minute."""

    connection_ids: list[Identifier] | None = None
    """Limits the agent to these connections."""

    operations: Annotated[list[OperationPattern], Field(min_length=1, max_length=100)] | None = None
    """Limits the agent to these operations, such as ``notes_create_page``, or to all that match ``notes_*``."""

    mentions: Mentions | None = None
    """Decides if texts that the agent writes notify the people whom they mention; by default they do not."""

    confirm: Annotated[list[OperationPattern], Field(min_length=1, max_length=100)] | None = None
    """Writes that a person has to confirm: the first call only returns its dry run and a token for the second one.

    Names or patterns of operations. The caller passes the confirmation on, so it prevents mistakes, not abuse.
    """


class ListKeys(ListParams):
    """The requested page of keys."""

    workspace_id: Identifier | None = None
    """Only keys of this workspace."""


class RevokeKey(Params):
    """The key to revoke."""

    key_id: Identifier


class KeyRecord(Result):
    """An API key, without the key itself."""

    key_id: str
    workspace_id: str
    name: str
    scope: Scope
    calls_per_minute: int
    connection_ids: list[str] | None
    """The connections that the key is limited to; null for all of the workspace."""

    manages_connections: bool
    """True if the key may manage the connections of its workspace."""

    operations: list[str] | None
    """The operations that the key is limited to, by their names or patterns of names; null for all."""

    mentions: Mentions | None
    """Decides if texts that the key writes notify the people whom they mention; null leaves that to the call."""

    passthrough: bool
    """True if the key may send requests of its own to the vendors' APIs."""

    confirm: list[str] | None
    """The writes that a person has to confirm, by their names or patterns of names."""

    agent: str | None
    """The client of an agent, as it names itself, and its host; empty until it is authorised, null for other keys."""

    ending: str
    """The last four characters of the key, to recognise it by; empty for agents, which have no key of their own."""

    created_at: UtcDatetime
    expires_at: UtcDatetime | None
    revoked_at: UtcDatetime | None
    last_used_at: UtcDatetime | None
    """Time of the last call, accurate to some seconds."""


class CreatedKey(KeyRecord):
    """A new API key, the only time with the key itself."""

    key: str = Field(repr=False)
    """To be sent as ``Authorization: Bearer``. It is not stored and cannot be shown again."""


class CreatedAgentCode(KeyRecord):
    """A new agent, the only time with its code."""

    agent_code: str = Field(repr=False)
    """To be entered within ten minutes on the page that the agent's client opens. It can be used once."""


@RESOURCE.route(
    "POST /v1/keys",
    "create WORKSPACE_ID",
    errors=[WorkspaceNotFound, QuotaExceeded],
    suggested={"scope": "read_write"},
    example={"scope": "read", "name": "Reports"},
)
async def create_key(request: ManagementRequest, params: CreateKey) -> CreatedKey:
    """Create an API key, which is shown only once."""
    connection_ids = params.connection_ids
    created = await request.management.keys.create(
        WorkspaceId(params.workspace_id),
        params.scope,
        name=params.name,
        calls_per_minute=params.calls_per_minute,
        connection_ids=None if connection_ids is None else [ConnectionId(one) for one in connection_ids],
        expires_at=params.expires_at.timestamp() if params.expires_at else None,
        manages_connections=params.manages_connections,
        operations=params.operations,
        mentions=params.mentions,
        passthrough=params.passthrough,
        confirm=params.confirm,
    )
    return CreatedKey(**created)


@RESOURCE.route(
    "POST /v1/agent_codes",
    "authorise-agent WORKSPACE_ID",
    open_to_managers=True,
    errors=[WorkspaceNotFound, QuotaExceeded, AgentsOff],
    example={"scope": "read", "name": "Research"},
)
async def create_agent_code(request: ManagementRequest, params: CreateAgentCode) -> CreatedAgentCode:
    """Create a one-time code with which a person authorises the client of an agent.

    The agent is listed and revoked like a key. A key that manages connections grants at most its own rights.
    """
    if not request.management.agent_oauth:
        raise AgentsOff("Agents cannot be authorised here.")
    workspace_id = request.own_workspace(params.workspace_id)
    rights = params.model_dump(exclude={"workspace_id"})
    keys = request.management.keys
    if request.caller is not None:
        rights = keys.limit_rights(rights, request.caller)
    return CreatedAgentCode(**await keys.create(workspace_id, for_agent=True, **rights))


@RESOURCE.route("GET /v1/keys", "list")
async def list_keys(request: ManagementRequest, params: ListKeys) -> Page[KeyRecord]:
    """List API keys, newest first, without the keys themselves."""
    workspace_id = request.workspace_filter(params.workspace_id)
    rows, before = await request.management.keys.page(workspace_id, request.before, params.limit)
    return Page(items=[KeyRecord(**row) for row in rows], position=position_before(before))


@RESOURCE.route(
    "DELETE /v1/keys/{key_id}",
    "revoke KEY_ID",
    errors=[KeyNotFound],
    confirmation="Calls with this key fail within five seconds. A revoked key cannot be restored.",
    done="The key is revoked.",
)
async def revoke_key(request: ManagementRequest, params: RevokeKey) -> KeyRecord:
    """Revoke an API key; the service rejects it within seconds."""
    return KeyRecord(**await request.management.keys.revoke(KeyId(params.key_id)))
