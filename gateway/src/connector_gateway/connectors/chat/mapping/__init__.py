"""Pure functions between the vendor's shapes and ours, by noun."""

from connector_gateway.connectors.chat.mapping import (
    channels,
    in_doubt_matching,
    keyword_matching,
    message_events,
    message_text,
    messages,
    reactions,
)

__all__ = [
    "channels",
    "in_doubt_matching",
    "keyword_matching",
    "message_events",
    "message_text",
    "messages",
    "reactions",
]
