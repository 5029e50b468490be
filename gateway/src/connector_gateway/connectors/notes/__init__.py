"""notes: a notes and database workspace."""

from connector_gateway.connectors.notes import client, events, operations
from connector_gateway.connectors.notes.oauth import OAUTH, identify
from connector_gateway.connectors.notes.vendor_errors import ERRORS, PRESCRIBED_REMEDIES
from connector_gateway.kit.events import EventSource
from connector_gateway.kit.operation import Connector, SampleCall

UNREAD_FIELDS = frozenset(
    {
        *("annotations", "avatar_url", "block", "bot_id", "checkbox", "color", "cover", "created_by"),
        *("created_time", "database_parent", "date", "description", "duplicated_template_id", "email"),
        *("email_verified", "files", "formula", "groups", "has_children", "has_more", "href", "icon"),
        *("id", "in_trash", "is_archived", "is_inline", "is_locked", "last_edited_by", "last_edited_time"),
        *("mention", "name", "next_cursor", "number", "object", "owner", "paragraph", "parent", "people"),
        *("phone_number", "place", "properties", "property_item", "public_url", "relation", "request_id"),
        *("rich_text", "rollup", "text", "title", "type", "url", "verification", "workspace"),
        *("workspace_icon", "workspace_id", "workspace_limits", "workspace_name"),
    }
)
"""The names of documented fields in the vendor models that are not read."""

NOTES = Connector(
    name="notes",
    summary="Databases and pages of a notes workspace.",
    base_urls={"base": client.BASE_URL},
    budgets={"integration": client.BUDGET},
    auth_headers=client.authorise,
    client=client.NotesClient,
    operations=(
        operations.list_databases,
        operations.create_page,
        operations.update_page,
        operations.search_pages,
        operations.read_events,
    ),
    parse_throttle=client.parse_throttle,
    error_table=ERRORS,
    unread_fields=UNREAD_FIELDS,
    prescribed_remedies=PRESCRIBED_REMEDIES,
    settle_seconds=client.SETTLE_SECONDS,
    event_source=EventSource(
        poll=events.polls.poll,
        poll_interval_seconds=60.0,
        signed_with="verification_token",
        vendor_issues_secret=True,
        receive=events.inbound_hooks.receive,
        addressed=events.inbound_hooks.read_delivery,
    ),
    oauth=OAUTH,
    identify=identify,
    passthrough=client.PASSTHROUGH,
    sample=SampleCall("the first databases", operations.list_databases, lambda _: {"limit": 1}),
)
