"""The command-line interface: the service, its sandbox, its management, and every operation."""

import re
import shutil
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from io import TextIOWrapper

import click
from typing_extensions import override

from connector_gateway import __version__
from connector_gateway.cli.serve.gc_control import gc_disabled
from connector_gateway.management import RESOURCES

HERE = "connector_gateway.cli"
SANDBOX = "workspace_sandbox.cli"

COMMANDS = {
    "dev": (f"{HERE}.dev.command", "Run the gateway and the sandbox together, with sample data and connections."),
    "serve": (f"{HERE}.serve.command", "Run the gateway with settings from the environment."),
    "console": (f"{HERE}.manage.open_console", "Open the console in a browser, signed in."),
    "sandbox": (SANDBOX, "Run only the sandbox, which emulates the vendors."),
    **{name: (f"{HERE}.manage.commands", summary) for name, summary in RESOURCES.items()},
    "audit": (f"{HERE}.manage.audit", RESOURCES["audit"]),
    "runs": (f"{HERE}.runs", RESOURCES["runs"]),
    "restored": (f"{HERE}.manage.backup_restored", "Record that the database was restored from a backup."),
    "vault": (f"{HERE}.manage.secret_rotation", "Re-encrypt all stored secrets with the newest key."),
    "env": (f"{HERE}.dev.shell_exports", "Print shell exports for a dev installation."),
    "mcp": (f"{HERE}.mcp", "Serve the gateway's tools to an agent over standard input and output."),
    "conformance": (f"{HERE}.conformance", "Check a running service against the contract."),
    "verify": (f"{HERE}.verify", "Check the facts about a vendor against a live account."),
    "connectors": (f"{HERE}.connectors", "List the connectors, their packages and capabilities."),
    "new-connector": (f"{HERE}.scaffold.command", "Create the package of a connector, with an emulator and tests."),
    "connector-check": (f"{HERE}.connector_check", "Check a connector against the emulator of its vendor."),
    "call": (f"{HERE}.call", "Call an operation: connector-gateway call CONNECTOR OPERATION."),
    "request": (f"{HERE}.vendor_request", "Send a request of your own to a vendor's API."),
}
"""The module and the summary of each command. Modules are imported when they are needed."""

NEED_SANDBOX = frozenset({"dev", "sandbox", "connector-check"})
WITHOUT_SANDBOX = "'{}' requires the package workspace-sandbox. Run pip install ./sandbox in a checkout of the sources."

NARROW = 50
"""The width in columns below which click does not wrap help."""


def has_sandbox() -> bool:
    """Return True if the sandbox is installed, which it is not in production."""
    return find_spec(SANDBOX.partition(".")[0]) is not None


class Help(click.HelpFormatter):
    """A help formatter that also wraps for narrow terminals, with the text of an option on its own line."""

    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        super().__init__(indent_increment, width, max_width)
        self.width = min(self.width, max(20, shutil.get_terminal_size().columns - 2))

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        """Write two columns, limiting the first so that the second has enough space."""
        super().write_dl(rows, col_max if self.width >= NARROW else self.width // 3, col_spacing)


click.Context.formatter_class = Help


class Commands(click.Group):
    """A group that imports the module of a command only when it is called, for a fast startup."""

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the table, without those that need a missing package."""
        return [name for name in COMMANDS if name not in NEED_SANDBOX or has_sandbox()]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments, which must be valid text, and escape output that the terminal cannot display."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        unreadable = next((text for text in args if re.search("[\ud800-\udfff]", text)), None)
        if unreadable is not None:
            ctx.fail(f"The argument {unreadable!a} is not valid UTF-8.")
        return super().parse_args(ctx, args)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command *cmd_name*, or None if it does not exist."""
        if cmd_name not in COMMANDS:
            return None
        module, summary = COMMANDS[cmd_name]
        if cmd_name in NEED_SANDBOX and not has_sandbox():
            raise click.ClickException(WITHOUT_SANDBOX.format(cmd_name))
        with gc_disabled():
            loaded = import_module(module)
            command: click.Command = getattr(loaded, cmd_name.replace("-", "_"), None) or loaded.management_group(
                cmd_name
            )
        command.short_help = summary
        return command

    @override
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of *args*. For an unknown one, the error contains suggestions."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from None

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of commands without importing their modules."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in self.list_commands(ctx)])


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Call vendors' APIs through connections that users have authorised."""
