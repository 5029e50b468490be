"""``runs``: the history, and one call explained."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from connector_gateway.cli.installation import data_folder, manage
from connector_gateway.cli.output import as_json, console, show
from connector_gateway.kit.identifiers import WorkspaceId


@click.group()
def runs() -> None:
    """Explain calls by their run_id."""


@runs.command("list")
@click.option("--workspace", help="Only runs of this workspace.")
@click.option("--connection", help="Only runs through this connection.")
@click.option("--operation", help="Only runs of this operation.")
@click.option("--status", type=click.Choice(["ok", "partial", "error", "running", "interrupted"]))
@click.option("--since", type=click.DateTime(), help="Only runs that started at or after this instant, in UTC.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True)
@data_folder
@as_json
def list_runs(
    workspace: str | None,
    connection: str | None,
    operation: str | None,
    status: str | None,
    since: datetime | None,
    limit: int,
    data: Path,
    *,
    as_json: bool,
) -> None:
    """List runs, newest first."""
    wanted = WorkspaceId(workspace) if workspace else None
    found = manage(
        data,
        lambda app: app.runs.list(
            wanted,
            limit=limit,
            since=since.replace(tzinfo=UTC).timestamp() if since else None,
            connection_id=connection,
            operation=operation,
            status=status,
        ),
        json=as_json,
    )
    show(found if as_json else [_summary(run) for run in found], json=as_json)


@runs.command("show")
@click.argument("run_id")
@data_folder
@as_json
def show_run(run_id: str, data: Path, *, as_json: bool) -> None:
    """Explain a call as a time line: checks, waits, every request upstream, and how it ended."""
    run = manage(data, lambda app: app.runs.show(run_id, None), json=as_json)
    if as_json:
        show(run, json=True)
        return
    console.print(f"[bold]{run['run_id']}[/]  {run['connector']} {run['operation']}  through {run['connection_id']}")
    asked = f"key {run['key_id']}" if run["key_id"] else "without a key"
    console.print(f"{run['surface']}, {asked}, {run['started_at'].isoformat()}\n", style="dim")
    table = Table("at", "took", "what", box=None)
    for at, took, what in time_line(run):
        table.add_row(f"{at:8.1f} ms", "" if took is None else f"{took:.1f} ms", what)
    console.print(table)


def _summary(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run as one line of a list."""
    return {
        "run_id": run["run_id"],
        "started_at": run["started_at"].isoformat(sep=" ", timespec="seconds"),
        "call": f"{run['connector']} {run['operation']}",
        "ended": run["code"] or run["status"],
        "ms": None if run["duration_ms"] is None else round(run["duration_ms"]),
    }


def time_line(run: Mapping[str, Any]) -> Iterator[tuple[float, float | None, str]]:
    """The steps of a run: milliseconds since its start, milliseconds it took, and what happened."""
    started_at: datetime = run["started_at"]
    exchanges = run["upstream"]
    checked = _since(started_at, exchanges[0]) - exchanges[0]["wait_ms"] if exchanges else run["duration_ms"] or 0.0
    what = "key, limit, scope, parameters and connection" if run["key_id"] else "connection"
    yield 0.0, max(0.0, checked), f"checked {what}"
    if run["idempotency"]:
        yield 0.0, None, _idempotency(run["idempotency"])
    for number, exchange in enumerate(exchanges):
        at = _since(started_at, exchange)
        if exchange["wait_ms"] >= 1:
            yield at - exchange["wait_ms"], exchange["wait_ms"], "waited for the application's budget"
        yield at, exchange["duration_ms"], f"{exchange['method']} {exchange['path']} → {_outcome(exchanges, number)}"
    if run["duration_ms"] is not None:
        yield run["duration_ms"], None, _end(run)


def _since(started_at: datetime, exchange: Mapping[str, Any]) -> float:
    at: datetime = exchange["at"]
    return max(0.0, (at - started_at) / timedelta(milliseconds=1))


def _outcome(exchanges: list[Mapping[str, Any]], number: int) -> str:
    exchange = exchanges[number]
    status = "no answer" if exchange["status"] is None else str(exchange["status"])
    earlier = [(other["method"], other["path"], other["status"]) for other in exchanges[:number]]
    again = any(
        (method, path) == (exchange["method"], exchange["path"]) and failed in {None, 429, 500, 502, 503, 504, 529}
        for method, path, failed in earlier[-1:]
    )
    return f"{status} (retry)" if again else status


def _idempotency(idempotency: Mapping[str, Any]) -> str:
    meaning = {
        "first": "first call with this key",
        "replayed": f"result of {idempotency.get('first_run_id')} given again",
        "recovered": "an earlier attempt was taken up where it had ended",
        "unfinished": "it ended before it was known who carries it out, or was cut off",
    }
    return f"idempotency key {idempotency['key']!r}: {meaning[idempotency['outcome']]}"


def _end(run: Mapping[str, Any]) -> str:
    if run["code"]:
        return f"[red]{run['http_status']} {run['code']}[/]"
    return f"[green]{run['status']}[/]" if run["status"] in {"ok", "partial"} else run["status"]
