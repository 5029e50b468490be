"""Which installation a command works on: the one of the environment, or the one that ``dev`` keeps in a folder."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic_core import from_json

from connector_gateway.app import App
from connector_gateway.cli.output import fail
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.envelope import described
from connector_gateway.kit.errors import GatewayError
from connector_gateway.settings import Settings, SettingsError

T = TypeVar("T")

data_folder = click.option(
    "--data",
    default=".data",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder of a dev installation; not looked at where GATEWAY_DATABASE_URL is set.",
)


def environment_of(data: Path) -> dict[str, str]:
    """The settings of the dev installation in *data*; ``ClickException`` if there is none."""
    try:
        secret = from_json((data / "secrets.json").read_bytes())
    except OSError as fault:
        raise click.ClickException(
            f"There is no installation in {data}. Start one with 'make run', name its folder with --data, "
            "or set GATEWAY_DATABASE_URL and GATEWAY_SECRET_KEYS."
        ) from fault
    return {
        "GATEWAY_DATABASE_URL": f"sqlite:///{(data / 'gateway.db').resolve()}",
        "GATEWAY_SECRET_KEYS": secret["secret_key"],
        "GATEWAY_OPERATOR_TOKEN": secret["operator_token"],
    }


def describe(data: Path) -> Mapping[str, Any]:
    """What the running dev installation in *data* tells tools; empty if there is none."""
    try:
        described: Mapping[str, Any] = from_json((data / "dev.json").read_bytes())
    except OSError:
        return {}
    return described


def manage(data: Path, work: Callable[[App], Awaitable[T]], *, json: bool) -> T:
    """The result of *work* on the installation, with its database open; a refusal is printed and ends the command."""
    environment = dict(os.environ)
    if not environment.get("GATEWAY_DATABASE_URL"):
        environment |= environment_of(data)
    environment.setdefault("GATEWAY_OPERATOR_TOKEN", "not needed by commands")
    try:
        app = App(Settings.read(environment, CONNECTORS))
    except SettingsError as fault:
        raise click.ClickException(str(fault)) from fault

    async def run() -> T:
        async with app.database:
            return await work(app)

    try:
        return asyncio.run(run())
    except GatewayError as error:
        fail(described(error), json=json)
