"""The reference of the command line, generated from the commands."""

from collections.abc import Iterator

import click

from connector_gateway.cli import main

OPERATIONS = "call"
"""Its commands are the operations, whose parameters have a separate reference."""


def command_reference() -> str:
    """Return all commands with their arguments and options."""
    head = [
        "# Commands",
        "Generated from the commands; do not edit. Output: [Use the command line](../guide/command-line.md).",
    ]
    context = click.Context(main, info_name="connector-gateway")
    return "\n\n".join([*head, *sections(main, context)]) + "\n"


def sections(command: click.Command, context: click.Context) -> Iterator[str]:
    """Return the section of a command and its subcommands; groups only link to others."""
    if isinstance(command, click.Group) and context.info_name != OPERATIONS:
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None and not below.hidden:
                yield from sections(below, click.Context(below, info_name=name, parent=context))
        return
    yield f"## {context.command_path.removeprefix('connector-gateway ')}"
    yield f"`{usage(command, context)}`"
    yield " ".join((command.help or "").replace("\b", "").split())
    yield from options(command, context)


def usage(command: click.Command, context: click.Context) -> str:
    """Return the usage line of a command."""
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    """Return the table of a command's options without ``--help``."""
    records = [option.get_help_record(context) for option in command.params]
    rows = [row(*record) for record in records if record and record[1]]
    if rows:
        yield "\n".join(["| Option | Meaning |", "|---|---|", *rows])


def row(written: str, meaning: str) -> str:
    """Return one option: its spelling and its meaning."""
    return f"| `{written.replace('|', ', ')}` | {' '.join(meaning.split())} |"
