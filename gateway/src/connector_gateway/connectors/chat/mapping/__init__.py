"""Pure functions between the vendor's shapes and ours, by noun."""

from connector_gateway.connectors.chat.mapping import channels, events, evidence, keywords, messages, reactions, texts

__all__ = ["channels", "events", "evidence", "keywords", "messages", "reactions", "texts"]
