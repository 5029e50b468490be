"""mail: a mailbox."""

from connector_gateway.connectors.mail import client, operations
from connector_gateway.connectors.mail.mapping.attachments import attachment_id
from connector_gateway.connectors.mail.oauth import OAUTH, identify
from connector_gateway.connectors.mail.vendor_errors import ERRORS
from connector_gateway.kit.operation import Connector, SampleCall

UNREAD_FIELDS = frozenset(
    {
        *("classificationLabelValues", "color", "historyId", "id", "id_token", "internalDate"),
        *("isDefault", "labelIds", "labelListVisibility", "messageListVisibility", "messagesTotal"),
        *("messagesUnread", "payload", "raw", "refresh_token_expires_in", "replyToAddress"),
        *("resultSizeEstimate", "signature", "sizeEstimate", "smtpMsa", "snippet", "threadId"),
        *("threadsTotal", "threadsUnread", "treatAsAlias", "type", "verificationStatus"),
    }
)
"""The names of documented fields in the vendor models that are not read.

Source: the discovery document v1, revision 20261005.
"""

MAIL = Connector(
    name="mail",
    summary="Messages, labels and attachments of a mailbox.",
    base_urls={"base": client.BASE_URL, "consent": client.CONSENT_URL, "tokens": client.TOKENS_URL},
    budgets={"user": client.USER_BUDGET, "sending": client.SENDING_BUDGET},
    client=client.MailClient,
    operations=(
        operations.search_messages,
        operations.send_message,
        operations.change_message_labels,
        operations.fetch_attachment,
        operations.create_draft,
    ),
    parse_throttle=client.parse_throttle,
    error_table=ERRORS,
    unread_fields=UNREAD_FIELDS,
    max_concurrent_requests=client.MAX_CONCURRENT_REQUESTS,
    settle_seconds=client.SETTLE_SECONDS,
    oauth=OAUTH,
    identify=identify,
    download=operations.open_attachment,
    passthrough=client.PASSTHROUGH,
    sample=SampleCall(
        "messages found in the provider's own search syntax",
        operations.search_messages,
        lambda examples: {"q": examples["q"], "limit": 2},
    ),
    examples=lambda examples: {
        **examples,
        "message_id": examples["attachment_message_id"],
        "attachment_id": attachment_id(examples["attachment_message_id"], examples["attachment_part_id"]),
    },
)
