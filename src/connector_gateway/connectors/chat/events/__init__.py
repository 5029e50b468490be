"""How changes are observed: by polls, and by deliveries."""

from connector_gateway.connectors.chat.events import backfill, deliveries, polls

__all__ = ["backfill", "deliveries", "polls"]
