"""Connections: which third-party account a call acts in, and the one source of its credentials."""

from connector_gateway.core.connections.accounts import Accounts
from connector_gateway.core.connections.changes import Changes
from connector_gateway.core.connections.choosing import Choosing
from connector_gateway.core.connections.connecting import Connecting
from connector_gateway.core.connections.connection import Connection
from connector_gateway.core.connections.connections import Connections
from connector_gateway.core.connections.consent import Consents
from connector_gateway.core.connections.links import ConnectLinks
from connector_gateway.core.connections.refresh import IdleRenewals, Renewals
from connector_gateway.core.connections.tokens import Tokens
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
