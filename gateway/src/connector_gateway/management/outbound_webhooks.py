"""Deliver observed events to URLs of a workspace, and replay them."""

from typing import Annotated, Literal

from pydantic import Field

from connector_gateway.kit.errors import ConnectionNotFound, QuotaExceeded, WebhookNotFound, WorkspaceNotFound
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.kit.models import Identifier, Page, Params, Result, UtcDatetime
from connector_gateway.management.list_parameters import ListParams, Name
from connector_gateway.management.request import ManagementRequest, position_before
from connector_gateway.management.route_declaration import CommandDeclaration, Flag, Resource

RESOURCE = Resource(
    "webhooks",
    columns=("webhook_id", "url", "status", "reason", "behind", "failing_since", "delivered_at", "connection_id"),
)

WebhookUrl = Annotated[str, Field(min_length=1, max_length=2000)]
EventTypes = Annotated[list[Annotated[str, Field(min_length=1, max_length=100)]], Field(max_length=20)]


class CreateWebhook(Params):
    """A new webhook."""

    workspace_id: Identifier
    url: WebhookUrl
    """The URL that receives events: https, and public unless the installation allows other addresses."""

    name: Name = ""
    """The purpose of the webhook."""

    connection_id: Identifier | None = None
    """Delivers only events of this connection; by default those of all connections of the workspace."""

    types: EventTypes | None = None
    """Delivers only events of these types, such as ``message.posted``; by default all."""


class ListWebhooks(ListParams):
    """The requested page of webhooks."""

    workspace_id: Identifier | None = None
    """Only webhooks of this workspace."""


class NameWebhook(Params):
    """The selected webhook."""

    webhook_id: Identifier


class ChangeWebhook(Params):
    """Changes to a webhook."""

    webhook_id: Identifier
    name: Name | None = None
    """The purpose of the webhook."""

    url: WebhookUrl | None = None
    """The URL that receives events from now on."""

    status: Literal["active", "disabled"] | None = None
    """``disabled`` stops deliveries; ``active`` continues immediately from where they stopped."""

    types: EventTypes | None = None
    """Delivers only events of these types from now on, also of those that wait; an empty list stands for all."""


class RotateWebhookSecret(Params):
    """The webhook whose secret is replaced."""

    webhook_id: Identifier
    overlap_seconds: Annotated[int, Field(ge=0, le=30 * 24 * 60 * 60)] = 24 * 60 * 60
    """Seconds for which deliveries are also signed with the previous secret; 0 if it has leaked."""


class ReplayWebhook(Params):
    """The events to deliver again."""

    webhook_id: Identifier
    connection_id: Identifier
    since: UtcDatetime | None = None
    """ISO 8601 date and time: delivers events observed then or later. By default all that are retained."""

    after: Identifier | None = None
    """Delivers events observed after the one with this identifier. Has precedence over ``since``."""


class WebhookRecord(Result):
    """A URL that events are delivered to, without its secret."""

    webhook_id: str
    workspace_id: str
    connection_id: str | None
    """The connection whose events are delivered; null for all of the workspace."""

    types: list[str]
    """Types of events that are delivered; empty for all."""

    url: str
    name: str
    status: Literal["active", "disabled"]
    reason: str | None
    """Why it is disabled: ``failing`` for three days, ``gone`` as the receiver responded, or ``by_operator``."""

    behind: int
    """Number of connections with events that it has not accepted yet."""

    created_at: UtcDatetime
    updated_at: UtcDatetime
    delivered_at: UtcDatetime | None
    """Time at which it last accepted an event."""

    failing_since: UtcDatetime | None
    """Time since which deliveries have failed; null while they succeed."""

    failing_connection_id: str | None
    """The connection of the event whose delivery fails."""

    failing_result: Literal["refused", "timed_out", "unreachable", "not_allowed"] | None
    """Result of the last attempt."""

    failing_status: int | None
    """HTTP status of the last attempt; null without a response."""


class CreatedWebhook(WebhookRecord):
    """A webhook with its new secret, which is shown only once."""

    secret: str = Field(repr=False)
    """Signs the deliveries, as Standard Webhooks specifies."""


class Replay(Result):
    """The events that are delivered again."""

    webhook_id: str
    connection_id: str
    events: int
    """Number of events."""


@RESOURCE.route(
    "POST /v1/webhooks", "create WORKSPACE_ID URL", errors=[WorkspaceNotFound, ConnectionNotFound, QuotaExceeded]
)
async def create_webhook(request: ManagementRequest, params: CreateWebhook) -> CreatedWebhook:
    """Deliver the events of a workspace to a URL; the signing secret is shown only once."""
    created = await request.management.webhooks.create(
        WorkspaceId(params.workspace_id), **params.model_dump(exclude={"workspace_id"})
    )
    return CreatedWebhook(**created)


@RESOURCE.route("GET /v1/webhooks", "list")
async def list_webhooks(request: ManagementRequest, params: ListWebhooks) -> Page[WebhookRecord]:
    """List webhooks, newest first."""
    page = await request.management.webhooks.page(
        request.workspace_filter(params.workspace_id), before=request.before, limit=params.limit
    )
    return Page(items=[WebhookRecord(**row) for row in page.rows], position=position_before(page.before))


@RESOURCE.route("GET /v1/webhooks/{webhook_id}", "show WEBHOOK_ID", errors=[WebhookNotFound])
async def show_webhook(request: ManagementRequest, params: NameWebhook) -> WebhookRecord:
    """Show a webhook, and if its deliveries succeed."""
    return WebhookRecord(**await request.management.webhooks.show(params.webhook_id))


@RESOURCE.route(
    "PATCH /v1/webhooks/{webhook_id}",
    CommandDeclaration(
        "change WEBHOOK_ID",
        "Change the name, URL or event types of a webhook; waiting events are tried immediately.",
        options=("name", "url", "types"),
        flags=(Flag("--all-types", "types", [], "Deliver events of all types again."),),
    ),
    CommandDeclaration(
        "enable WEBHOOK_ID",
        "Deliver to a webhook again, from where deliveries stopped.",
        options=(),
        values={"status": "active"},
    ),
    CommandDeclaration(
        "disable WEBHOOK_ID", "Stop deliveries until the webhook is enabled.", options=(), values={"status": "disabled"}
    ),
    errors=[WebhookNotFound],
)
async def change_webhook(request: ManagementRequest, params: ChangeWebhook) -> WebhookRecord:
    """Change the name, URL or event types of a webhook, disable or enable it; waiting events are tried immediately."""
    changes = params.model_dump(exclude={"webhook_id"}, exclude_none=True)
    return WebhookRecord(**await request.management.webhooks.change(params.webhook_id, **changes))


@RESOURCE.route("POST /v1/webhooks/{webhook_id}/rotate", "rotate WEBHOOK_ID", errors=[WebhookNotFound])
async def rotate_webhook_secret(request: ManagementRequest, params: RotateWebhookSecret) -> CreatedWebhook:
    """Replace the signing secret of a webhook; the new one is shown only once."""
    return CreatedWebhook(**await request.management.webhooks.rotate(params.webhook_id, params.overlap_seconds))


@RESOURCE.route(
    "POST /v1/webhooks/{webhook_id}/replay",
    "replay WEBHOOK_ID CONNECTION_ID",
    errors=[WebhookNotFound, ConnectionNotFound],
)
async def replay_webhook(request: ManagementRequest, params: ReplayWebhook) -> Replay:
    """Deliver events of a connection again, or skip some, by choosing where deliveries continue."""
    since = params.since.timestamp() if params.since else None
    return Replay(
        **await request.management.webhooks.replay(
            params.webhook_id, params.connection_id, since=since, after=params.after
        )
    )


@RESOURCE.route(
    "DELETE /v1/webhooks/{webhook_id}",
    "remove WEBHOOK_ID",
    errors=[WebhookNotFound],
    confirmation="Events that wait for delivery are not delivered. A new webhook has another secret.",
    done="The webhook is removed.",
)
async def remove_webhook(request: ManagementRequest, params: NameWebhook) -> WebhookRecord:
    """Remove a webhook and stop its deliveries."""
    return WebhookRecord(**await request.management.webhooks.remove(params.webhook_id))
