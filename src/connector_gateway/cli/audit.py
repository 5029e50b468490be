"""``audit``: list, export and verify the audit trail, on the installation's own database."""

import sys
from datetime import datetime
from pathlib import Path

import click

from connector_gateway.app import App
from connector_gateway.cli.groups import Group
from connector_gateway.cli.installation import act, manage
from connector_gateway.cli.options import limit
from connector_gateway.cli.output import as_answered, as_json, show, show_page
from connector_gateway.cli.running import data_folder
from connector_gateway.cli.runs import Moment

COLUMNS = ("sequence", "at", "actor", "act", "object_id", "outcome", "address", "surface", "count", "workspace_id")
"""The columns of the list, the most important first: narrow terminals drop the last ones."""

BROKEN = 1
"""Exit status where the chain does not hold."""

after = click.option(
    "--after", type=click.IntRange(min=0), default=0, help="Only entries behind the one of this number."
)


@click.group(cls=Group)
def audit() -> None:
    """List, export and verify the audit trail."""


@audit.command("list")
@click.option("--actor", help="Only acts of this operator or key, of cli, connect_link or application.")
@click.option("--act", "kind", help="Only acts of this kind, such as create_key.")
@click.option("--object", "object_id", help="Only acts on this object, by its identifier.")
@click.option("--workspace", help="Only acts in this workspace.")
@click.option("--outcome", help="Only acts with this outcome: ok, or the code of an error.")
@click.option("--since", type=Moment(), help="Only acts at or after this instant; UTC, if it has no offset.")
@click.option("--until", type=Moment(), help="Only acts before this instant.")
@limit
@click.option("--cursor", type=int, help="The next_cursor of the list before this one.")
@data_folder
@as_json
def list_audit(
    actor: str | None,
    kind: str | None,
    object_id: str | None,
    workspace: str | None,
    outcome: str | None,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    cursor: int | None,
    data: Path | None,
    *,
    as_json: bool,
) -> None:
    """List administrative acts, newest first."""
    wanted = {"actor": actor, "act": kind, "object_id": object_id, "workspace_id": workspace, "outcome": outcome}
    rows, before = manage(
        data,
        lambda app: app.audit.page(
            before=cursor,
            limit=limit,
            since=None if since is None else since.timestamp(),
            until=None if until is None else until.timestamp(),
            **wanted,
        ),
        json=as_json,
    )
    show_page(rows, None if before is None else str(before), "acts", json=as_json, columns=COLUMNS)


@audit.command("export")
@after
@data_folder
def export_audit(after: int, data: Path | None) -> None:
    """Print all entries as JSON lines, the oldest first."""
    manage(data, lambda app: _export(app, after), json=True)


async def _export(app: App, after: int) -> None:
    async for entry in app.audit.export(after):
        click.echo(as_answered(entry, indent=None))


@audit.command("verify")
@after
@data_folder
@as_json
def verify_audit(after: int, data: Path | None, *, as_json: bool) -> None:
    """Check that no entry was changed or removed; names the first that was, and ends with 1.

    Note the head that it shows somewhere else: a trail that was replaced as a whole has another one.
    """
    verdict = manage(data, lambda app: app.audit.verify(after), json=as_json)
    show(
        {
            "entries": verdict.entries,
            "head": verdict.head,
            "broken": verdict.broken,
            "reason": verdict.reason,
        },
        json=as_json,
    )
    if verdict.broken is not None:
        sys.exit(BROKEN)


@audit.command("restart")
@data_folder
@as_json
def restart_audit(data: Path | None, *, as_json: bool) -> None:
    """Begin a new chain, where the secret that sealed the key of the present one is lost.

    The entries stay. Those from before can no longer be verified: verify --after the number before the first new one.
    """
    act(data, lambda app: app.audit.restart(), json=as_json)
