"""Which installation a command works on: the one of the environment, or the one that ``dev`` keeps in a folder."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click
from pydantic_core import from_json

from connector_gateway.app import App
from connector_gateway.cli.environment import settings_of
from connector_gateway.cli.output import fail
from connector_gateway.core.envelope import described
from connector_gateway.kit.errors import GatewayError
from connector_gateway.storage.files import Unusable

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
    secrets = secrets_of(data)
    return {
        "GATEWAY_DATABASE_URL": f"sqlite:///{(data / 'gateway.db').resolve()}",
        "GATEWAY_SECRET_KEYS": secrets["secret_key"],
        "GATEWAY_OPERATOR_TOKEN": secrets["operator_token"],
    }


def secrets_of(data: Path) -> dict[str, str]:
    """The secrets of the dev installation in *data*; ``ClickException`` if there is none."""
    path = data / "secrets.json"
    try:
        kept = from_json(path.read_bytes())
        return {name: str(kept[name]) for name in ("secret_key", "operator_token")}
    except FileNotFoundError as fault:
        raise click.ClickException(
            f"There is no installation in {data}. Start one with 'make run', name its folder with --data, "
            "or set GATEWAY_DATABASE_URL and GATEWAY_SECRET_KEYS."
        ) from fault
    except OSError as fault:
        raise click.ClickException(f"{path} cannot be read: {fault.strerror}.") from fault
    except (ValueError, TypeError, KeyError) as fault:
        raise click.ClickException(
            f"{path} does not hold the secrets of an installation. Start anew with 'dev --fresh', or name another "
            "folder with --data."
        ) from fault


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
    app = App(settings_of(environment))

    async def run() -> T:
        async with app.database:
            return await work(app)

    try:
        return asyncio.run(run())
    except Unusable as fault:
        raise click.ClickException(str(fault)) from fault
    except GatewayError as error:
        fail(described(error), json=json)
