"""Groups of commands, whose help tells what each does in whole sentences."""

import click
from typing_extensions import override


class Group(click.Group):
    """A group whose help folds what a command does, rather than cutting it off."""

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Every command with its first sentence."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _first_sentence(command)) for name, command in sorted(self.commands.items())])


def _first_sentence(command: click.Command) -> str:
    """What *command* does, in one line however long."""
    return " ".join((command.help or "").partition("\n\n")[0].split())
