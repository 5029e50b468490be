"""``keys``: create, list and revoke API keys, on the installation's own database."""

from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import click

from connector_gateway.app import App
from connector_gateway.cli.groups import Group
from connector_gateway.cli.installation import act, manage
from connector_gateway.cli.options import cursor, limit
from connector_gateway.cli.output import as_json, show_page
from connector_gateway.cli.running import data_folder
from connector_gateway.kit.identifiers import ConnectionId, KeyId, WorkspaceId
from connector_gateway.kit.shapes import Instant, Params

COLUMNS = (
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
"""The columns of the list, what matters most first: narrow terminals drop the last ones."""


@click.group(cls=Group)
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
@click.option(
    "--operation",
    "operations",
    multiple=True,
    help="Limit the key to this operation, such as notes_create_page, or to all like it, such as notes_*; "
    "may be repeated.",
)
@click.option("--expires-at", help="ISO 8601 date and time after which the key is worthless.")
@click.option(
    "--mentions",
    type=click.Choice(["allow", "neutralise"]),
    help="Whether texts that the key writes may notify people whom they mention; unset, agents notify nobody.",
)
@click.option("--manages-connections", is_flag=True, help="Let the key manage the connections of its workspace.")
@data_folder
@as_json
def create_key(
    workspace_id: str,
    scope: Any,
    name: str,
    calls_per_minute: int,
    connection_ids: tuple[str, ...],
    operations: tuple[str, ...],
    expires_at: str | None,
    mentions: Any,
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
            operations=operations or None,
            mentions=mentions,
        )

    act(data, create, json=as_json)


@keys.command("list")
@click.option("--workspace", help="Only keys of this workspace.")
@limit
@cursor
@data_folder
@as_json
def list_keys(workspace: str | None, limit: int, cursor: str | None, data: Path | None, *, as_json: bool) -> None:
    """List API keys, newest first, without the keys themselves."""
    wanted = WorkspaceId(workspace) if workspace else None
    rows, before = manage(data, lambda app: app.keys.page(wanted, cursor, limit), json=as_json)
    show_page(rows, before, "keys", json=as_json, columns=COLUMNS)


@keys.command("revoke")
@click.argument("key_id")
@data_folder
@as_json
def revoke_key(key_id: str, data: Path | None, *, as_json: bool) -> None:
    """Revoke an API key; a running service stops taking it within seconds."""
    act(data, lambda app: app.keys.revoke(KeyId(key_id)), json=as_json)
