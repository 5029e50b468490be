"""The command ``connectors``, which lists the connectors of this installation."""

from collections.abc import Mapping
from typing import Any

import click

from connector_gateway.cli.command_groups import Group
from connector_gateway.cli.output import as_json as json_option
from connector_gateway.cli.output import show
from connector_gateway.connectors import INSTALLED
from connector_gateway.connectors.package_loader import InstalledConnector

COLUMNS = ("name", "vendor", "origin", "version", "operations", "capabilities", "problem")


@click.group(cls=Group)
def connectors() -> None:
    """Show the connectors of this installation."""


@connectors.command("list")
@json_option
def list_connectors(*, as_json: bool) -> None:
    """List all connectors with their packages and capabilities, and why a connector is not served."""
    rows = [_row(one) for one in INSTALLED.found]
    columns = COLUMNS if INSTALLED.problems else COLUMNS[:-1]
    show(rows, json=as_json, columns=columns)


def _row(installed: InstalledConnector) -> Mapping[str, Any]:
    connector = installed.connector
    capabilities = {
        "oauth": connector and connector.oauth,
        "events": connector and connector.event_source,
        "downloads": connector and connector.download,
    }
    return {
        "name": installed.name,
        "vendor": connector.vendor if connector else "",
        "origin": installed.origin,
        "version": installed.version,
        "operations": len(connector.operations) if connector else 0,
        "capabilities": [name for name, capability in capabilities.items() if capability],
        "problem": installed.problem,
    }
