"""The command ``runs``: the run history, and the timeline of one run."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import click

from connector_gateway.app import App
from connector_gateway.cli.control_char_escaping import escape_control_chars
from connector_gateway.cli.gateway_url_and_key import data_folder
from connector_gateway.cli.manage.commands import build_option, management_group, read_params, to_plain_data
from connector_gateway.cli.manage.management_without_server import run_management, run_route
from connector_gateway.cli.output import as_json, console, is_terminal, show, show_json, to_json_text
from connector_gateway.cli.text_tables import count_visible_columns, format_cell
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.run_explanations import explain_run
from connector_gateway.core.writes.idempotency_messages import describe_outcome
from connector_gateway.kit.models import Page, Params
from connector_gateway.management.route_declaration import ManagementRoute
from connector_gateway.management.runs import RunRecord, list_runs

SUMMARY = ("run_id", "ended", "call", "ms", "started_at")
WIDTHS = (30, 22, 32, 6, 19)
"""Column widths while runs are followed."""

FILTERS = ("workspace_id", "connection_id", "connector", "operation", "status", "code")

WINDOW = 1000
"""The number of newest runs that each poll reads. If more have ended since the last poll, the oldest are skipped."""

POLL_SECONDS = 0.5


def print_summaries(_: ManagementRoute, page: Page[RunRecord]) -> None:
    """Print runs as a table, one line each."""
    show([_summary(run) for run in to_plain_data(page)], json=False, columns=SUMMARY)


def print_timeline(_: ManagementRoute, record: RunRecord) -> None:
    """Print a run as a timeline: checks, waits, every request to the vendor, and the outcome."""
    run = to_plain_data(record)
    through = f"  through {format_cell(run['connection_id'])}" if run["connection_id"] else ""
    caller = f"key {run['key_id']}" if run["key_id"] else "without a key"
    click.echo(f"{run['run_id']}  {run['connector']} {run['operation']}{through}")
    click.echo(f"{run['surface']}, {caller}, {format_cell(run['started_at'])}\n")
    for at, took, what in timeline(run):
        click.echo(f"{at:10.1f} ms  {'' if took is None else f'{took:.1f} ms':>12}  {escape_control_chars(what)}")
    outcome = explain_run(run, CONNECTORS.get(run["connector"]))
    if outcome is not None:
        click.echo(f"\n{escape_control_chars(' '.join([*outcome.sentences, outcome.remedy]).strip())}")


runs = management_group("runs", {"list": print_summaries, "show": print_timeline})


@runs.command("tail", params=[build_option(field) for field in list_runs.fields if field.name in FILTERS])
@click.option("--polls", type=click.IntRange(1), hidden=True, help="Exit after this number of polls.")
@data_folder
@as_json
def tail_runs(polls: int | None, data: Path | None, *, as_json: bool, **options: str | None) -> None:
    """Print runs as they end, until Ctrl-C. With --json, print one line for each run."""
    values = {name.removeprefix("p_"): value for name, value in options.items() if value is not None}
    params = read_params(list_runs, values, json=as_json)
    with suppress(KeyboardInterrupt):
        run_management(data, lambda app: _tail(app, params, polls, json=as_json), json=as_json)


async def pause(seconds: float) -> None:
    """Wait until the next poll."""
    await asyncio.sleep(seconds)


async def _tail(app: App, params: Params, polls: int | None, *, json: bool) -> None:
    """Print every run that ends from now on."""
    printed: set[str] = {run["run_id"] for run in await _ended(app, params)}
    for _ in count() if polls is None else range(polls):
        await pause(POLL_SECONDS)
        ended = await _ended(app, params)
        # Lists start with the newest run, but the newest line is printed last.
        for run in reversed([run for run in ended if run["run_id"] not in printed]):
            _print_line(run, json=json)
        printed = {run["run_id"] for run in ended}


async def _ended(app: App, params: Params) -> Sequence[Mapping[str, Any]]:
    """Return the newest runs, without those in progress."""
    page = await run_route(app, list_runs, params, limit=WINDOW)
    return [run for run in to_plain_data(page) if run["status"] != "running"]


def _print_line(run: Mapping[str, Any], *, json: bool) -> None:
    if json:
        show_json(to_json_text(run, indent=None))
        return
    summary = _summary(run)
    cells = [format_cell(summary[name]) for name in SUMMARY]
    if is_terminal():
        cells = [text.ljust(width) for text, width in zip(cells, WIDTHS, strict=True)][
            : count_visible_columns(WIDTHS, console.width)
        ]
    click.echo(("  " if is_terminal() else "\t").join(cells).rstrip(" "))


def _summary(run: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "run_id": run["run_id"],
        "started_at": f"{run['started_at']:%Y-%m-%d %H:%M:%S}",
        "call": f"{run['connector']} {run['operation']}",
        "ended": run["code"] or run["status"],
        "ms": None if run["duration_ms"] is None else round(run["duration_ms"]),
    }


def timeline(run: Mapping[str, Any]) -> Iterator[tuple[float, float | None, str]]:
    """Yield the steps of a run: milliseconds since its start, duration in milliseconds, and a description."""
    started_at: datetime = run["started_at"]
    requests = run["upstream"]
    checked = _offset_ms(started_at, requests[0]) - requests[0]["wait_ms"] if requests else run["duration_ms"] or 0.0
    what = "key, limit, scope, parameters and connection" if run["key_id"] else "connection"
    yield 0.0, max(0.0, checked), f"checked {what}"
    if run["dry_run"]:
        yield 0.0, None, "dry run: no write was requested"
    if run["idempotency"]:
        key = run["idempotency"]
        yield 0.0, None, f"idempotency key {key['key']!r}: {describe_outcome(key)}"
    for number, request in enumerate(requests):
        at = _offset_ms(started_at, request)
        if request["wait_ms"] >= 1:
            yield at - request["wait_ms"], request["wait_ms"], "queued for the rate limit"
        yield at, request["duration_ms"], f"{request['method']} {request['path']} → {_outcome(requests, number)}"
    if run["duration_ms"] is not None:
        yield run["duration_ms"], None, _run_outcome(run)


def _offset_ms(started_at: datetime, request: Mapping[str, Any]) -> float:
    at: datetime = request["at"]
    return max(0.0, (at - started_at) / timedelta(milliseconds=1))


def _outcome(requests: list[Mapping[str, Any]], number: int) -> str:
    request = requests[number]
    status = "no response" if request["status"] is None else str(request["status"])
    earlier = [(other["method"], other["path"], other["status"]) for other in requests[:number]]
    again = any(
        (method, path) == (request["method"], request["path"]) and failed in {None, 429, 500, 502, 503, 504, 529}
        for method, path, failed in earlier[-1:]
    )
    return f"{status} (retry)" if again else status


def _run_outcome(run: Mapping[str, Any]) -> str:
    if run["code"]:
        return f"{run['http_status']} {run['code']}{_format_details(run['details'] or ())}"
    return str(run["status"])


def _format_details(details: Iterable[Mapping[str, Any]]) -> str:
    """Return the stored details of an error as text."""
    texts = [", ".join(f"{name} {value}" for name, value in detail.items()) for detail in details]
    return f" ({'; '.join(texts)})" if texts else ""
