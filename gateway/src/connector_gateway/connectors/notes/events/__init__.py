"""Observation of changes by polls and deliveries."""

from connector_gateway.connectors.notes.events import deliveries, polls, source_state, sources

__all__ = ["deliveries", "polls", "source_state", "sources"]
