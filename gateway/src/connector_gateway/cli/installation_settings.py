"""The installation on which a command works.

Settings come from ``.env`` in the working directory (or the file in ``GATEWAY_ENV_FILE``), and from the environment,
which takes precedence. A data folder of ``dev`` given with ``--data`` takes precedence over both. Without any of them,
the default data folder of ``dev`` is used.
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
from connector_gateway.cli.dev.data_folder import (
    DEFAULT_FOLDER,
    describe,
    is_installed,
    is_running,
    load_state,
    not_running_message,
)
from connector_gateway.cli.gateway_url_and_key import local_settings
from connector_gateway.cli.output import exit_with_error, print_to_stderr, show
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.audit_entries import Actor, act_as
from connector_gateway.core.calls.envelope import error_payload
from connector_gateway.kit.errors import GatewayError, StorageUnavailable, UpstreamUnavailable
from connector_gateway.settings import Settings
from connector_gateway.settings_reader import SettingsError
from connector_gateway.storage.sql.sqlite_files import UnusableDatabase

T = TypeVar("T")

IDENTIFYING_SETTINGS = ("GATEWAY_SECRET_KEYS", "GATEWAY_DATABASE_URL")
"""Settings that identify an installation, rather than only adjust it."""


def load_environment(data: Path | None = None) -> dict[str, str]:
    """Return the settings. Those of the dev installation in *data* take precedence, if given."""
    settings = local_settings()
    return settings if data is None else settings | dev_environment(data)


def load_settings(environment: Mapping[str, str], *, starting: bool = False) -> Settings:
    """Read settings. Raises ``ClickException`` if one is missing, invalid or, when *starting*, a weak secret."""
    try:
        settings = Settings.read(environment, CONNECTORS)
        if starting:
            settings.check_strength()
    except SettingsError as error:
        raise click.ClickException(str(error)) from error
    return settings


def dev_environment(data: Path) -> dict[str, str]:
    """Return the settings of the dev installation in *data*. Raises ``ClickException`` if there is none."""
    state = load_state(data)
    if state is None:
        raise click.ClickException(
            f"There is no installation in {data}. Start one with 'make run' or 'connector-gateway serve', "
            "choose the folder of one with --data, or set GATEWAY_DATABASE_URL and GATEWAY_SECRET_KEYS."
        )
    return dev_settings(data, state, describe(data))


def dev_settings(data: Path, state: Mapping[str, Any], described: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of the dev installation in *data*, for ``dev`` itself and for all commands.

    *described* contains the URLs of gateway and emulators, as in ``dev.json``.
    """
    upstreams, base_url = described.get("upstreams", {}), described.get("base_url")
    return {
        **emulator_settings(upstreams, described.get("clients", {})),
        **_hook_secrets(upstreams),
        "GATEWAY_DATABASE_URL": _database_url(data),
        "GATEWAY_SECRET_KEYS": state["secret_key"],
        "GATEWAY_OPERATOR_TOKEN": state["operator_token"],
        "GATEWAY_PRIVATE_WEBHOOKS": "on",
        "GATEWAY_ADMIN_PORT": "",
        "GATEWAY_SHARED_URL": "",
        **({"GATEWAY_BASE_URL": base_url} if base_url else {}),
    }


def _database_url(data: Path) -> str:
    return f"sqlite:///{(data / 'gateway.db').resolve()}"


def _hook_secrets(upstreams: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the settings with the secrets with which the emulators sign their deliveries."""
    return {
        f"GATEWAY_{name.upper()}_HOOK_SECRET": upstreams[name][connector.event_source.signed_with]
        for name, connector in CONNECTORS.items()
        if name in upstreams and connector.event_source is not None
    }


def emulator_settings(
    upstreams: Mapping[str, Mapping[str, str]], clients: Mapping[str, Mapping[str, str]]
) -> dict[str, str]:
    """Return the settings that point connectors to emulators: their URLs, and the OAuth apps registered there.

    An emulator serves all hosts of its vendor at one URL, unless it lists others.
    """
    connectors = {name: connector for name, connector in CONNECTORS.items() if name in upstreams}
    urls = {
        f"GATEWAY_{name.upper()}_{host.upper()}_URL": upstreams[name].get(f"{host}_url", upstreams[name]["base_url"])
        for name, connector in connectors.items()
        for host in connector.base_urls
    }
    oauth_apps = {
        f"GATEWAY_{name.upper()}_{part.upper()}": value
        for name, connector in connectors.items()
        if connector.oauth is not None
        for part, value in clients.get(name, {}).items()
    }
    return urls | oauth_apps


def run_management(data: Path | None, work: Callable[[App], Awaitable[T]], *, json: bool) -> T:
    """Return the result of *work* on the installation. An error is printed and ends the command."""
    settings = {"GATEWAY_OPERATOR_TOKEN": "not needed by commands"} | _select_settings(data)
    app = App(load_settings(settings))

    async def run() -> T:
        async with app.open():
            with act_as(app.audit, Actor("cli", surface="cli", details={"user": _user()})):
                return await work(app)

    try:
        return asyncio.run(run())
    except UnusableDatabase as error:
        raise click.ClickException(str(error)) from error
    except GatewayError as error:
        folder = data or DEFAULT_FOLDER
        is_dev = settings.get("GATEWAY_DATABASE_URL") == _database_url(folder)
        if isinstance(error, UpstreamUnavailable) and is_dev and not is_running(folder):
            error.remedy = not_running_message(folder)
        exit_with_error(_body(error), json=json)


def _user() -> str:
    """Return the name of the operating-system user, or their ID if they have no name."""
    with suppress(OSError, KeyError):
        return getpass.getuser()
    return str(os.getuid())


def run_and_print(
    data: Path | None, work: Callable[[App], Awaitable[Any]], *, json: bool, columns: tuple[str, ...] = ()
) -> None:
    """Run *work* on the installation and print its result."""
    show(run_management(data, work, json=json), json=json, columns=columns)


def _body(error: GatewayError) -> Mapping[str, Any]:
    """Return the response for an error, with the reason if the database is unavailable."""
    public = error_payload(error, "cli")
    why = f" {error.private}" if isinstance(error, StorageUnavailable) and error.private else ""
    retry = {} if error.retry_after is None else {"retry_after": error.retry_after}
    return {"run_id": None, "error": {**public, "message": f"{public['message']}{why}"}, **retry}


def _select_settings(data: Path | None) -> dict[str, str]:
    """Return the settings of the installation. If several installations are possible, print which one is used."""
    if data is not None:
        return load_environment(data)
    settings = load_environment()
    if not any(settings.get(name) for name in IDENTIFYING_SETTINGS):
        return load_environment(DEFAULT_FOLDER)
    if any(os.environ.get(name) for name in IDENTIFYING_SETTINGS) or not is_installed(DEFAULT_FOLDER):
        return settings
    if is_running(DEFAULT_FOLDER):
        print_to_stderr(
            "installation", f"{DEFAULT_FOLDER}, where dev is running, instead of that in {env_file.env_file()}"
        )
        return load_environment(DEFAULT_FOLDER)
    print_to_stderr("installation", f"that in {env_file.env_file()}. Use --data {DEFAULT_FOLDER} for that of dev")
    return settings
