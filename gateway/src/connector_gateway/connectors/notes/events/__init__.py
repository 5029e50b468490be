"""Observation of changes by polls and deliveries."""

from connector_gateway.connectors.notes.events import data_source_polls, data_source_state, inbound_hooks, polls

__all__ = ["data_source_polls", "data_source_state", "inbound_hooks", "polls"]
