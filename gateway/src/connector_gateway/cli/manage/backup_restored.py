"""The command ``restored``, which declares that the database was restored from a backup."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from connector_gateway.app import App
from connector_gateway.cli.gateway_url_and_key import data_folder
from connector_gateway.cli.manage.management_without_server import run_and_print
from connector_gateway.cli.output import as_json
from connector_gateway.kit.clock import utc_datetime

COLUMNS = ("backup_at", "restored_at", "searched_until")


class Time(click.ParamType[datetime]):
    """The type of an ISO 8601 time with an offset from UTC."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the time in UTC."""
        try:
            time = datetime.fromisoformat(str(value))
        except ValueError:
            time = None
        if time is None or time.tzinfo is None:
            self.fail(f"{value!r} is not a time with an offset from UTC, such as 2026-11-24T08:30:00Z.", param, ctx)
        return time.astimezone(UTC)


@click.command()
@click.option("--backup-at", type=Time(), required=True, help="Time of the backup, such as 2026-11-24T08:30:00Z.")
@data_folder
@as_json
def restored(data: Path, backup_at: datetime, *, as_json: bool) -> None:
    """Record that the database was restored from a backup.

    For 24 hours, a write with an idempotency key first searches the vendor account for its effect since the backup.
    Run this command after the restore and before the service starts.
    """

    async def declare(app: App) -> dict[str, Any]:
        restore = await app.restores.declare(backup_at.timestamp())
        return {name: utc_datetime(seconds) for name, seconds in restore.items()}

    run_and_print(data, declare, json=as_json, columns=COLUMNS)
