"""The connector packages, in the order of the contract."""

from collections.abc import Mapping
from importlib import import_module

from connector_gateway.kit.operation import AnyConnector

CONNECTOR_NAMES = (
    "notes",
    "boards",
    "mail",
    "chat",
    "crm",
    "tables",
)
"""Folder names of the connectors. Each package declares its connector under this name in capitals."""

CONNECTORS: Mapping[str, AnyConnector] = {
    name: getattr(import_module(f"{__name__}.{name}"), name.upper()) for name in CONNECTOR_NAMES
}
"""Every connector by name."""
