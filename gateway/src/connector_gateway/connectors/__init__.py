"""The connectors: the gateway's own in the order of the contract, then those of installed packages by name."""

from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points

from connector_gateway.connectors.package_loader import GROUP, InstalledConnectors
from connector_gateway.kit.operation import AnyConnector

CONNECTOR_NAMES = (
    "notes",
    "boards",
    "mail",
    "chat",
    "crm",
    "tables",
)
"""Folder names of the gateway's own connectors. Each package declares its connector under this name in capitals."""


def _find_connectors() -> InstalledConnectors:
    """Load all connectors. The gateway's own come first, so that no package can replace them."""
    installed = InstalledConnectors()
    for name in CONNECTOR_NAMES:
        installed.add(EntryPoint(name, f"{__name__}.{name}:{name.upper()}", GROUP), built_in=True)
    for entry_point in sorted(entry_points(group=GROUP), key=lambda one: one.name):
        installed.add(entry_point)
    return installed


INSTALLED = _find_connectors()
"""Every connector that was found, with the reason why it is not served, if there is one."""

CONNECTORS: Mapping[str, AnyConnector] = INSTALLED.served
"""Every connector that is served, by name."""
