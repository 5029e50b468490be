"""``runs``: the history, and one call explained."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import click

from connector_gateway.app import App
from connector_gateway.cli.groups import Group
from connector_gateway.cli.installation import manage
from connector_gateway.cli.output import (
    as_answered,
    as_json,
    cell,
    console,
    fitting,
    note,
    show,
    show_json,
    to_terminal,
)
from connector_gateway.cli.printing import printable
from connector_gateway.cli.running import data_folder
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.filters import operation_names
from connector_gateway.core.key_outcomes import describe_outcome
from connector_gateway.kit.errors import catalogue
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.kit.nearest import nearest
from connector_gateway.kit.shapes import OffsetMissing, parse_instant

F = TypeVar("F", bound=Callable[..., Any])

SUMMARY = ("run_id", "ended", "call", "ms", "started_at")
WIDTHS = (30, 22, 32, 6, 19)
"""Of the columns while runs are followed, where nobody knows what is to come."""

WINDOW = 1000
"""How many of the newest runs are looked at each time; of more between two polls the oldest are not shown."""

POLL_SECONDS = 0.5


class Moment(click.ParamType[datetime]):
    """An ISO 8601 date, or date and time."""

    name = "instant"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """Return the instant; a date alone is its midnight in UTC."""
        try:
            return parse_instant(value)
        except OffsetMissing:
            self.fail(f"{value!r} is a time without an offset: add Z for UTC, or one such as +01:00.", param, ctx)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is no ISO 8601 date and time, such as 2026-11-02T09:30:00Z.", param, ctx)


class Known(click.ParamType[str]):
    """One of many names; an unknown one is refused, for it would find nothing and not say why."""

    name = "text"

    def __init__(self, what: str, names: Iterable[str]) -> None:
        self.what, self.names = what, sorted(set(names))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name as it was given."""
        if value in self.names:
            return str(value)
        meant = nearest(value, self.names)
        hint = f"Did you mean {meant}?" if meant else f"There are: {', '.join(self.names)}."
        raise click.BadParameter(f"there is no {self.what} {value!r}. {hint}", ctx, param)


CODE = Known("code", (error.code for error in catalogue()))
OPERATION = Known("operation", operation_names(CONNECTORS))


def filters(command: F) -> F:
    """The options by which runs are chosen."""
    for option in (
        click.option("--code", type=CODE, help="Only runs that ended with this code, such as rate_limited."),
        click.option(
            "--status",
            type=click.Choice(["ok", "partial", "error", "running", "interrupted"]),
            help="Only runs that stand like this.",
        ),
        click.option("--operation", type=OPERATION, help="Only runs of this operation, such as create_page."),
        click.option("--connector", type=click.Choice(list(CONNECTORS)), help="Only runs of this connector."),
        click.option("--connection", help="Only runs through this connection."),
        click.option("--workspace", help="Only runs of this workspace."),
    ):
        command = option(command)
    return command


@click.group(cls=Group)
def runs() -> None:
    """Explain calls by their run_id."""


@runs.command("list")
@filters
@click.option(
    "--since", type=Moment(), help="Only runs that started at or after this instant; UTC, if it has no offset."
)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many runs to show.")
@click.option("--cursor", help="The next_cursor of the list before this one.")
@data_folder
@as_json
def list_runs(
    since: datetime | None, limit: int, cursor: str | None, data: Path | None, *, as_json: bool, **wanted: str | None
) -> None:
    """List runs, newest first."""
    started = None if since is None else since.timestamp()
    found = manage(data, lambda app: _newest(app, wanted, limit=limit + 1, since=started, before=cursor), json=as_json)
    shown = found[:limit]
    show(shown if as_json else [_summary(run) for run in shown], json=as_json, columns=SUMMARY)
    if len(found) > limit:
        note("next_cursor", f"{shown[-1]['run_id']} (older runs: repeat with --cursor)")


@runs.command("tail")
@filters
@click.option("--polls", type=click.IntRange(1), hidden=True, help="End after so many polls.")
@data_folder
@as_json
def tail_runs(polls: int | None, data: Path | None, *, as_json: bool, **wanted: str | None) -> None:
    """Show runs as they end, until Ctrl-C; with --json, a line for each."""
    with suppress(KeyboardInterrupt):
        manage(data, lambda app: _tail(app, wanted, polls, json=as_json), json=as_json)


async def pause(seconds: float) -> None:
    """Wait until the next poll."""
    await asyncio.sleep(seconds)


async def _tail(app: App, wanted: Mapping[str, str | None], polls: int | None, *, json: bool) -> None:
    """Print every run that ends from now on; those of the last moment before count as new."""
    told: set[str] = {run["run_id"] for run in await _newest(app, wanted, limit=WINDOW) if _ended(run)}
    for _ in count() if polls is None else range(polls):
        await pause(POLL_SECONDS)
        newest = await _newest(app, wanted, limit=WINDOW)
        # Lists begin with the newest; who watches reads downwards.
        for run in reversed([run for run in newest if _ended(run) and run["run_id"] not in told]):
            _print_line(run, json=json)
        told = {run["run_id"] for run in newest if _ended(run)}


def _ended(run: Mapping[str, Any]) -> bool:
    return bool(run["status"] != "running")


def _print_line(run: Mapping[str, Any], *, json: bool) -> None:
    if json:
        show_json(as_answered(run, indent=None))
        return
    summary = _summary(run)
    cells = [cell(summary[name]) for name in SUMMARY]
    if to_terminal():
        cells = [text.ljust(width) for text, width in zip(cells, WIDTHS, strict=True)][: fitting(WIDTHS, console.width)]
    click.echo(("  " if to_terminal() else "\t").join(cells).rstrip(" "))


async def _newest(app: App, wanted: Mapping[str, str | None], **more: Any) -> Sequence[dict[str, Any]]:
    """The newest runs that are *wanted*; the workspace is named differently where runs are kept."""
    names = {"connection": "connection_id"}
    filters: dict[str, Any] = {names.get(name, name): value for name, value in wanted.items() if name != "workspace"}
    workspace = wanted["workspace"]
    return await app.runs.list(WorkspaceId(workspace) if workspace else None, **filters, **more)


@runs.command("show")
@click.argument("run_id")
@data_folder
@as_json
def show_run(run_id: str, data: Path | None, *, as_json: bool) -> None:
    """Explain a call as a time line: checks, waits, every request upstream, and how it ended."""
    run = manage(data, lambda app: app.runs.show(run_id, None), json=as_json)
    if as_json:
        show(run, json=True)
        return
    through = f"  through {cell(run['connection_id'])}" if run["connection_id"] else ""
    asked = f"key {run['key_id']}" if run["key_id"] else "without a key"
    click.echo(f"{run['run_id']}  {run['connector']} {run['operation']}{through}")
    click.echo(f"{run['surface']}, {asked}, {cell(run['started_at'])}\n")
    for at, took, what in time_line(run):
        click.echo(f"{at:10.1f} ms  {'' if took is None else f'{took:.1f} ms':>12}  {printable(what)}")


def _summary(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run as one line of a list."""
    return {
        "run_id": run["run_id"],
        "started_at": f"{run['started_at']:%Y-%m-%d %H:%M:%S}",
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
    if run["dry_run"]:
        yield 0.0, None, "dry run: nothing was to be written"
    if run["idempotency"]:
        key = run["idempotency"]
        yield 0.0, None, f"idempotency key {key['key']!r}: {describe_outcome(key)}"
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


def _end(run: Mapping[str, Any]) -> str:
    if run["code"]:
        return f"{run['http_status']} {run['code']}{_about(run['details'] or ())}"
    return str(run["status"])


def _about(details: Iterable[Mapping[str, Any]]) -> str:
    """What a refusal was about, by the names that were kept of it."""
    told = [", ".join(f"{name} {value}" for name, value in detail.items()) for detail in details]
    return f" ({'; '.join(told)})" if told else ""
