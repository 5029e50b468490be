"""chat: a team chat workspace."""

from connector_gateway.connectors.chat import client, events, operations
from connector_gateway.connectors.chat.models import WatchSettings
from connector_gateway.connectors.chat.oauth import OAUTH, identify
from connector_gateway.connectors.chat.vendor_errors import ERRORS, read_warnings
from connector_gateway.kit.events import EventSource
from connector_gateway.kit.operation import Connector, SampleCall

UNREAD_FIELDS = frozenset(
    {
        *("accepted_user", "agent_session", "already_open", "app_id", "app_name", "assistant_app_thread"),
        *("attachments", "authed_user", "blocks", "bot_id", "bot_profile", "bot_user_id", "channel"),
        *("channel_actions_count", "channel_actions_ts", "client_msg_id", "connected_limited_team_ids"),
        *("connected_team_ids", "context_team_id", "conversation_host_id", "count", "created", "creator"),
        *("display_as_bot", "enterprise", "enterprise_id", "expires_in", "files", "frozen_reason"),
        *("has_more", "icons", "incoming_webhook", "internal_team_ids", "inviter", "is_archived"),
        *("is_channel", "is_enterprise_install", "is_ext_shared", "is_frozen", "is_general"),
        *("is_global_shared", "is_group", "is_im", "is_locked", "is_moved", "is_mpim"),
        *("is_non_threadable", "is_open", "is_org_default", "is_org_mandatory", "is_org_shared"),
        *("is_pending_ext_shared", "is_read_only", "is_shared", "is_starred", "is_thread_only"),
        *("language", "last_read", "latest", "latest_reply", "locale", "members", "metadata", "name"),
        *("name_normalized", "no_op", "ok", "old_name", "oldest", "parent_conversation", "parent_user_id"),
        *("pending_connected_team_ids", "pending_shared", "permalink", "pin_count", "pinned_info"),
        *("pinned_to", "previous_names", "priority", "properties", "purpose", "reply_count"),
        *("reply_users", "reply_users_count", "response_metadata", "room", "root", "shared_team_ids"),
        *("subscribed", "team", "text", "thread_ts", "topic", "ts", "type", "unlinked", "unread_count"),
        *("unread_count_display", "updated", "upload", "url", "user", "username", "warning", "x_files"),
    }
)
"""The names of documented fields in the vendor models that are not read.

Source: docs.slack.dev/reference/objects, and slackapi/node-slack-sdk packages/web-api/src/types/response, read 2026-11.
"""

CHAT = Connector(
    name="chat",
    summary="Messages, reactions and channels of a team chat workspace.",
    base_urls={"base": client.BASE_URL},
    budgets=client.BUDGETS,
    client=client.ChatClient,
    operations=(
        operations.post_message,
        operations.edit_message,
        operations.list_channels,
        operations.add_reaction,
        operations.read_events,
    ),
    parse_throttle=client.parse_throttle,
    error_table=ERRORS,
    unread_fields=UNREAD_FIELDS,
    read_warnings=read_warnings,
    settle_seconds=client.SETTLE_SECONDS,
    oauth=OAUTH,
    identify=identify,
    settings=WatchSettings,
    event_source=EventSource(
        poll=events.polls.poll,
        poll_interval_seconds=60.0,
        signed_with="signing_secret",
        receive=events.inbound_hooks.receive,
        addressed=events.inbound_hooks.read_delivery,
        read=events.inbound_hooks.read,
        names_app=True,
    ),
    passthrough=client.PASSTHROUGH,
    sample=SampleCall(
        "a message that is posted once, however often it is sent",
        operations.post_message,
        lambda examples: {
            "channel": examples["channel"],
            "text": "Hello from the gateway :wave:",
            "idempotency_key": "tour",
        },
    ),
)
