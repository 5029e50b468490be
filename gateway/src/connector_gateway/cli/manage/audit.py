"""The command ``audit``, which lists, exports and verifies the audit trail in the installation's database."""

import sys
from pathlib import Path

import click

from connector_gateway.app import App
from connector_gateway.cli.gateway_url_and_key import data_folder
from connector_gateway.cli.manage.commands import management_group
from connector_gateway.cli.manage.management_without_server import run_and_print, run_management
from connector_gateway.cli.output import as_json, show, to_json_text

BROKEN = 1
"""The exit status if the chain is broken."""

after = click.option(
    "--after", type=click.IntRange(min=0), default=0, help="Only entries after the one with this number."
)

audit = management_group("audit")


@audit.command("export")
@after
@data_folder
def export_audit(after: int, data: Path | None) -> None:
    """Print all entries as JSON lines, oldest first."""
    run_management(data, lambda app: _export(app, after), json=True)


async def _export(app: App, after: int) -> None:
    async for entry in app.audit.export(after):
        click.echo(to_json_text(entry, indent=None))


@audit.command("verify")
@after
@data_folder
@as_json
def verify_audit(after: int, data: Path | None, *, as_json: bool) -> None:
    """Check that no entry was changed or removed. Otherwise, print the first that was, and exit with 1.

    Store the printed head elsewhere: a trail that was replaced entirely has another head.
    """
    verdict = run_management(data, lambda app: app.audit.verify(after), json=as_json)
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
    """Start a new chain, if the secret that encrypted the key of the current one is lost.

    Existing entries are retained but can no longer be verified. Run verify --after with the number of the last one.
    """
    run_and_print(data, lambda app: app.audit.restart(), json=as_json)
