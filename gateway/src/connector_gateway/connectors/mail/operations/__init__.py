"""The five mail operations, by topic."""

from connector_gateway.connectors.mail.operations.attachments import fetch_attachment, open_attachment
from connector_gateway.connectors.mail.operations.labels import change_message_labels
from connector_gateway.connectors.mail.operations.messages import search_messages
from connector_gateway.connectors.mail.operations.sending import create_draft, send_message

__all__ = [
    "change_message_labels",
    "create_draft",
    "fetch_attachment",
    "open_attachment",
    "search_messages",
    "send_message",
]
