"""Connections: which third-party account a call acts in, and the one source of its credentials."""

from connector_gateway.core.connections.changes import Changes
from connector_gateway.core.connections.connections import Connection, Connections
from connector_gateway.core.connections.vault import Vault

__all__ = ["Changes", "Connection", "Connections", "Vault"]
