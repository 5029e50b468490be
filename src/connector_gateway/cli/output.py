"""What commands print: tables for people, JSON for programs, errors that say what to do."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

import click
from pydantic_core import to_json
from rich.console import Console
from rich.table import Table

console = Console(highlight=False)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")


def show(data: Any, *, json: bool, columns: Sequence[str] = ()) -> None:
    """Print *data*: rows as a table of *columns*, one object as a list of its fields."""
    if json:
        click.echo(to_json(data, indent=2).decode())
    elif isinstance(data, Mapping):
        _fields(data)
    else:
        _rows(data, columns)


def fail(error: Mapping[str, Any], *, json: bool, run_id: str | None = None) -> NoReturn:
    """Print an error in the shape of the service (``code``, ``message``, ``remedy``, ``details``) and end with 1."""
    if json:
        click.echo(to_json({"run_id": run_id, "error": error}, indent=2).decode())
    else:
        complaint = Console(stderr=True, highlight=False)
        complaint.print(f"[red]{error['code']}[/]: {error['message']}")
        for detail in error.get("details", []):
            complaint.print("  " + ", ".join(f"{name}: {value}" for name, value in detail.items()))
        complaint.print(f"  → {error['remedy']}" + (f"  ({run_id})" if run_id else ""))
    sys.exit(1)


def _fields(data: Mapping[str, Any]) -> None:
    table = Table(show_header=False, box=None)
    for name, value in data.items():
        table.add_row(f"[bold]{name}[/]", _cell(value))
    console.print(table)


def _rows(rows: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> None:
    rows = list(rows)
    names = columns or tuple(rows[0]) if rows else columns
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(name, no_wrap=name.endswith("_id"), overflow="fold" if name.endswith("_id") else "ellipsis")
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in names))
    console.print(table if rows else "[dim]nothing[/]")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return str(value) if isinstance(value, str | int | float) else to_json(value).decode().strip('"')
