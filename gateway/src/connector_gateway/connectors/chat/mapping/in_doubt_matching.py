"""Recognition of the results of writes."""

from connector_gateway.connectors.chat import vendor_models
from connector_gateway.connectors.chat.mapping.message_text import unescape


def has_marker(message: vendor_models.Message, event_type: str, marker: str) -> bool:
    """Return True if a message was posted with that marker."""
    metadata = message.metadata
    return metadata is not None and metadata.event_type == event_type and metadata.event_payload.get("k") == marker


def has_text(message: vendor_models.Message, text: str) -> bool:
    """Return True if a message's body is *text*, ignoring the vendor's escaping and linking."""
    return _plain(message.text or "") == _plain(text)


def _plain(text: str) -> str:
    """Return *text* without the vendor's changes: three entities, and brackets around URLs and addresses."""
    return unescape(text).replace("<", "").replace(">", "").strip()
