"""Connections: which third-party account a call acts in, and the one source of its credentials."""

from connector_gateway.core.connections.account_identifier import Accounts
from connector_gateway.core.connections.connect_links import ConnectLinks
from connector_gateway.core.connections.connection import Connection
from connector_gateway.core.connections.listeners import Changes
from connector_gateway.core.connections.oauth_flow import Consents
from connector_gateway.core.connections.selection import Choosing
from connector_gateway.core.connections.service import Connecting
from connector_gateway.core.connections.store import Connections
from connector_gateway.core.connections.token_client import Tokens
from connector_gateway.core.connections.token_refresh import IdleRenewals, Renewals
from connector_gateway.core.connections.vault import Vault

__all__ = [
    "Accounts",
    "Changes",
    "Choosing",
    "ConnectLinks",
    "Connecting",
    "Connection",
    "Connections",
    "Consents",
    "IdleRenewals",
    "Renewals",
    "Tokens",
    "Vault",
]
