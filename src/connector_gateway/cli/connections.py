"""``connections``: create, connect, test, list, change and remove connections, on the installation's own database."""

import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import click

from connector_gateway.app import App
from connector_gateway.cli.groups import Group
from connector_gateway.cli.installation import act, manage
from connector_gateway.cli.options import CHOICES, connector, connector_argument, cursor, given, json_object, limit
from connector_gateway.cli.output import as_json, show_page
from connector_gateway.cli.running import data_folder
from connector_gateway.kit.identifiers import WorkspaceId

COLUMNS = ("connection_id", "connector", "status", "account_name", "name", "updated_at", "workspace_id")
"""The columns of the list, what matters most first: narrow terminals drop the last ones."""

MAX_CREDENTIALS = 1_000_000
"""Characters that are read; what goes on for ever is told, before it fills the memory."""

return_url_option = click.option("--return-url", help="Where the user is sent afterwards.")
name_option = click.option("--name", default="", help="What people call it.")
settings_option = click.option("--settings", default="{}", help="Settings as a JSON object.")
no_verify = click.option("--no-verify", is_flag=True, help="Do not ask the application whose the credentials are.")


@click.group(cls=Group)
def connections() -> None:
    """Create, connect, test, list, change and remove connections."""


@connections.command("create", epilog=CHOICES)
@click.argument("workspace_id")
@connector_argument
@name_option
@settings_option
@no_verify
@data_folder
@as_json
def create_connection(
    workspace_id: str,
    connector: str,
    name: str,
    settings: str,
    data: Path | None,
    *,
    no_verify: bool,
    as_json: bool,
) -> None:
    """Create a connection; its credentials are read from standard input, as a JSON object such as {"token": "…"}."""
    credentials, wanted = _credentials(), json_object(settings, "--settings")

    def create(app: App) -> Awaitable[Any]:
        return app.connecting.create(
            WorkspaceId(workspace_id), connector, credentials, name=name, settings=wanted, verify=not no_verify
        )

    act(data, create, json=as_json)


@connections.command("connect", epilog=CHOICES)
@click.argument("workspace_id")
@connector_argument
@name_option
@settings_option
@return_url_option
@data_folder
@as_json
def connect_connection(
    workspace_id: str,
    connector: str,
    name: str,
    settings: str,
    return_url: str | None,
    data: Path | None,
    *,
    as_json: bool,
) -> None:
    """Make a link by which a user connects an account in a browser."""
    wanted = json_object(settings, "--settings")

    def create(app: App) -> Awaitable[Any]:
        return app.connecting.create(
            WorkspaceId(workspace_id), connector, None, name=name, settings=wanted, return_url=return_url
        )

    act(data, create, json=as_json)


@connections.command("reconnect")
@click.argument("connection_id")
@return_url_option
@click.option("--allow-other-account", is_flag=True, help="Let another account than before be connected.")
@data_folder
@as_json
def reconnect_connection(
    connection_id: str, return_url: str | None, data: Path | None, *, allow_other_account: bool, as_json: bool
) -> None:
    """Make a link by which the user connects the account again; the connection keeps its identifier."""

    def reconnect(app: App) -> Awaitable[Any]:
        return app.connecting.reconnect(connection_id, return_url=return_url, allow_other_account=allow_other_account)

    act(data, reconnect, json=as_json)


@connections.command("test")
@click.argument("connection_id")
@data_folder
@as_json
def test_connection(connection_id: str, data: Path | None, *, as_json: bool) -> None:
    """Ask the application whose a connection is and what it allows."""
    act(data, lambda app: app.connecting.test(connection_id), json=as_json)


@connections.command("list")
@click.option("--workspace", help="Only connections of this workspace.")
@click.option("--connector", type=connector, help="Only connections of this connector.")
@limit
@cursor
@data_folder
@as_json
def list_connections(
    workspace: str | None, connector: str | None, limit: int, cursor: str | None, data: Path | None, *, as_json: bool
) -> None:
    """List connections, newest first."""
    wanted = WorkspaceId(workspace) if workspace else None
    page = manage(
        data,
        lambda app: app.connections.page(wanted, connector=connector, before=cursor, limit=limit),
        json=as_json,
    )
    show_page(page.rows, page.before, "connections", json=as_json, columns=COLUMNS)


@connections.command("show")
@click.argument("connection_id")
@data_folder
@as_json
def show_connection(connection_id: str, data: Path | None, *, as_json: bool) -> None:
    """Show a connection; secrets are never shown."""
    act(data, lambda app: app.connections.show(connection_id), json=as_json)


@connections.command("change")
@click.argument("connection_id")
@click.option("--name", help="A new name.")
@click.option("--settings", help="New settings, as a JSON object.")
@click.option("--credentials", is_flag=True, help="Read new credentials from standard input, as a JSON object.")
@click.option("--allow-other-account", is_flag=True, help="Let the credentials be those of another account.")
@no_verify
@data_folder
@as_json
def change_connection(
    connection_id: str,
    name: str | None,
    settings: str | None,
    data: Path | None,
    *,
    credentials: bool,
    allow_other_account: bool,
    no_verify: bool,
    as_json: bool,
) -> None:
    """Change the name, settings or credentials of a connection."""
    changes = given(
        name=name,
        settings=None if settings is None else json_object(settings, "--settings"),
        credentials=_credentials() if credentials else None,
    )

    def change(app: App) -> Awaitable[Any]:
        return app.connecting.change(
            connection_id, verify=not no_verify, allow_other_account=allow_other_account, **changes
        )

    act(data, change, json=as_json)


@connections.command("watch")
@click.argument("connection_id")
@click.option("--channel", "channels", multiple=True, help="A channel to watch; none means every one the app is in.")
@click.option("--keyword", "keywords", multiple=True, help="A word to look for; none means every message.")
@data_folder
@as_json
def watch_connection(
    connection_id: str, channels: tuple[str, ...], keywords: tuple[str, ...], data: Path | None, *, as_json: bool
) -> None:
    """Choose what a chat connection watches for, in place of what it watched for before."""
    settings = {"channels": list(channels), "keywords": list(keywords)}
    act(data, lambda app: app.connections.change(connection_id, settings=settings), json=as_json)


@connections.command("remove")
@click.argument("connection_id")
@data_folder
@as_json
def remove_connection(connection_id: str, data: Path | None, *, as_json: bool) -> None:
    """Remove a connection and its secrets; its history stays."""
    act(data, lambda app: app.connecting.remove(connection_id), json=as_json)


def _credentials() -> dict[str, str]:
    if sys.stdin.isatty():
        click.echo("Credentials as a JSON object, then Ctrl-D:", err=True)
    text = sys.stdin.read(MAX_CREDENTIALS + 1)
    if len(text) > MAX_CREDENTIALS:
        raise click.BadParameter(f"More than {MAX_CREDENTIALS:,} characters came.", param_hint="standard input")
    found = json_object(text, "standard input")
    if not all(isinstance(value, str) for value in found.values()):
        raise click.BadParameter("Credentials are an object of strings.", param_hint="standard input")
    return found
