"""Observation of changes by polls and deliveries."""

from connector_gateway.connectors.chat.events import backfill, deliveries, polls

__all__ = ["backfill", "deliveries", "polls"]
