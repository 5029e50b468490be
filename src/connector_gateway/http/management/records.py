"""What the management routes answer: records, as they are kept and may be seen."""

from typing import Any, Literal

from connector_gateway.core.operators import Role
from connector_gateway.core.workspaces import Plan
from connector_gateway.kit.shapes import Instant, Result


class WorkspaceRecord(Result):
    """A workspace: whose connections, keys and runs are whose."""

    workspace_id: str
    name: str
    plan: Plan
    """Decides how long observed events are kept."""

    created_at: Instant
    return_urls: list[str]
    """Where users may be sent back to after they have connected an account."""


class KeyRecord(Result):
    """An API key, without the key itself."""

    key_id: str
    workspace_id: str
    name: str
    scope: Literal["read", "read_write"]
    calls_per_minute: int
    connection_ids: list[str] | None
    """The connections that the key is limited to; null for all of the workspace."""

    manages_connections: bool
    """Whether the key may manage the connections of its workspace."""

    operations: list[str] | None
    """The operations that the key is limited to, by their names or patterns of names; null for all."""

    mentions: Literal["allow", "neutralise"] | None
    """Whether texts that it writes may mention people; null where that is up to the call."""

    ending: str
    """The last four characters of the key, to tell it by."""

    created_at: Instant
    expires_at: Instant | None
    revoked_at: Instant | None
    last_used_at: Instant | None
    """When it was used last, to some seconds."""


class CreatedKey(KeyRecord):
    """A new API key, the only time with the key itself."""

    key: str
    """To be sent as ``Authorization: Bearer``; it is not stored and cannot be shown again."""


class ConnectionRecord(Result):
    """A connection; its secrets are never shown."""

    connection_id: str
    workspace_id: str
    connector: str
    name: str
    status: Literal["pending", "active", "revoked", "removed"]
    """``pending`` until an account is connected, ``revoked`` while the application does not accept the credentials."""

    reason: str | None
    """Why it is revoked: ``withdrawn``, or ``refresh_interrupted`` where renewed credentials were lost."""

    account_id: str | None
    """Whose the connection is, by the application's own identifier; null where that was not asked."""

    account_name: str | None
    scopes: list[str] | None
    """What the application says was granted; null where it says nothing."""

    settings: dict[str, Any]
    watching_since: Instant | None
    """When everything was read for the first time, from which on all changes become events; null until then."""

    created_at: Instant
    updated_at: Instant
    expires_at: Instant | None
    """When the present credentials end, which are renewed before; null where nobody knows."""

    last_used_at: Instant | None
    """When a call last went through it, to the minute."""

    last_refreshed_at: Instant | None


class CreatedConnection(ConnectionRecord):
    """A new connection."""

    connect_url: str | None
    """Where its user connects an account, if none was given; ``expires_at`` is then when this link ends."""


class ConnectLinkRecord(Result):
    """A link by which the user of a connection connects its account."""

    connection_id: str
    status: Literal["pending", "active", "revoked"]
    connect_url: str
    expires_at: Instant
    """When the link ends."""


class MissingScope(Result):
    """What was not granted."""

    scope: str
    operations: list[str]
    """The operations that need it."""


class TestedConnection(ConnectionRecord):
    """A connection, as the application has just described it."""

    missing_scopes: list[MissingScope]


class HookWindow(Result):
    """Where an application may hand over the secret of its deliveries, and until when."""

    connector: str
    url: str
    """The address to subscribe in the application's settings; deliveries go there as well, also later."""

    closes_at: Instant


class ClosedWindow(Result):
    """From when on no secret is taken at addresses that were opened before."""

    connector: str
    closed_at: Instant


class HookSecret(Result):
    """The token that an application handed over for its deliveries."""

    connector: str
    verification_token: str | None
    """To be confirmed in the application's settings; null for an operator who may only look."""

    received_at: Instant


class WebhookRecord(Result):
    """An address that events are delivered to; its secret is never shown again."""

    webhook_id: str
    workspace_id: str
    connection_id: str | None
    """Whose events are delivered; null for all connections of the workspace."""

    types: list[str]
    """Types of events that are delivered; all of them if there are none."""

    url: str
    name: str
    status: Literal["active", "disabled"]
    reason: str | None
    """Why it is disabled: ``failing`` for three days, ``gone`` where the receiver said so, or ``by_operator``."""

    behind: int
    """How many connections have events that it has not accepted yet."""

    created_at: Instant
    updated_at: Instant
    delivered_at: Instant | None
    """When it last accepted an event."""

    failing_since: Instant | None
    """Since when an event is tried in vain; null while all goes well."""

    failing_connection_id: str | None
    """Whose event that is."""

    failing_result: Literal["refused", "timed_out", "unreachable", "not_allowed"] | None
    """What became of the last attempt."""

    failing_status: int | None
    """The HTTP status that was answered then; null where no answer came."""


class CreatedWebhook(WebhookRecord):
    """A webhook with its new secret, the only time that this is shown."""

    secret: str
    """What deliveries are signed with, after the Standard Webhooks convention."""


class Replay(Result):
    """What is delivered again."""

    webhook_id: str
    connection_id: str
    events: int
    """How many events that are."""


class OperatorRecord(Result):
    """An operator, without the token."""

    operator_id: str
    name: str
    role: Role
    created_at: Instant
    revoked_at: Instant | None


class CreatedOperator(OperatorRecord):
    """A new operator, the only time with the token itself."""

    token: str
    """To be sent as ``Authorization: Bearer``, or entered in the console; it is not stored, and never shown again."""


class AuditEntry(Result):
    """One administrative act, or refused ones of a kind."""

    sequence: int
    """Its number; there is no gap between numbers."""

    at: Instant
    actor: str
    """The name of an operator, the identifier of a key, ``cli``, ``connect_link``, ``application`` or ``anonymous``."""

    address: str | None
    """Where the request came from; null where there was none."""

    surface: Literal["http", "console", "cli", "connect", "hook"]
    act: str
    """What was done, such as ``create_key``: the ``operationId`` of its route, where it has one."""

    object_id: str
    """What it was done to."""

    workspace_id: str | None
    outcome: str
    """``ok``, or the code of the error by which it was refused."""

    count: int
    """How many acts that are; more than one only of refused ones."""

    details: dict[str, Any]
    """Names of what was changed or given, never values that are secret."""

    mac: str
    """What chains the entry to the one before it; ``connector-gateway audit verify`` checks it."""


class UpstreamRequest(Result):
    """One request to the third party."""

    at: Instant
    method: str
    path: str
    status: int | None
    """HTTP status of the answer; null where none came."""

    wait_ms: float
    """How long it waited for its turn."""

    duration_ms: float


class RunRecord(Result):
    """One call in the history."""

    run_id: str
    key_id: str
    """The key that called; empty where no caller asked for it."""

    connection_id: str | None
    connector: str
    operation: str
    surface: str
    """The way by which the call came, such as ``http``, ``cli`` or ``watch``."""

    dry_run: bool
    """Whether nothing was to be written, but told what would be."""

    status: Literal["ok", "partial", "error", "running", "interrupted"]
    http_status: int | None
    code: str | None
    """The error it ended with."""

    started_at: Instant
    duration_ms: float | None
    upstream: list[UpstreamRequest]
    idempotency: dict[str, Any] | None
    """What became of the idempotency key, where there was one."""

    and_more: int | None
    """How many more calls of the key were refused in that hour because its minute was used up, and have no run."""

    parameters: list[str] | None
    """Names of the parameters that were sent; null where they were not read, and of calls that nobody asked for."""

    details: list[dict[str, Any]] | None
    """What a refusal was about, by its names and codes: parameters, properties, fields, places; never their values.

    Of a write whose response was lost: ``found`` with what a search found, or ``sent_again`` with the step.
    """
