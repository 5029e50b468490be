"""Which installation a command works on.

Settings come from ``.env`` in the working folder (or the file that ``GATEWAY_ENV_FILE`` names), and from the
environment, which goes before it. A folder of ``dev`` that is named with ``--data`` goes before both.
Where nothing is named and nothing is set, it is the folder that ``dev`` uses by itself.
"""

import asyncio
import getpass
import os
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from connector_gateway.app import App
from connector_gateway.cli import env_file
from connector_gateway.cli.dev.folder import USUAL_FOLDER, describe, is_installed, is_running, state_of
from connector_gateway.cli.output import exit_with_error, print_to_stderr, show
from connector_gateway.cli.settings_loader import settings_of
from connector_gateway.cli.target import local_settings
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.access.audited_actions import Actor, acting
from connector_gateway.core.calls.envelope import error_payload
from connector_gateway.kit.errors import GatewayError, StorageUnavailable
from connector_gateway.storage.sql.sqlite_files import UnusableDatabase

T = TypeVar("T")

OWN = ("GATEWAY_SECRET_KEYS", "GATEWAY_DATABASE_URL")
"""Settings that make an installation, rather than only adjust one."""


def environment(data: Path | None = None) -> dict[str, str]:
    """The settings there are; those of the dev installation in *data* go first where it is named."""
    found = local_settings()
    return found if data is None else found | environment_of(data)


def environment_of(data: Path) -> dict[str, str]:
    """The settings of the dev installation in *data*; ``ClickException`` if there is none."""
    state = state_of(data)
    if state is None:
        raise click.ClickException(
            f"There is no installation in {data}. Start one with 'make run' or 'connector-gateway serve', "
            "name the folder of one with --data, or set GATEWAY_DATABASE_URL and GATEWAY_SECRET_KEYS."
        )
    return dev_settings(data, state, describe(data))


def dev_settings(data: Path, state: Mapping[str, Any], described: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of the dev installation in *data*: the same for ``dev`` itself and for all commands.

    *described* has the addresses of gateway and emulators, as in ``dev.json``.
    """
    upstreams, base_url = described.get("upstreams", {}), described.get("base_url")
    return {
        **emulator_settings(upstreams, described.get("clients", {})),
        **_hook_secrets(upstreams),
        "GATEWAY_DATABASE_URL": f"sqlite:///{(data / 'gateway.db').resolve()}",
        "GATEWAY_SECRET_KEYS": state["secret_key"],
        "GATEWAY_OPERATOR_TOKEN": state["operator_token"],
        "GATEWAY_PRIVATE_WEBHOOKS": "on",
        "GATEWAY_ADMIN_PORT": "",
        "GATEWAY_SHARED_URL": "",
        **({"GATEWAY_BASE_URL": base_url} if base_url else {}),
    }


def _hook_secrets(upstreams: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the settings with the secrets that the emulators sign their deliveries with."""
    return {
        f"GATEWAY_{name.upper()}_HOOK_SECRET": upstreams[name][connector.observing.signed_with]
        for name, connector in CONNECTORS.items()
        if name in upstreams and connector.observing is not None
    }


def emulator_settings(
    upstreams: Mapping[str, Mapping[str, str]], clients: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """The settings with which stand-ins are asked in place of the applications: addresses, and what we are there.

    A stand-in answers at one address for all hosts of its application, unless it names others.
    """
    connectors = {name: connector for name, connector in CONNECTORS.items() if name in upstreams}
    addresses = {
        f"GATEWAY_{name.upper()}_{host.upper()}_URL": upstreams[name].get(f"{host}_url", upstreams[name]["base_url"])
        for name, connector in connectors.items()
        for host in connector.addresses
    }
    registered = {
        f"GATEWAY_{name.upper()}_{part.upper()}": value
        for name, connector in connectors.items()
        if connector.oauth is not None
        for part, value in clients.get(name, {}).items()
    }
    return addresses | registered


def run_management(data: Path | None, work: Callable[[App], Awaitable[T]], *, json: bool) -> T:
    """The result of *work* on the installation, with its database open; a refusal is printed and ends the command."""
    chosen = {"GATEWAY_OPERATOR_TOKEN": "not needed by commands"} | _chosen(data)
    app = App(settings_of(chosen))

    async def run() -> T:
        async with app.opened():
            with acting(app.audit, Actor("cli", surface="cli", details={"user": _user()})):
                return await work(app)

    try:
        return asyncio.run(run())
    except UnusableDatabase as fault:
        raise click.ClickException(str(fault)) from fault
    except GatewayError as error:
        exit_with_error(_body(error), json=json)


def _user() -> str:
    """Who runs the command, by the system's own name where it has one."""
    with suppress(OSError, KeyError):
        return getpass.getuser()
    return str(os.getuid())


def run_and_print(
    data: Path | None, work: Callable[[App], Awaitable[Any]], *, json: bool, columns: tuple[str, ...] = ()
) -> None:
    """Show the result of *work* on the installation, as of ``manage``."""
    show(run_management(data, work, json=json), json=json, columns=columns)


def _body(error: GatewayError) -> Mapping[str, Any]:
    """Return the response for an error, which tells the owner of the installation why the database does not respond."""
    public = error_payload(error, "cli")
    why = f" {error.private}" if isinstance(error, StorageUnavailable) and error.private else ""
    retry = {} if error.retry_after is None else {"retry_after": error.retry_after}
    return {"run_id": None, "error": {**public, "message": f"{public['message']}{why}"}, **retry}


def _chosen(data: Path | None) -> dict[str, str]:
    """The settings to work with; says which they are where another installation could have been meant."""
    if data is not None:
        return environment(data)
    found = environment()
    if not any(found.get(name) for name in OWN):
        return environment(USUAL_FOLDER)
    if any(os.environ.get(name) for name in OWN) or not is_installed(USUAL_FOLDER):
        return found
    if is_running(USUAL_FOLDER):
        print_to_stderr(
            "installation", f"{USUAL_FOLDER}, where dev is running, rather than that of {env_file.env_file()}"
        )
        return environment(USUAL_FOLDER)
    print_to_stderr("installation", f"that of {env_file.env_file()}; --data {USUAL_FOLDER} is the one of dev")
    return found
