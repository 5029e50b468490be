"""chat: a team chat workspace."""

from connector_gateway.connectors.chat import client, events, operations
from connector_gateway.connectors.chat.models import WatchSettings
from connector_gateway.connectors.chat.oauth import OAUTH, identify
from connector_gateway.connectors.chat.vendor_errors import ERRORS, read_warnings
from connector_gateway.connectors.chat.vendor_models import UNREAD_FIELDS
from connector_gateway.kit.events import EventSource
from connector_gateway.kit.operation import Connector, SampleCall

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
