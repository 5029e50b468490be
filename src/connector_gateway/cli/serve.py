"""``serve``: production."""

import os
import sys

import click

from connector_gateway.app import App
from connector_gateway.cli.serving import PortTaken, server
from connector_gateway.connectors import CONNECTORS
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.settings import Settings, SettingsError
from connector_gateway.storage.files import AlreadyServed

NOT_STARTED = 3
"""Exit status where the service could not start, or had to give way to another process."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, help="Port to listen on.")
def serve(host: str, port: int) -> None:
    """Run the gateway, with settings from the environment (GATEWAY_…)."""
    try:
        settings = Settings.read(os.environ, CONNECTORS)
    except SettingsError as fault:
        raise click.ClickException(str(fault)) from fault
    app = App(settings)
    running = server(app.http(), host, port, settings.stop_seconds)
    try:
        running.run()
    except (PortTaken, AlreadyServed) as refusal:
        _fail(str(refusal))
    except StorageUnavailable as away:
        _fail(f"The database cannot be opened: {away.private}")
    sys.exit(NOT_STARTED if app.stopping.reason or not running.started else 0)


def _fail(sentence: str) -> None:
    click.echo(f"Error: {sentence}", err=True)
    sys.exit(NOT_STARTED)
