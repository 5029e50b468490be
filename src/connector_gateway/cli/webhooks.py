"""``webhooks``: addresses that observed events are delivered to, on the installation's own database."""

from pathlib import Path
from typing import Any

import click

from connector_gateway.app import App
from connector_gateway.cli.groups import Group
from connector_gateway.cli.installation import act
from connector_gateway.cli.output import as_json
from connector_gateway.cli.running import data_folder
from connector_gateway.core.webhooks.webhooks import OVERLAP_SECONDS
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.kit.shapes import Instant, Params

COLUMNS = ("webhook_id", "url", "status", "reason", "behind", "failing_since", "delivered_at", "connection_id")


class Since(Params):
    """From when on events are delivered again."""

    since: Instant


@click.group(cls=Group)
def webhooks() -> None:
    """Deliver observed events to addresses of workspaces, and replay them."""


@webhooks.command("create")
@click.argument("workspace_id")
@click.argument("url")
@click.option("--name", default="", help="What the webhook is for.")
@click.option("--connection", "connection_id", help="Deliver only events of this connection.")
@click.option("--type", "types", multiple=True, help="Deliver only events of this type; may be repeated.")
@data_folder
@as_json
def create_webhook(workspace_id: str, data: Path | None, *, as_json: bool, **given: Any) -> None:
    """Have the events of a workspace delivered to URL; the secret is shown this once."""

    async def create(app: App) -> Any:
        return await app.webhooks.create(WorkspaceId(workspace_id), **given)

    act(data, create, json=as_json)


@webhooks.command("list")
@click.option("--workspace", help="Only webhooks of this workspace.")
@data_folder
@as_json
def list_webhooks(workspace: str | None, data: Path | None, *, as_json: bool) -> None:
    """List webhooks, newest first."""
    wanted = WorkspaceId(workspace) if workspace else None

    async def rows(app: App) -> Any:
        return (await app.webhooks.page(wanted, limit=1000)).rows

    act(data, rows, json=as_json, columns=COLUMNS)


@webhooks.command("show")
@click.argument("webhook_id")
@data_folder
@as_json
def show_webhook(webhook_id: str, data: Path | None, *, as_json: bool) -> None:
    """Show a webhook: whether it accepts what is delivered."""
    act(data, lambda app: app.webhooks.show(webhook_id), json=as_json)


@webhooks.command("change")
@click.argument("webhook_id")
@click.option("--name", help="What the webhook is for.")
@click.option("--url", help="Where events are delivered to from now on.")
@click.option("--type", "types", multiple=True, help="Deliver only events of this type; may be repeated.")
@click.option("--all-types", is_flag=True, help="Deliver events of all types again.")
@data_folder
@as_json
def change_webhook(
    webhook_id: str,
    name: str | None,
    url: str | None,
    types: tuple[str, ...],
    data: Path | None,
    *,
    all_types: bool,
    as_json: bool,
) -> None:
    """Change the name, address or types of a webhook; what waits is tried again at once."""
    wanted = {"name": name, "url": url, "types": [] if all_types else list(types) or None}
    changes = {key: value for key, value in wanted.items() if value is not None}
    act(data, lambda app: app.webhooks.change(webhook_id, **changes), json=as_json)


@webhooks.command("enable")
@click.argument("webhook_id")
@data_folder
@as_json
def enable_webhook(webhook_id: str, data: Path | None, *, as_json: bool) -> None:
    """Deliver to a webhook again, from where it stopped."""
    act(data, lambda app: app.webhooks.change(webhook_id, status="active"), json=as_json)


@webhooks.command("disable")
@click.argument("webhook_id")
@data_folder
@as_json
def disable_webhook(webhook_id: str, data: Path | None, *, as_json: bool) -> None:
    """Deliver nothing to a webhook until it is enabled."""
    act(data, lambda app: app.webhooks.change(webhook_id, status="disabled"), json=as_json)


@webhooks.command("rotate")
@click.argument("webhook_id")
@click.option(
    "--overlap-seconds",
    type=click.IntRange(0, 30 * 24 * 60 * 60),
    default=int(OVERLAP_SECONDS),
    show_default=True,
    help="How long it is signed with the former secret as well.",
)
@data_folder
@as_json
def rotate_secret(webhook_id: str, overlap_seconds: int, data: Path | None, *, as_json: bool) -> None:
    """Replace the secret of a webhook; the new one is shown this once."""
    act(data, lambda app: app.webhooks.rotate(webhook_id, overlap_seconds), json=as_json)


@webhooks.command("replay")
@click.argument("webhook_id")
@click.argument("connection_id")
@click.option("--since", help="ISO 8601 date and time: deliver again what was observed then or later.")
@click.option("--after", help="Deliver what was observed after the event of this identifier.")
@data_folder
@as_json
def replay_webhook(
    webhook_id: str, connection_id: str, since: str | None, after: str | None, data: Path | None, *, as_json: bool
) -> None:
    """Deliver events of a connection again; all that are kept, unless told from where on."""
    try:
        begins = Since.model_validate({"since": since}).since.timestamp() if since else None
    except ValueError as fault:
        raise click.BadParameter(f"{since!r} is no ISO 8601 date and time.", param_hint="--since") from fault
    act(data, lambda app: app.webhooks.replay(webhook_id, connection_id, since=begins, after=after), json=as_json)


@webhooks.command("remove")
@click.argument("webhook_id")
@data_folder
@as_json
def remove_webhook(webhook_id: str, data: Path | None, *, as_json: bool) -> None:
    """Remove a webhook; nothing more is delivered to it."""
    act(data, lambda app: app.webhooks.remove(webhook_id), json=as_json)
