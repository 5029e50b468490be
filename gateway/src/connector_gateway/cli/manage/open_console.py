"""The command ``console``, which opens the console in a browser with a sign-in link."""

import socket
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

import click

from connector_gateway.app import App
from connector_gateway.cli.gateway_url_and_key import data_folder
from connector_gateway.cli.manage.management_without_server import run_management

CONNECT_SECONDS = 5.0


@click.command()
@click.option("--url", help="URL of the console. Default: the URL in the settings.")
@click.option("--print", "print_only", is_flag=True, help="Print the link without opening a browser.")
@data_folder
def console(url: str | None, data: Path | None, *, print_only: bool) -> None:
    """Print a sign-in link for the console, valid once for ten minutes, and open it in a browser."""
    link = run_management(data, lambda app: _create_link(app, url), json=False)
    click.echo(link)
    if not print_only:
        webbrowser.open(link)


async def _create_link(app: App, url: str | None) -> str:
    """Return a sign-in link. Raises ``ClickException`` if no server listens at its URL."""
    base_url = (url or app.settings.operators_url).rstrip("/")
    _check_listening(base_url)
    return await app.sign_in_link(base_url)


def _check_listening(base_url: str) -> None:
    parts = urlsplit(base_url)
    try:
        port = parts.port or {"https": 443, "http": 80}[parts.scheme]
        socket.create_connection((parts.hostname or "", port), CONNECT_SECONDS).close()
    except (KeyError, ValueError):
        raise click.ClickException(f"{base_url} is not an HTTP URL such as http://127.0.0.1:8080.") from None
    except OSError:
        raise click.ClickException(
            f"Cannot connect to {base_url}. Start the gateway with 'connector-gateway serve' or 'make run', "
            "or specify its URL with --url."
        ) from None
