"""What the management routes accept."""

from typing import Annotated, Any, Literal

from pydantic import Field

from connector_gateway.core.operators import Role
from connector_gateway.core.workspaces import Plan
from connector_gateway.kit.shapes import Cursor, Form, Identifier, Instant, Params

NAME = Annotated[str, Field(min_length=1, max_length=200)]
PAGE = Annotated[int, Field(ge=1, le=200)]

RETURN_URLS = Annotated[list[Annotated[str, Field(max_length=2000)]], Field(max_length=20)]


class CreateWorkspace(Params):
    """A workspace to be made."""

    name: NAME
    plan: Plan = "free"
    """Decides how long observed events are kept."""

    return_urls: RETURN_URLS = Field(default_factory=list)
    """Where users may be sent back to after they have connected an account: https addresses without query."""


class ListWorkspaces(Params):
    """Which page of the workspaces to list."""

    cursor: Cursor | None = None
    limit: PAGE = 50


class ChangeWorkspace(Params):
    """What is to be changed of a workspace."""

    workspace_id: Identifier
    name: NAME | None = None
    plan: Plan | None = None
    return_urls: RETURN_URLS | None = None
    """Where users may be sent back to, in place of the former addresses."""


OperationPattern = Annotated[
    str,
    Field(min_length=1, max_length=100),
    Form(r"^[a-z0-9_*]+$", "Should consist of small letters, digits, underscores and asterisks"),
]
"""The name of an operation with its connector's before it; an asterisk stands for anything."""


class CreateKey(Params):
    """An API key to be made."""

    workspace_id: Identifier
    scope: Literal["read", "read_write"]
    name: Annotated[str, Field(max_length=200)] = ""
    expires_at: Instant | None = None
    calls_per_minute: Annotated[int, Field(ge=1, le=1_000_000)] = 120
    connection_ids: list[Identifier] | None = None
    """Limits the key to these connections."""

    manages_connections: bool = False
    """Whether the key may also create, change, connect again, test and remove the connections of its workspace."""

    operations: Annotated[list[OperationPattern], Field(min_length=1, max_length=100)] | None = None
    """Limits the key to these operations, such as ``notes_create_page``, or all like it, such as ``notes_*``."""

    mentions: Literal["allow", "neutralise"] | None = None
    """Whether texts that the key writes may mention people, so that the application notifies them.

    With ``neutralise`` mentions are written as plain text. Without a rule, only calls of agents neutralise them, and
    those with the header ``Prefer: mentions=neutralise``.
    """


class ListKeys(Params):
    """Which keys to list."""

    workspace_id: Identifier | None = None
    cursor: Cursor | None = None
    limit: PAGE = 50


class RevokeKey(Params):
    """Which key to revoke."""

    key_id: Identifier


class CreateConnection(Params):
    """A connection to be made."""

    workspace_id: Identifier
    connector: str
    name: Annotated[str, Field(max_length=200)] = ""
    credentials: dict[str, str] | None = Field(default=None, repr=False)
    """The secrets of the authorisation, by the connector's names, such as ``token``; they are stored encrypted.

    Without them the connection is pending, and the answer has a link by which its user connects an account.
    """
    settings: dict[str, Any] = Field(default_factory=dict)
    verify: bool = True
    """Whether the application is asked first whose the credentials are."""

    return_url: str | None = None
    """Where the user is sent afterwards; one of the workspace's ``return_urls``, with a query of its own if need be."""


class ListConnections(Params):
    """Which connections to list."""

    workspace_id: Identifier | None = None
    connector: str | None = None
    cursor: Cursor | None = None
    limit: PAGE = 50


class NameConnection(Params):
    """Which connection."""

    connection_id: Identifier


class ChangeConnection(Params):
    """What is to be changed of a connection."""

    connection_id: Identifier
    name: Annotated[str, Field(max_length=200)] | None = None
    settings: dict[str, Any] | None = None
    credentials: dict[str, str] | None = Field(default=None, repr=False)
    verify: bool = True
    """Whether the application is asked first whose the credentials are."""

    allow_other_account: bool = False
    """Whether the credentials may be those of another account than before."""


class Reconnect(Params):
    """Which connection is to be connected again."""

    connection_id: Identifier
    return_url: str | None = None
    """Where the user is sent afterwards; one of the workspace's ``return_urls``, with a query of its own if need be."""

    allow_other_account: bool = False
    """Whether another account than before may be connected."""


class NameHook(Params):
    """Whose deliveries."""

    connector: Identifier


WEBHOOK_URL = Annotated[str, Field(min_length=1, max_length=2000)]


EVENT_TYPES = Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=20)]


class CreateWebhook(Params):
    """A webhook to be made."""

    workspace_id: Identifier
    url: WEBHOOK_URL
    """Where events are delivered to: a public https address."""

    name: Annotated[str, Field(max_length=200)] = ""
    connection_id: Identifier | None = None
    """Whose events are delivered; those of all connections of the workspace if it is left out."""

    types: EVENT_TYPES | None = None
    """Types of events that are delivered, such as ``message.posted``; all of them if it is left out."""


class ListWebhooks(Params):
    """Which webhooks to list."""

    workspace_id: Identifier | None = None
    cursor: Cursor | None = None
    limit: PAGE = 50


class NameWebhook(Params):
    """Which webhook."""

    webhook_id: Identifier


class ChangeWebhook(Params):
    """What is to be changed of a webhook."""

    webhook_id: Identifier
    name: Annotated[str, Field(max_length=200)] | None = None
    url: WEBHOOK_URL | None = None
    status: Literal["active", "disabled"] | None = None
    """``active`` goes on where it stopped, at once; ``disabled`` delivers nothing until then."""

    types: EVENT_TYPES | None = None
    """Types of events that are delivered from now on, also of those that wait; all of them if there are none."""


class RotateWebhookSecret(Params):
    """Whose secret is replaced."""

    webhook_id: Identifier
    overlap_seconds: Annotated[int, Field(ge=0, le=30 * 24 * 60 * 60)] = 24 * 60 * 60
    """How long deliveries are signed with the former secret as well; 0 where it has become known."""


class ReplayWebhook(Params):
    """Which events are delivered again."""

    webhook_id: Identifier
    connection_id: Identifier
    since: Instant | None = None
    """Those observed at this instant or later."""

    after: Identifier | None = None
    """Those behind the event of this identifier; it goes before ``since``. Without either, all that are kept."""


class ListAudit(Params):
    """Which entries of the audit trail to list."""

    actor: Identifier | None = None
    """Who acted: the name of an operator, the identifier of a key, ``cli``, ``connect_link`` or ``application``."""

    act: Annotated[str, Field(max_length=60)] | None = None
    """What was done, such as ``create_key``."""

    object_id: Identifier | None = None
    """What it was done to, by its identifier."""

    workspace_id: Identifier | None = None
    outcome: Annotated[str, Field(max_length=40)] | None = None
    """``ok``, or the code of the error by which it was refused."""

    since: Instant | None = None
    until: Instant | None = None
    """Those before this instant."""

    cursor: Cursor | None = None
    limit: PAGE = 50


OPERATOR_NAME = Annotated[str, Field(min_length=1, max_length=60)]


class CreateOperator(Params):
    """An operator to be made."""

    name: OPERATOR_NAME
    """What the audit trail calls them: letters, digits and ``. _ @ + -``; a name is never given again."""

    role: Role = "viewer"
    """``viewer`` may look at everything and change nothing; ``admin`` may change everything."""


class ListOperators(Params):
    """Which page of the operators to list."""

    cursor: Cursor | None = None
    limit: PAGE = 50


class RevokeOperator(Params):
    """Which operator to revoke."""

    operator_id: Identifier
    """Its identifier, or its name."""


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
    limit: PAGE = 50
