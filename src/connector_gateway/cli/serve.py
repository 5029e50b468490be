"""``serve``: production."""

import os
import signal
import sys

import click

from connector_gateway.app import App
from connector_gateway.cli.environment import settings_of
from connector_gateway.cli.serving import PORTS, PortTaken, server
from connector_gateway.core.seals import SecretsMissing
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.storage.files import AlreadyServed, Unusable

NOT_STARTED = 3
"""Exit status where the service could not start, or had to give way to another process."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8080, show_default=True, type=PORTS, help="Port to listen on.")
def serve(host: str, port: int) -> None:
    """Run the gateway, with settings from the environment (GATEWAY_…)."""
    # Sent when a terminal closes, and by habit to have settings read again; it is no reason to die.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    settings = settings_of(os.environ)
    app = App(settings)
    running = server(app.http(), host, port, settings.stop_seconds, log_level=settings.log_level)
    try:
        running.run()
    except (PortTaken, AlreadyServed, Unusable, SecretsMissing) as refusal:
        _fail(str(refusal))
    except StorageUnavailable as away:
        _fail(f"The database cannot be opened: {_on_one_line(away.private)}. Is GATEWAY_DATABASE_URL right?")
    sys.exit(NOT_STARTED if app.stopping.reason or not running.started else 0)


def _on_one_line(said: str) -> str:
    """What a driver said, without what SQLAlchemy adds on lines of its own."""
    lines = (line.strip() for line in said.splitlines())
    return "; ".join(line for line in lines if not line.startswith(("(Background on", "[SQL:", "[parameters:")))


def _fail(sentence: str) -> None:
    click.echo(f"Error: {sentence}", err=True)
    sys.exit(NOT_STARTED)
