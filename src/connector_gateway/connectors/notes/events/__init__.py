"""How changes are observed: by polls, and by deliveries."""

from connector_gateway.connectors.notes.events import deliveries, known, polls, sources

__all__ = ["deliveries", "known", "polls", "sources"]
