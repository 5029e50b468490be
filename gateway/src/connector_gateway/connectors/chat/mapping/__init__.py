"""Pure functions between the vendor's shapes and ours, by noun."""

from connector_gateway.connectors.chat.mapping import (
    channels,
    events,
    in_doubt_matching,
    keywords,
    messages,
    reactions,
    texts,
)

__all__ = ["channels", "events", "in_doubt_matching", "keywords", "messages", "reactions", "texts"]
