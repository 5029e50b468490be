"""How changes are observed: by polls, and by deliveries."""

from connector_gateway.connectors.chat.events import deliveries, filling, polls

__all__ = ["deliveries", "filling", "polls"]
