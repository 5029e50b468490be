"""Recognises what a write has made."""

from connector_gateway.connectors.chat import wire
from connector_gateway.connectors.chat.mapping.texts import unescaped


def has_marker(message: wire.Message, event_type: str, marker: str) -> bool:
    """Whether a message was posted with that marker."""
    noted = message.metadata
    return noted is not None and noted.event_type == event_type and noted.event_payload.get("k") == marker


def has_text(message: wire.Message, text: str) -> bool:
    """Whether a message's body is *text*, as far as the vendor's own escaping and linking lets that be told."""
    return _plain(message.text or "") == _plain(text)


def _plain(text: str) -> str:
    """*text* without what the vendor changes about it: three entities, and the brackets it puts around addresses."""
    return unescaped(text).replace("<", "").replace(">", "").strip()
