"""``workspaces``, ``keys``, ``connections`` and ``hooks``: management, on the installation's own database."""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import click

from connector_gateway.app import App
from connector_gateway.cli.installation import data_folder, manage
from connector_gateway.cli.json_text import value_of
from connector_gateway.cli.output import as_json, note, show
from connector_gateway.connectors import CONNECTORS
from connector_gateway.kit.identifiers import ConnectionId, KeyId, WorkspaceId
from connector_gateway.kit.shapes import Instant, Params

Act = Callable[[App], Awaitable[Any]]

WORKSPACES = ("workspace_id", "name", "plan", "created_at")
KEYS = (
    "key_id",
    "name",
    "scope",
    "ending",
    "last_used_at",
    "revoked_at",
    "expires_at",
    "calls_per_minute",
    "workspace_id",
)
CONNECTIONS = ("connection_id", "connector", "status", "account_name", "name", "updated_at", "workspace_id")
"""The columns of lists, what matters most first: narrow terminals drop the last ones."""

SEALS = ("kind", "resealed", "unreadable")

plan = click.Choice(["free", "paid"])
connector = click.Choice(list(CONNECTORS))
connector_argument = click.argument("connector", type=connector, metavar="CONNECTOR")
CHOICES = f"CONNECTOR is one of {', '.join(CONNECTORS)}."

return_url_list = click.option(
    "--return-url",
    "return_urls",
    multiple=True,
    help="An address that users may be sent back to after connecting an account; may be repeated.",
)
return_url_option = click.option("--return-url", help="Where the user is sent afterwards.")
no_verify = click.option("--no-verify", is_flag=True, help="Do not ask the application whose the credentials are.")


def _act(data: Path | None, act: Act, *, json: bool, columns: tuple[str, ...] = ()) -> None:
    show(manage(data, act, json=json), json=json, columns=columns)


@click.group()
def workspaces() -> None:
    """Create, list and change workspaces."""


@workspaces.command("create")
@click.argument("name")
@click.option("--plan", type=plan, default="free", show_default=True, help="How long events are kept: 7 or 30 days.")
@return_url_list
@data_folder
@as_json
def create_workspace(name: str, plan: Any, return_urls: tuple[str, ...], data: Path | None, *, as_json: bool) -> None:
    """Create a workspace."""
    _act(data, lambda app: app.workspaces.create(name, plan, return_urls), json=as_json)


@workspaces.command("list")
@data_folder
@as_json
def list_workspaces(data: Path | None, *, as_json: bool) -> None:
    """List all workspaces."""
    _act(data, lambda app: app.workspaces.list(), json=as_json, columns=WORKSPACES)


@workspaces.command("change")
@click.argument("workspace_id")
@click.option("--name", help="A new name.")
@click.option("--plan", type=plan, help="Another plan.")
@return_url_list
@data_folder
@as_json
def change_workspace(
    workspace_id: str,
    name: str | None,
    plan: str | None,
    return_urls: tuple[str, ...],
    data: Path | None,
    *,
    as_json: bool,
) -> None:
    """Change the name or plan of a workspace, or where its users may be sent back to."""
    changes = _given(name=name, plan=plan, return_urls=list(return_urls) or None)
    _act(data, lambda app: app.workspaces.change(WorkspaceId(workspace_id), **changes), json=as_json)


@click.group()
def keys() -> None:
    """Create, list and revoke API keys."""


class Expiry(Params):
    """When a key ends."""

    expires_at: Instant


@keys.command("create")
@click.argument("workspace_id")
@click.option(
    "--scope",
    type=click.Choice(["read", "read_write"]),
    default="read_write",
    show_default=True,
    help="Whether the key may write.",
)
@click.option("--name", default="", help="What the key is for.")
@click.option(
    "--calls-per-minute",
    type=click.IntRange(1, 1_000_000),
    default=120,
    show_default=True,
    help="How many calls the key may make.",
)
@click.option(
    "--connection", "connection_ids", multiple=True, help="Limit the key to this connection; may be repeated."
)
@click.option("--expires-at", help="ISO 8601 date and time after which the key is worthless.")
@click.option("--manages-connections", is_flag=True, help="Let the key manage the connections of its workspace.")
@data_folder
@as_json
def create_key(
    workspace_id: str,
    scope: Any,
    name: str,
    calls_per_minute: int,
    connection_ids: tuple[str, ...],
    expires_at: str | None,
    data: Path | None,
    *,
    manages_connections: bool,
    as_json: bool,
) -> None:
    """Create an API key; the key itself is shown this once."""
    try:
        ends = Expiry.model_validate({"expires_at": expires_at}).expires_at.timestamp() if expires_at else None
    except ValueError as fault:
        raise click.BadParameter(f"{expires_at!r} is no ISO 8601 date and time.", param_hint="--expires-at") from fault
    allowed = [ConnectionId(connection_id) for connection_id in connection_ids] or None

    def create(app: App) -> Awaitable[Any]:
        return app.keys.create(
            WorkspaceId(workspace_id),
            scope,
            name=name,
            calls_per_minute=calls_per_minute,
            connection_ids=allowed,
            expires_at=ends,
            manages_connections=manages_connections,
        )

    _act(data, create, json=as_json)


@keys.command("list")
@click.option("--workspace", help="Only keys of this workspace.")
@data_folder
@as_json
def list_keys(workspace: str | None, data: Path | None, *, as_json: bool) -> None:
    """List API keys, without the keys themselves."""
    wanted = WorkspaceId(workspace) if workspace else None
    _act(data, lambda app: app.keys.list(wanted), json=as_json, columns=KEYS)


@keys.command("revoke")
@click.argument("key_id")
@data_folder
@as_json
def revoke_key(key_id: str, data: Path | None, *, as_json: bool) -> None:
    """Revoke an API key; a running service stops taking it within seconds."""
    _act(data, lambda app: app.keys.revoke(KeyId(key_id)), json=as_json)


@click.group()
def connections() -> None:
    """Create, connect, test, list, change and remove connections."""


@connections.command("create", epilog=CHOICES)
@click.argument("workspace_id")
@connector_argument
@click.option("--name", default="", help="What people call it.")
@click.option("--settings", default="{}", help="Settings as a JSON object.")
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
    credentials, wanted = _credentials(), _object(settings, "--settings")

    def create(app: App) -> Awaitable[Any]:
        return app.connecting.create(
            WorkspaceId(workspace_id), connector, credentials, name=name, settings=wanted, verify=not no_verify
        )

    _act(data, create, json=as_json)


@connections.command("connect", epilog=CHOICES)
@click.argument("workspace_id")
@connector_argument
@click.option("--name", default="", help="What people call it.")
@click.option("--settings", default="{}", help="Settings as a JSON object.")
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
    wanted = _object(settings, "--settings")

    def create(app: App) -> Awaitable[Any]:
        return app.connecting.create(
            WorkspaceId(workspace_id), connector, None, name=name, settings=wanted, return_url=return_url
        )

    _act(data, create, json=as_json)


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

    _act(data, reconnect, json=as_json)


@connections.command("test")
@click.argument("connection_id")
@data_folder
@as_json
def test_connection(connection_id: str, data: Path | None, *, as_json: bool) -> None:
    """Ask the application whose a connection is and what it allows."""
    _act(data, lambda app: app.connecting.test(connection_id), json=as_json)


@connections.command("list")
@click.option("--workspace", help="Only connections of this workspace.")
@click.option("--connector", type=connector, help="Only connections of this connector.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="How many to show.")
@click.option("--cursor", help="The next_cursor of the list before this one.")
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
    show(page.rows, json=as_json, columns=CONNECTIONS)
    if page.before is not None:
        note("next_cursor", f"{page.before} (older connections: repeat with --cursor)")


@connections.command("show")
@click.argument("connection_id")
@data_folder
@as_json
def show_connection(connection_id: str, data: Path | None, *, as_json: bool) -> None:
    """Show a connection; secrets are never shown."""
    _act(data, lambda app: app.connections.show(connection_id), json=as_json)


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
    changes = _given(
        name=name,
        settings=None if settings is None else _object(settings, "--settings"),
        credentials=_credentials() if credentials else None,
    )

    def change(app: App) -> Awaitable[Any]:
        return app.connecting.change(
            connection_id, verify=not no_verify, allow_other_account=allow_other_account, **changes
        )

    _act(data, change, json=as_json)


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
    _act(data, lambda app: app.connections.change(connection_id, settings=settings), json=as_json)


@connections.command("remove")
@click.argument("connection_id")
@data_folder
@as_json
def remove_connection(connection_id: str, data: Path | None, *, as_json: bool) -> None:
    """Remove a connection and its secrets; its history stays."""
    _act(data, lambda app: app.connecting.remove(connection_id), json=as_json)


@click.group()
def hooks() -> None:
    """Take, show and forget the tokens that applications sign their deliveries with."""


@hooks.command("open", epilog=CHOICES)
@connector_argument
@data_folder
@as_json
def open_hook(connector: str, data: Path, *, as_json: bool) -> None:
    """Let an application hand over its token for some minutes, at the address that is shown."""
    _act(data, lambda app: app.hooks.open(connector), json=as_json)


@hooks.command("close", epilog=CHOICES)
@connector_argument
@data_folder
@as_json
def close_hook(connector: str, data: Path, *, as_json: bool) -> None:
    """Take no token any more at the addresses that were opened so far."""
    _act(data, lambda app: app.hooks.close(connector), json=as_json)


@hooks.command("show", epilog=CHOICES)
@connector_argument
@data_folder
@as_json
def show_hook(connector: str, data: Path | None, *, as_json: bool) -> None:
    """Show the token that an application handed over, to be confirmed in its settings."""
    _act(data, lambda app: app.hooks.show(connector), json=as_json)


@hooks.command("forget", epilog=CHOICES)
@connector_argument
@data_folder
@as_json
def forget_hook(connector: str, data: Path | None, *, as_json: bool) -> None:
    """Forget the token, so that the application can hand over another one."""
    _act(data, lambda app: app.hooks.forget(connector), json=as_json)


@click.group()
def vault() -> None:
    """Look after what is sealed with the installation's secret keys."""


@vault.command("rotate")
@data_folder
@as_json
def rotate_vault(data: Path, *, as_json: bool) -> None:
    """Seal everything again with the first of GATEWAY_SECRET_KEYS, while the service runs with the same keys."""
    _act(data, lambda app: app.rotation.rotate(), json=as_json, columns=SEALS)


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _credentials() -> dict[str, str]:
    if sys.stdin.isatty():
        click.echo("Credentials as a JSON object, then Ctrl-D:", err=True)
    found = _object(sys.stdin.read(), "standard input")
    if not all(isinstance(value, str) for value in found.values()):
        raise click.BadParameter("Credentials are an object of strings.", param_hint="standard input")
    return found


def _object(text: str, source: str) -> dict[str, Any]:
    try:
        value = value_of(text)
    except ValueError as fault:
        raise click.BadParameter(f"It is not JSON: {fault}.", param_hint=source) from fault
    if not isinstance(value, dict):
        raise click.BadParameter("A JSON object is expected.", param_hint=source)
    return value
