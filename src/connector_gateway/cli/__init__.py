"""The command line: the service, its sandbox, its management, and every operation."""

from importlib import import_module

import click

from connector_gateway import __version__

HERE = "connector_gateway.cli"
SANDBOX = "workspace_sandbox.cli"

COMMANDS = {
    "dev": (f"{HERE}.dev", "Run gateway and sandbox together, with everything set up to try."),
    "serve": (f"{HERE}.serve", "Run the gateway, with settings from the environment."),
    "sandbox": (SANDBOX, "Run only the emulators of the third-party applications."),
    "workspaces": (f"{HERE}.manage", "Create, list and change workspaces."),
    "keys": (f"{HERE}.manage", "Create, list and revoke API keys."),
    "connections": (f"{HERE}.manage", "Create, list, change and remove connections."),
    "hooks": (f"{HERE}.manage", "Show and forget the tokens that deliveries are signed with."),
    "runs": (f"{HERE}.runs", "Explain calls by their run_id."),
    "call": (f"{HERE}.call", "Call an operation: connector-gateway call CONNECTOR OPERATION."),
}
"""Each command, the module that has it, and what it does; modules are loaded when they are needed."""


class Commands(click.Group):
    """Loads the module of a command when it is called, so that starting stays fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # click's signature
        """The commands in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, summary = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), cmd_name)
        command.short_help = summary
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """The table, without loading anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in COMMANDS.items()])


@click.group(cls=Commands)
@click.version_option(__version__)
def main() -> None:
    """Act in users' workspace applications through connections that they authorised."""
