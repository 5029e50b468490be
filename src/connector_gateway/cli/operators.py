"""``operators``: create, list and revoke operators, on the installation's own database."""

from pathlib import Path
from typing import Any

import click

from connector_gateway.cli.groups import Group
from connector_gateway.cli.installation import act, manage
from connector_gateway.cli.options import cursor, limit
from connector_gateway.cli.output import as_json, show_page
from connector_gateway.cli.running import data_folder

COLUMNS = ("name", "role", "operator_id", "revoked_at", "created_at")
"""The columns of the list, the most important first: narrow terminals drop the last ones."""


@click.group(cls=Group)
def operators() -> None:
    """Create, list and revoke operators."""


@operators.command("create")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(["viewer", "admin"]),
    default="viewer",
    show_default=True,
    help="A viewer looks at everything and changes nothing.",
)
@data_folder
@as_json
def create_operator(name: str, role: Any, data: Path | None, *, as_json: bool) -> None:
    """Create an operator; the token is shown this once."""
    act(data, lambda app: app.operators.create(name, role), json=as_json)


@operators.command("list")
@limit
@cursor
@data_folder
@as_json
def list_operators(limit: int, cursor: str | None, data: Path | None, *, as_json: bool) -> None:
    """List operators, newest first; the built-in one, whose token is a setting, is not among them."""
    rows, before = manage(data, lambda app: app.operators.page(cursor, limit), json=as_json)
    show_page(rows, before, "operators", json=as_json, columns=COLUMNS)


@operators.command("revoke")
@click.argument("operator", metavar="NAME")
@data_folder
@as_json
def revoke_operator(operator: str, data: Path | None, *, as_json: bool) -> None:
    """Revoke an operator, by name or identifier; a running service stops taking the token within seconds."""
    act(data, lambda app: app.operators.revoke(operator), json=as_json)
