"""What commands print: tables for people, tab-separated text for pipes, JSON for programs, errors that say what to do.

Data of others is text and nothing else: never markup, never a command to the terminal.
"""

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NoReturn, TextIO

import click
import msgspec
from pydantic_core import to_json
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from connector_gateway.cli.printing import printable, printable_json
from connector_gateway.kit.shapes import timestamp

GAP = 2
"""Blanks between two columns."""

NARROW = 16
"""What a column of words may shrink to before columns are dropped; identifiers never shrink."""

ENCODER = msgspec.json.Encoder(decimal_format="number")
"""Writes numbers as they are."""

console = Console(highlight=False, markup=False, emoji=False)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")

Row = Mapping[str, Any]


def show(data: Any, *, json: bool, columns: Sequence[str] = ()) -> None:
    """Print *data*: rows as a table of *columns*, one object as a list of its fields; all of it where it is piped."""
    if json:
        show_json(as_answered(data))
    elif isinstance(data, Mapping):
        _fields(data)
    else:
        _rows(list(data), columns)


def show_page(
    rows: Sequence[Mapping[str, Any]], before: str | None, what: str, *, json: bool, columns: Sequence[str]
) -> None:
    """Print a page of a list, as ``show`` does, and by which cursor to go on if there are more."""
    show(rows, json=json, columns=columns)
    if before is not None:
        note("next_cursor", f"{before} (older {what}: repeat with --cursor)")


def as_answered(data: Any, *, indent: int | None = 2) -> str:
    """*data* as JSON, with instants as the service writes them."""
    return to_json(_written(data), indent=indent).decode()


def _written(data: Any) -> Any:
    if isinstance(data, datetime):
        return timestamp(data)
    if isinstance(data, Mapping):
        return {name: _written(value) for name, value in data.items()}
    return [_written(item) for item in data] if isinstance(data, list | tuple) else data


def show_json(text: str) -> None:
    """Print a JSON text."""
    click.echo(printable_json(text))


def note(name: str, value: str) -> None:
    """Say something beside the data, on standard error, so that what is piped stays data."""
    click.echo(f"{name}: {printable(value)}", err=True)


def fail(error: Mapping[str, Any], *, json: bool, run_id: str | None = None) -> NoReturn:
    """Print an error in the shape of the service (``code``, ``message``, ``remedy``, ``details``) and end with 1."""
    if json:
        show_json(to_json({"run_id": run_id, "error": error}, indent=2).decode())
    else:
        _complain(error, run_id)
    sys.exit(1)


def to_terminal() -> bool:
    """Whether somebody is looking; whoever has closed the standard output is not."""
    output: TextIO | None = sys.stdout
    return output is not None and output.isatty()


def fitting(widths: Sequence[int], width: int) -> int:
    """How many of the first columns fit into *width*; at least one."""
    taken = -GAP
    for number, column in enumerate(widths):
        taken += column + GAP
        if taken > width:
            return max(1, number)
    return len(widths)


def cell(value: Any) -> str:
    """*value* as one line of text."""
    if value is None:
        return ""
    text = _written(value)
    return printable(text if isinstance(text, str) else ENCODER.encode(text).decode())


def table(rows: Sequence[Row], names: Sequence[str], width: int) -> tuple[Table, Sequence[str]]:
    """The columns of *rows* that fit into *width*, and the names of those that do not."""
    cells = [[cell(row.get(name)) for name in names] for row in rows]
    natural = [max(map(cell_len, column)) for column in zip(names, *cells, strict=True)]
    # An identifier that is folded cannot be copied.
    rigid = [name.endswith("_id") for name in names]
    least = [full if fixed else min(full, NARROW) for full, fixed in zip(natural, rigid, strict=True)]
    kept = fitting(least, width)
    made = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), collapse_padding=True)
    for name, fixed, smallest in list(zip(names, rigid, least, strict=True))[:kept]:
        made.add_column(
            Text(name), no_wrap=fixed and smallest <= width, overflow="fold", min_width=min(smallest, width)
        )
    for line in cells:
        made.add_row(*map(Text, line[:kept]))
    return made, names[kept:]


def _complain(error: Mapping[str, Any], run_id: str | None) -> None:
    complaint = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
    complaint.print(Text(printable(error["code"]), "red") + Text(f": {printable(error['message'])}"))
    for detail in error.get("details", []):
        facts = {name: value for name, value in detail.items() if (name, value) != ("code", error["code"])}
        complaint.print("  " + ", ".join(f"{printable(name)}: {cell(value)}" for name, value in facts.items()))
    complaint.print(f"  → {printable(error['remedy'])}" + (f"  ({run_id})" if run_id else ""))


def _fields(data: Row) -> None:
    """A line for each field, never folded, so that what is copied is whole."""
    width = max(map(cell_len, data), default=0) if to_terminal() else 0
    for name, value in data.items():
        gap = " " * (width - cell_len(name) + GAP) if width else "\t"
        click.echo(click.style(printable(name), bold=True) + gap + cell(value))


def _rows(rows: Sequence[Row], columns: Sequence[str]) -> None:
    names = columns or list(dict.fromkeys(name for row in rows for name in row))
    # A pipe gets every column, since nothing is too wide for a program.
    if not to_terminal():
        lines = [map(printable, names), *([cell(row.get(name)) for name in names] for row in rows)]
        click.echo("\n".join(map("\t".join, lines)))
    elif rows:
        _print_table(rows, names)
    else:
        console.print("nothing", style="dim")


def _print_table(rows: Sequence[Row], names: Sequence[str]) -> None:
    shown, dropped = table(rows, names, console.width)
    console.print(shown)
    if dropped:
        note("not shown, for want of room", ", ".join(dropped) + " (a wider terminal, a pipe or --json shows all)")
