"""The command ``vault``, which re-encrypts stored secrets."""

from pathlib import Path

import click

from connector_gateway.cli.command_groups import Group
from connector_gateway.cli.installation import run_and_print
from connector_gateway.cli.output import as_json
from connector_gateway.cli.target import data_folder

COLUMNS = ("kind", "resealed", "unreadable")


@click.group(cls=Group)
def vault() -> None:
    """Look after what is sealed with the installation's secret keys."""


@vault.command("rotate")
@data_folder
@as_json
def rotate_vault(data: Path, *, as_json: bool) -> None:
    """Seal everything again with the first of GATEWAY_SECRET_KEYS, while the service runs with the same keys."""
    run_and_print(data, lambda app: app.rotation.rotate(), json=as_json, columns=COLUMNS)
