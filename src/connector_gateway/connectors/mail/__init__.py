"""mail: a mailbox."""

from connector_gateway.connectors.mail import operations
from connector_gateway.connectors.mail.client import (
    ADDRESS,
    AT_ONCE,
    CONSENT_ADDRESS,
    SENDING_BUDGET,
    SETTLE_SECONDS,
    TOKENS_ADDRESS,
    USER_BUDGET,
    MailClient,
    authorise,
    throttled,
)
from connector_gateway.connectors.mail.mapping.attachments import attachment_id
from connector_gateway.connectors.mail.oauth import OAUTH, identify
from connector_gateway.connectors.mail.refusals import ERRORS
from connector_gateway.kit.operation import Connector, SampleCall

MAIL = Connector(
    name="mail",
    summary="Messages, labels and attachments of a mailbox.",
    addresses={"base": ADDRESS, "consent": CONSENT_ADDRESS, "tokens": TOKENS_ADDRESS},
    budgets={"user": USER_BUDGET, "sending": SENDING_BUDGET},
    authorise=authorise,
    client=MailClient,
    operations=(
        operations.search_messages,
        operations.send_message,
        operations.change_message_labels,
        operations.fetch_attachment,
        operations.create_draft,
    ),
    throttled=throttled,
    error_table=ERRORS,
    at_once=AT_ONCE,
    settle_seconds=SETTLE_SECONDS,
    oauth=OAUTH,
    identify=identify,
    download=operations.open_attachment,
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
