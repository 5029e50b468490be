"""mail: a mailbox."""

from connector_gateway.connectors.mail import operations
from connector_gateway.connectors.mail.client import (
    ADDRESS,
    SENDING_BUDGET,
    SETTLE_SECONDS,
    USER_BUDGET,
    MailClient,
    authorise,
    throttled,
)
from connector_gateway.kit.operation import Connector

MAIL = Connector(
    name="mail",
    summary="Messages, labels and attachments of a mailbox.",
    addresses={"base": ADDRESS},
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
    settle_seconds=SETTLE_SECONDS,
    download=operations.open_attachment,
)
