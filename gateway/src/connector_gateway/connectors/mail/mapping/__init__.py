"""Pure functions between the vendor's shapes and ours, by noun."""

from connector_gateway.connectors.mail.mapping import attachments, labels, messages, outgoing_messages

__all__ = ["attachments", "labels", "messages", "outgoing_messages"]
