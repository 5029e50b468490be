"""The command ``vault``, which re-encrypts stored secrets."""

from pathlib import Path

import click

from connector_gateway.cli.command_groups import Group
from connector_gateway.cli.gateway_url_and_key import data_folder
from connector_gateway.cli.manage.management_without_server import run_and_print
from connector_gateway.cli.output import as_json

COLUMNS = ("kind", "resealed", "unreadable")


@click.group(cls=Group)
def vault() -> None:
    """Manage the data that is encrypted with the installation's secret keys."""


@vault.command("rotate")
@data_folder
@as_json
def rotate_vault(data: Path, *, as_json: bool) -> None:
    """Re-encrypt all secrets with the first of GATEWAY_SECRET_KEYS. The service can keep running with the same keys."""
    run_and_print(data, lambda app: app.rotation.rotate(), json=as_json, columns=COLUMNS)
