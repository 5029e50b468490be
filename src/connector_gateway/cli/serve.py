"""``serve``: production."""

import os
import sys

import click

from connector_gateway.app import App
from connector_gateway.cli.serving import server
from connector_gateway.connectors import CONNECTORS
from connector_gateway.settings import Settings, SettingsError


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, help="Port to listen on.")
def serve(host: str, port: int) -> None:
    """Run the gateway, with settings from the environment (GATEWAY_…)."""
    try:
        settings = Settings.read(os.environ, CONNECTORS)
    except SettingsError as fault:
        raise click.ClickException(str(fault)) from fault
    running = server(App(settings).http(), host, port)
    running.run()
    sys.exit(0 if running.started else 3)
