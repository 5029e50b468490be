"""chat: a team chat workspace."""

from connector_gateway.connectors.chat import client, events, operations
from connector_gateway.connectors.chat.models import WatchSettings
from connector_gateway.connectors.chat.oauth import OAUTH, identify
from connector_gateway.connectors.chat.vendor_errors import ERRORS, read_warnings
from connector_gateway.kit.events import EventSource
from connector_gateway.kit.operation import Connector, SampleCall

UNREAD_FIELDS = frozenset(
    {
        *("already_open", "app_id", "bot_id", "bot_profile", "channel", "channel_actions_count"),
        *("channel_actions_ts", "client_msg_id", "context_team_id", "count", "created", "creator", "has_more"),
        *("is_channel", "is_enterprise_install", "is_ext_shared", "is_general", "is_group", "is_locked"),
        *("is_mpim", "is_org_shared", "is_pending_ext_shared", "is_shared", "name_normalized", "no_op", "ok"),
        *("parent_conversation", "parent_user_id", "pending_shared", "pin_count", "previous_names"),
        *("priority", "purpose", "reply_users", "reply_users_count", "subscribed", "team", "text", "topic"),
        *("ts", "type", "unlinked", "updated", "user"),
    }
)
"""The names of documented fields in the vendor models that are not read."""

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
