"""Between the vendor's shapes and ours, by noun: pure functions."""

from connector_gateway.connectors.mail.mapping import attachments, labels, letters, messages

__all__ = ["attachments", "labels", "letters", "messages"]
