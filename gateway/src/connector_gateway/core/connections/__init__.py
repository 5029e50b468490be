"""Connections: the vendor accounts in which calls act, and their credentials."""

from connector_gateway.core.connections.account_lookup import AccountLookup
from connector_gateway.core.connections.change_notification import ConnectionListener
from connector_gateway.core.connections.connect_links import ConnectLinks
from connector_gateway.core.connections.connection import Connection
from connector_gateway.core.connections.connection_lifecycle import ConnectionLifecycle
from connector_gateway.core.connections.connection_selection import UsableConnections
from connector_gateway.core.connections.oauth_flow import ConsentFlow
from connector_gateway.core.connections.store import ConnectionStore
from connector_gateway.core.connections.token_client import TokenEndpointClient
from connector_gateway.core.connections.token_refresh import IdleTokenRefresher, TokenRefresher
from connector_gateway.core.secrets.vault import Vault

__all__ = [
    "AccountLookup",
    "ConnectLinks",
    "Connection",
    "ConnectionLifecycle",
    "ConnectionListener",
    "ConnectionStore",
    "ConsentFlow",
    "IdleTokenRefresher",
    "TokenEndpointClient",
    "TokenRefresher",
    "UsableConnections",
    "Vault",
]
