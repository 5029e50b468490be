"""Groups of commands, and commands that report all missing parameters together."""

import click
from typing_extensions import override


class Command(click.Command):
    """A command that names all of its missing options and arguments, rather than the first one."""

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Return the remaining arguments."""
        try:
            return super().parse_args(ctx, args)
        except click.MissingParameter:
            # Given parameters are processed first, so all others are missing.
            missing = [param for param in self.params if param.required and param.name not in ctx.params]
            if len(missing) < 2:
                raise
            names = ", ".join(param.get_error_hint(ctx) for param in missing)
            raise click.UsageError(f"Missing parameters: {names}.", ctx) from None


class Group(click.Group):
    """A group whose help shows the summaries of its commands in full."""

    command_class = Command

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first paragraph of each command's help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, _summary(command)) for name, command in sorted(self.commands.items())])


def _summary(command: click.Command) -> str:
    return " ".join((command.help or "").partition("\n\n")[0].split())
