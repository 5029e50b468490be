"""Observation of changes by polls and deliveries."""

from connector_gateway.connectors.chat.events import backfill, inbound_hooks, polls

__all__ = ["backfill", "inbound_hooks", "polls"]
