"""``workspaces``: create, list and change workspaces, on the installation's own database."""

from pathlib import Path
from typing import Any

import click

from connector_gateway.cli.groups import Group
from connector_gateway.cli.installation import act, manage
from connector_gateway.cli.options import cursor, given, limit
from connector_gateway.cli.output import as_json, show_page
from connector_gateway.cli.running import data_folder
from connector_gateway.kit.identifiers import WorkspaceId

COLUMNS = ("workspace_id", "name", "plan", "created_at")
"""The columns of the list, what matters most first: narrow terminals drop the last ones."""

plan = click.Choice(["free", "paid"])
return_url_list = click.option(
    "--return-url",
    "return_urls",
    multiple=True,
    help="An address that users may be sent back to after connecting an account; may be repeated.",
)


@click.group(cls=Group)
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
    act(data, lambda app: app.workspaces.create(name, plan, return_urls), json=as_json)


@workspaces.command("list")
@limit
@cursor
@data_folder
@as_json
def list_workspaces(limit: int, cursor: str | None, data: Path | None, *, as_json: bool) -> None:
    """List workspaces, newest first."""
    rows, before = manage(data, lambda app: app.workspaces.page("", cursor, limit), json=as_json)
    show_page(rows, before, "workspaces", json=as_json, columns=COLUMNS)


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
    changes = given(name=name, plan=plan, return_urls=list(return_urls) or None)
    act(data, lambda app: app.workspaces.change(WorkspaceId(workspace_id), **changes), json=as_json)
