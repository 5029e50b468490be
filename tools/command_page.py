"""The reference of the command line, from the commands themselves."""

from collections.abc import Iterator

import click

from connector_gateway.cli import main

OPERATIONS = "call"
"""Its commands are the operations, whose parameters stand in their own reference."""


def command_page() -> str:
    """All commands with their arguments and options."""
    guide = "[Use the command line](../guide/command-line.md)"
    head = ["# Commands", f"Generated from the commands; do not edit. {guide} describes their output."]
    context = click.Context(main, info_name="connector-gateway")
    return "\n\n".join([*head, *sections(main, context)]) + "\n"


def sections(command: click.Command, context: click.Context) -> Iterator[str]:
    """What is told of a command, and of those below it; groups only lead to others."""
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
    """The usage line of a command."""
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def options(command: click.Command, context: click.Context) -> Iterator[str]:
    """The table of a command's options, but for the one that shows this."""
    records = [option.get_help_record(context) for option in command.params]
    rows = [row(*record) for record in records if record and record[1]]
    if rows:
        yield "\n".join(["| Option | Meaning |", "|---|---|", *rows])


def row(written: str, meaning: str) -> str:
    """One option, as it is written and what it means."""
    return f"| `{written.replace('|', ', ')}` | {' '.join(meaning.split())} |"
