"""``hooks``: the tokens that applications sign their deliveries with, on the installation's own database."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import click

from connector_gateway.cli.groups import Group
from connector_gateway.cli.installation import act
from connector_gateway.cli.options import CHOICES, connector_argument
from connector_gateway.cli.output import as_json
from connector_gateway.cli.running import data_folder
from connector_gateway.core.events.hooks import Hooks


@click.group(cls=Group)
def hooks() -> None:
    """Take, show and forget the tokens that applications sign their deliveries with."""


def _command(name: str, work: Callable[[Hooks, str], Awaitable[Any]], told: str) -> None:
    @hooks.command(name, epilog=CHOICES, help=told)
    @connector_argument
    @data_folder
    @as_json
    def command(connector: str, data: Path | None, *, as_json: bool) -> None:
        act(data, lambda app: work(app.hooks, connector), json=as_json)


_command("open", Hooks.open, "Let an application hand over its token for some minutes, at the address that is shown.")
_command("close", Hooks.close, "Take no token any more at the addresses that were opened so far.")
_command("show", Hooks.show, "Show the token that an application handed over, to be confirmed in its settings.")
_command("forget", Hooks.forget, "Forget the token, so that the application can hand over another one.")
