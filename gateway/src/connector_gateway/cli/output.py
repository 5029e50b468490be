"""The output of commands: tables for people, tab-separated text for pipes, JSON for programs, and errors."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, TextIO

import click
from pydantic_core import to_json
from rich.console import Console
from rich.text import Text

from connector_gateway.cli.control_char_escaping import escape_control_chars, printable_json
from connector_gateway.cli.text_tables import (
    Row,
    column_names,
    format_block,
    format_cell,
    format_inline,
    format_rows,
    format_timestamps,
)
from connector_gateway.core.error_serialization import LOCATION_FIELDS

MAX_ALLOWED = 12
"""The maximum number of allowed values that an error lists."""

console = Console(highlight=False, markup=False, emoji=False)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")


def show(data: Any, *, json: bool, columns: Sequence[str] = ()) -> None:
    """Print *data*: rows as a table of *columns*, an object as a list of fields. Pipes get all columns."""
    if json:
        show_json(to_json_text(data))
    elif isinstance(data, Mapping):
        _print_object(data)
    else:
        _print_rows(list(data), columns)


def to_json_text(data: Any, *, indent: int | None = 2) -> str:
    """Return *data* as JSON, with timestamps in the format of the service."""
    return to_json(format_timestamps(data), indent=indent).decode()


def show_json(text: str) -> None:
    """Print a JSON text."""
    click.echo(printable_json(text))


def print_to_stderr(name: str, value: str) -> None:
    """Print a named value on standard error, so that a pipe gets only data."""
    print_sentence(f"{name}: {value}")


def print_sentence(sentence: str) -> None:
    """Print a sentence for people, on standard error."""
    click.echo(escape_control_chars(sentence), err=True)


def exit_with_error(body: Mapping[str, Any], *, json: bool, status: int = 1) -> NoReturn:
    """Print an error response of the service (``error``, ``run_id``, ``retry_after``) and exit with *status*."""
    if json:
        show_json(to_json(body, indent=2).decode())
    else:
        _print_error(body)
    sys.exit(status)


def is_terminal() -> bool:
    """Return True if standard output is a terminal."""
    output: TextIO | None = sys.stdout
    return output is not None and output.isatty()


def is_interactive() -> bool:
    """Return True if a person can be prompted."""
    streams: list[TextIO | None] = [sys.stdin, sys.stderr]
    return all(stream is not None and stream.isatty() for stream in streams)


def _print_error(body: Mapping[str, Any]) -> None:
    error = body["error"]
    printed = Console(stderr=True, highlight=False, markup=False, emoji=False, soft_wrap=True)
    printed.print(
        Text(escape_control_chars(error["code"]), "red") + Text(f": {escape_control_chars(error['message'])}")
    )
    for detail in error.get("details", []):
        if detail.keys() - {"code", *LOCATION_FIELDS}:
            printed.print(f"  {escape_control_chars(_format_detail(detail))}")
    printed.print(f"  → {escape_control_chars(error['remedy'])}")
    for name, unit in (("retry_after", " s"), ("run_id", "")):
        if body.get(name) is not None:
            printed.print(f"  {name}: {body[name]}{unit}")


def _format_detail(detail: Mapping[str, Any]) -> str:
    """Return one error detail as a line: its place, its message, a suggestion, and further fields."""
    place = next((str(detail[name]) for name in LOCATION_FIELDS if name in detail), "")
    suggestion = [f"Did you mean {detail['did_you_mean']}?"] if "did_you_mean" in detail else []
    message = [f"{str(detail['message']).rstrip('.')}."] if "message" in detail else []
    printed = {"code", "message", "did_you_mean", *LOCATION_FIELDS}
    facts = [f"{name}: {_format_field(name, value)}" for name, value in detail.items() if name not in printed]
    more = [f"({'; '.join(facts)})"] if facts else []
    return ": ".join(part for part in (place, " ".join([*message, *suggestion, *more])) if part)


def _format_field(name: str, value: Any) -> str:
    if name != "allowed":
        return format_cell(value)
    more = len(value) - MAX_ALLOWED
    return format_inline(value[:MAX_ALLOWED]) + (f", and {more} more" if more > 0 else "")


def _print_object(data: Row) -> None:
    if is_terminal():
        click.echo("\n".join(format_block(data, console.width, full=True)))
    else:
        click.echo("\n".join(f"{escape_control_chars(name)}\t{format_cell(value)}" for name, value in data.items()))


def _print_rows(rows: Sequence[Row], columns: Sequence[str]) -> None:
    names = columns or column_names(rows)
    # A pipe gets every column, since programs have no width limit.
    if not is_terminal():
        lines = [map(escape_control_chars, names), *([format_cell(row.get(name)) for name in names] for row in rows)]
        click.echo("\n".join(map("\t".join, lines)))
    elif rows:
        _print_table(rows, names)
    else:
        click.echo(click.style("no results", dim=True))


def _print_table(rows: Sequence[Row], names: Sequence[str]) -> None:
    lines, dropped = format_rows(rows, names, console.width)
    click.echo("\n".join(lines))
    if dropped:
        print_to_stderr("hidden columns", ", ".join(dropped) + " (use a wider terminal, a pipe or --json to see all)")
