"""Pure functions between the vendor's shapes and ours, by noun."""

from connector_gateway.connectors.chat.mapping import (
    channels,
    events,
    in_doubt_matching,
    keywords,
    message_text,
    messages,
    reactions,
)

__all__ = ["channels", "events", "in_doubt_matching", "keywords", "message_text", "messages", "reactions"]
