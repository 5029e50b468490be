"""``hooks``: the tokens that applications sign their deliveries with, on the installation's own database."""

from pathlib import Path

import click

from connector_gateway.cli.installation import act, data_folder
from connector_gateway.cli.options import CHOICES, connector_argument
from connector_gateway.cli.output import as_json


@click.group()
def hooks() -> None:
    """Take, show and forget the tokens that applications sign their deliveries with."""


@hooks.command("open", epilog=CHOICES)
@connector_argument
@data_folder
@as_json
def open_hook(connector: str, data: Path, *, as_json: bool) -> None:
    """Let an application hand over its token for some minutes, at the address that is shown."""
    act(data, lambda app: app.hooks.open(connector), json=as_json)


@hooks.command("close", epilog=CHOICES)
@connector_argument
@data_folder
@as_json
def close_hook(connector: str, data: Path, *, as_json: bool) -> None:
    """Take no token any more at the addresses that were opened so far."""
    act(data, lambda app: app.hooks.close(connector), json=as_json)


@hooks.command("show", epilog=CHOICES)
@connector_argument
@data_folder
@as_json
def show_hook(connector: str, data: Path | None, *, as_json: bool) -> None:
    """Show the token that an application handed over, to be confirmed in its settings."""
    act(data, lambda app: app.hooks.show(connector), json=as_json)


@hooks.command("forget", epilog=CHOICES)
@connector_argument
@data_folder
@as_json
def forget_hook(connector: str, data: Path | None, *, as_json: bool) -> None:
    """Forget the token, so that the application can hand over another one."""
    act(data, lambda app: app.hooks.forget(connector), json=as_json)
