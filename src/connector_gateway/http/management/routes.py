"""Every management route: what it does, with what, and what it answers."""

from collections.abc import Sequence

from connector_gateway.core.filters import require_known
from connector_gateway.http.management.declared import Asked, ManagementRoute, manages, position_before
from connector_gateway.http.management.params import (
    ChangeConnection,
    ChangeWebhook,
    ChangeWorkspace,
    CreateConnection,
    CreateKey,
    CreateOperator,
    CreateWebhook,
    CreateWorkspace,
    ListAudit,
    ListConnections,
    ListKeys,
    ListOperators,
    ListRuns,
    ListWebhooks,
    ListWorkspaces,
    NameConnection,
    NameHook,
    NameWebhook,
    Reconnect,
    ReplayWebhook,
    RevokeKey,
    RevokeOperator,
    RotateWebhookSecret,
    ShowRun,
)
from connector_gateway.http.management.records import (
    AuditEntry,
    ClosedWindow,
    ConnectionRecord,
    ConnectLinkRecord,
    CreatedConnection,
    CreatedKey,
    CreatedOperator,
    CreatedWebhook,
    HookSecret,
    HookWindow,
    KeyRecord,
    OperatorRecord,
    Replay,
    RunRecord,
    TestedConnection,
    WebhookRecord,
    WorkspaceRecord,
)
from connector_gateway.kit.errors import (
    ConnectionNotFound,
    ConnectionPending,
    ConnectNotSetUp,
    CredentialsRefused,
    HookNotFound,
    HookSecretKnown,
    KeyNotFound,
    OperatorNotFound,
    OtherAccount,
    QuotaExceeded,
    RunNotFound,
    RunNotRecorded,
    UpstreamError,
    UpstreamForbidden,
    UpstreamRateLimited,
    UpstreamTimeout,
    UpstreamUnavailable,
    UpstreamUnexpected,
    WebhookNotFound,
    WorkspaceNotFound,
)
from connector_gateway.kit.identifiers import ConnectionId, KeyId, WorkspaceId
from connector_gateway.kit.shapes import Page

ASKING = (
    UpstreamForbidden,
    UpstreamRateLimited,
    UpstreamError,
    UpstreamUnexpected,
    UpstreamTimeout,
    UpstreamUnavailable,
)
"""What asking the application can end with."""


@manages("POST /v1/workspaces")
async def create_workspace(asked: Asked, params: CreateWorkspace) -> WorkspaceRecord:
    """Create a workspace."""
    return WorkspaceRecord(**await asked.management.workspaces.create(params.name, params.plan, params.return_urls))


@manages("GET /v1/workspaces")
async def list_workspaces(asked: Asked, params: ListWorkspaces) -> Page[WorkspaceRecord]:
    """List workspaces, newest first."""
    rows, before = await asked.management.workspaces.page("", asked.before, params.limit)
    return Page(items=[WorkspaceRecord(**row) for row in rows], position=position_before(before))


@manages("PATCH /v1/workspaces/{workspace_id}", errors=[WorkspaceNotFound])
async def change_workspace(asked: Asked, params: ChangeWorkspace) -> WorkspaceRecord:
    """Change the name or plan of a workspace."""
    changes = params.model_dump(exclude={"workspace_id"}, exclude_none=True)
    return WorkspaceRecord(**await asked.management.workspaces.change(WorkspaceId(params.workspace_id), **changes))


@manages("POST /v1/keys", errors=[WorkspaceNotFound, QuotaExceeded])
async def create_key(asked: Asked, params: CreateKey) -> CreatedKey:
    """Create an API key; ``key`` is shown this once."""
    wanted = params.connection_ids
    created = await asked.management.keys.create(
        WorkspaceId(params.workspace_id),
        params.scope,
        name=params.name,
        calls_per_minute=params.calls_per_minute,
        connection_ids=None if wanted is None else [ConnectionId(connection_id) for connection_id in wanted],
        expires_at=params.expires_at.timestamp() if params.expires_at else None,
        manages_connections=params.manages_connections,
        operations=params.operations,
        mentions=params.mentions,
    )
    return CreatedKey(**created)


@manages("GET /v1/keys")
async def list_keys(asked: Asked, params: ListKeys) -> Page[KeyRecord]:
    """List API keys, newest first, without the keys themselves."""
    rows, before = await asked.management.keys.page(asked.within(params.workspace_id), asked.before, params.limit)
    return Page(items=[KeyRecord(**row) for row in rows], position=position_before(before))


@manages("DELETE /v1/keys/{key_id}", errors=[KeyNotFound])
async def revoke_key(asked: Asked, params: RevokeKey) -> KeyRecord:
    """Revoke an API key."""
    return KeyRecord(**await asked.management.keys.revoke(KeyId(params.key_id)))


@manages(
    "POST /v1/connections",
    open_to_managers=True,
    errors=[WorkspaceNotFound, QuotaExceeded, CredentialsRefused, ConnectNotSetUp, *ASKING],
)
async def create_connection(asked: Asked, params: CreateConnection) -> CreatedConnection:
    """Create a connection from credentials, or a link by which its user connects an account.

    The application is asked whose the credentials are; wrong ones are refused.
    """
    created = await asked.management.connecting.create(
        asked.own(params.workspace_id),
        params.connector,
        params.credentials,
        name=params.name,
        settings=params.settings,
        verify=params.verify,
        return_url=params.return_url,
    )
    return CreatedConnection(**created)


@manages("GET /v1/connections", open_to_keys=True)
async def list_connections(asked: Asked, params: ListConnections) -> Page[ConnectionRecord]:
    """List connections, newest first; secrets are never shown."""
    require_known(asked.management.connectors, connector=params.connector)
    page = await asked.management.connections.page(
        asked.within(params.workspace_id),
        asked.connection_ids,
        connector=params.connector,
        before=asked.before,
        limit=params.limit,
    )
    return Page(items=[ConnectionRecord(**row) for row in page.rows], position=position_before(page.before))


@manages("GET /v1/connections/{connection_id}", open_to_keys=True, errors=[ConnectionNotFound])
async def show_connection(asked: Asked, params: NameConnection) -> ConnectionRecord:
    """Show a connection."""
    found = await asked.management.connections.show(params.connection_id, asked.workspace_id, asked.connection_ids)
    return ConnectionRecord(**found)


@manages(
    "PATCH /v1/connections/{connection_id}",
    open_to_managers=True,
    errors=[ConnectionNotFound, CredentialsRefused, OtherAccount, *ASKING],
)
async def change_connection(asked: Asked, params: ChangeConnection) -> ConnectionRecord:
    """Change the name, settings or credentials of a connection."""
    await asked.require_own(params.connection_id)
    changes = params.model_dump(exclude={"connection_id"}, exclude_none=True)
    return ConnectionRecord(**await asked.management.connecting.change(params.connection_id, **changes))


@manages(
    "POST /v1/connections/{connection_id}/reconnect",
    open_to_managers=True,
    errors=[ConnectionNotFound, ConnectNotSetUp],
)
async def reconnect_connection(asked: Asked, params: Reconnect) -> ConnectLinkRecord:
    """Create a link by which the user connects the account of a connection again; its identifier stays."""
    await asked.require_own(params.connection_id)
    issued = await asked.management.connecting.reconnect(
        params.connection_id, return_url=params.return_url, allow_other_account=params.allow_other_account
    )
    return ConnectLinkRecord(**issued)


@manages(
    "POST /v1/connections/{connection_id}/test",
    open_to_managers=True,
    errors=[ConnectionNotFound, ConnectionPending, OtherAccount, *ASKING],
)
async def test_connection(asked: Asked, params: NameConnection) -> TestedConnection:
    """Ask the application whose a connection is and what it allows; credentials that have ended are renewed."""
    await asked.require_own(params.connection_id)
    return TestedConnection(**await asked.management.connecting.test(params.connection_id))


@manages("DELETE /v1/connections/{connection_id}", open_to_managers=True, errors=[ConnectionNotFound])
async def remove_connection(asked: Asked, params: NameConnection) -> ConnectionRecord:
    """Remove a connection and its secrets, which are given back where the application takes them; its history stays."""
    await asked.require_own(params.connection_id)
    return ConnectionRecord(**await asked.management.connecting.remove(params.connection_id))


@manages("POST /v1/hooks/{connector}/window", errors=[HookNotFound, HookSecretKnown])
async def open_hook(asked: Asked, params: NameHook) -> HookWindow:
    """Let an application hand over the token of its deliveries for some minutes, at an address made for it."""
    return HookWindow(**await asked.management.hooks.open(params.connector))


@manages("DELETE /v1/hooks/{connector}/window", errors=[HookNotFound])
async def close_hook(asked: Asked, params: NameHook) -> ClosedWindow:
    """Take no token any more at the addresses that were made for handing one over."""
    return ClosedWindow(**await asked.management.hooks.close(params.connector))


@manages("GET /v1/hooks/{connector}", errors=[HookNotFound])
async def show_hook(asked: Asked, params: NameHook) -> HookSecret:
    """Show the token that an application handed over for its deliveries, to be confirmed in its settings."""
    shown = await asked.management.hooks.show(params.connector)
    return HookSecret(**shown if asked.may_change else shown | {"verification_token": None})


@manages("DELETE /v1/hooks/{connector}", errors=[HookNotFound])
async def forget_hook(asked: Asked, params: NameHook) -> HookSecret:
    """Forget the token of an application's deliveries, so that it can hand over another one."""
    return HookSecret(**await asked.management.hooks.forget(params.connector))


@manages("POST /v1/webhooks", errors=[WorkspaceNotFound, ConnectionNotFound, QuotaExceeded])
async def create_webhook(asked: Asked, params: CreateWebhook) -> CreatedWebhook:
    """Have events delivered to an address; ``secret`` is shown this once."""
    created = await asked.management.webhooks.create(
        WorkspaceId(params.workspace_id), **params.model_dump(exclude={"workspace_id"})
    )
    return CreatedWebhook(**created)


@manages("GET /v1/webhooks")
async def list_webhooks(asked: Asked, params: ListWebhooks) -> Page[WebhookRecord]:
    """List webhooks, newest first."""
    page = await asked.management.webhooks.page(
        asked.within(params.workspace_id),
        before=asked.before,
        limit=params.limit,
    )
    return Page(items=[WebhookRecord(**row) for row in page.rows], position=position_before(page.before))


@manages("GET /v1/webhooks/{webhook_id}", errors=[WebhookNotFound])
async def show_webhook(asked: Asked, params: NameWebhook) -> WebhookRecord:
    """Show a webhook: whether it accepts what is delivered."""
    return WebhookRecord(**await asked.management.webhooks.show(params.webhook_id))


@manages("PATCH /v1/webhooks/{webhook_id}", errors=[WebhookNotFound])
async def change_webhook(asked: Asked, params: ChangeWebhook) -> WebhookRecord:
    """Change the name, address or types of a webhook, disable it, or make it active again."""
    changes = params.model_dump(exclude={"webhook_id"}, exclude_none=True)
    return WebhookRecord(**await asked.management.webhooks.change(params.webhook_id, **changes))


@manages("POST /v1/webhooks/{webhook_id}/rotate", errors=[WebhookNotFound])
async def rotate_webhook_secret(asked: Asked, params: RotateWebhookSecret) -> CreatedWebhook:
    """Replace the secret of a webhook; the new ``secret`` is shown this once."""
    return CreatedWebhook(**await asked.management.webhooks.rotate(params.webhook_id, params.overlap_seconds))


@manages("POST /v1/webhooks/{webhook_id}/replay", errors=[WebhookNotFound, ConnectionNotFound])
async def replay_webhook(asked: Asked, params: ReplayWebhook) -> Replay:
    """Deliver events of a connection again, or leave some out, by saying where to go on."""
    since = params.since.timestamp() if params.since else None
    return Replay(
        **await asked.management.webhooks.replay(
            params.webhook_id, params.connection_id, since=since, after=params.after
        )
    )


@manages("DELETE /v1/webhooks/{webhook_id}", errors=[WebhookNotFound])
async def remove_webhook(asked: Asked, params: NameWebhook) -> WebhookRecord:
    """Remove a webhook; nothing more is delivered to it."""
    return WebhookRecord(**await asked.management.webhooks.remove(params.webhook_id))


@manages("POST /v1/operators")
async def create_operator(asked: Asked, params: CreateOperator) -> CreatedOperator:
    """Create an operator; ``token`` is shown this once."""
    return CreatedOperator(**await asked.management.operators.create(params.name, params.role))


@manages("GET /v1/operators")
async def list_operators(asked: Asked, params: ListOperators) -> Page[OperatorRecord]:
    """List operators, newest first; the built-in one, whose token is a setting, is not among them."""
    rows, before = await asked.management.operators.page(asked.before, params.limit)
    return Page(items=[OperatorRecord(**row) for row in rows], position=position_before(before))


@manages("DELETE /v1/operators/{operator_id}", errors=[OperatorNotFound])
async def revoke_operator(asked: Asked, params: RevokeOperator) -> OperatorRecord:
    """Revoke the token of an operator; their sessions in the console end at once."""
    return OperatorRecord(**await asked.management.operators.revoke(params.operator_id))


@manages("GET /v1/audit")
async def list_audit(asked: Asked, params: ListAudit) -> Page[AuditEntry]:
    """List the audit trail, newest first: every administrative act, and those that were refused."""
    before = asked.before
    rows, more = await asked.management.audit.page(
        before=None if before is None else int(before),
        limit=params.limit,
        since=params.since.timestamp() if params.since else None,
        until=params.until.timestamp() if params.until else None,
        **params.model_dump(include={"actor", "act", "object_id", "workspace_id", "outcome"}),
    )
    return Page(
        items=[AuditEntry(**row) for row in rows], position=position_before(None if more is None else str(more))
    )


@manages("GET /v1/runs/{run_id}", open_to_keys=True, errors=[RunNotFound, RunNotRecorded])
async def show_run(asked: Asked, params: ShowRun) -> RunRecord:
    """Show a run: how it ended, and every request it made upstream."""
    return RunRecord(**await asked.management.runs.show(params.run_id, asked.workspace_id, asked.connection_ids))


@manages("GET /v1/runs", open_to_keys=True)
async def list_runs(asked: Asked, params: ListRuns) -> Page[RunRecord]:
    """List runs, newest first.

    A page may hold fewer runs than asked for, or none, while there is a ``next_cursor``: go on with it.
    """
    require_known(asked.management.connectors, connector=params.connector, operation=params.operation)
    page = await asked.management.runs.page(
        asked.within(params.workspace_id),
        asked.connection_ids,
        before=asked.before,
        limit=params.limit,
        since=params.since.timestamp() if params.since else None,
        **params.model_dump(include={"connection_id", "connector", "operation", "status"}),
    )
    return Page(items=[RunRecord(**row) for row in page.rows], position=position_before(page.before))


MANAGEMENT: Sequence[ManagementRoute] = (
    create_workspace,
    list_workspaces,
    change_workspace,
    create_key,
    list_keys,
    revoke_key,
    create_connection,
    list_connections,
    show_connection,
    change_connection,
    reconnect_connection,
    test_connection,
    remove_connection,
    open_hook,
    close_hook,
    show_hook,
    forget_hook,
    create_webhook,
    list_webhooks,
    show_webhook,
    change_webhook,
    rotate_webhook_secret,
    replay_webhook,
    remove_webhook,
    create_operator,
    list_operators,
    revoke_operator,
    list_audit,
    show_run,
    list_runs,
)
"""Every management route, in the order in which they are described."""
