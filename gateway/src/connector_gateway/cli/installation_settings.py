"""The settings of the installation on which a command works.

Settings come from ``.env`` in the working directory (or the file in ``GATEWAY_ENV_FILE``), and from the environment,
which takes precedence. A data folder of ``dev`` given with ``--data`` takes precedence over both. Without any of them,
the default data folder of ``dev`` is used.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from connector_gateway.cli import env_file
from connector_gateway.cli.dev.data_folder import (
    DEFAULT_FOLDER,
    describe,
    is_installed,
    is_running,
    load_state,
)
from connector_gateway.cli.gateway_url_and_key import local_settings
from connector_gateway.cli.output import print_to_stderr
from connector_gateway.connectors import CONNECTORS, INSTALLED
from connector_gateway.settings import Settings
from connector_gateway.settings_reader import SettingsError

IDENTIFYING_SETTINGS = ("GATEWAY_SECRET_KEYS", "GATEWAY_DATABASE_URL")
"""Settings that identify an installation, rather than only adjust it."""


def load_environment(data: Path | None = None) -> dict[str, str]:
    """Return the settings. Those of the dev installation in *data* take precedence, if given."""
    settings = local_settings()
    return settings if data is None else settings | dev_environment(data)


def load_settings(environment: Mapping[str, str], *, starting: bool = False) -> Settings:
    """Read settings. Raises ``ClickException`` if one is missing, invalid or, when *starting*, a weak secret."""
    try:
        settings = Settings.read(environment, CONNECTORS, INSTALLED.rejected)
        if starting:
            settings.check_strength()
            settings.check_connectors(INSTALLED.rejected)
    except SettingsError as error:
        raise click.ClickException(str(error)) from error
    return settings


def print_connector_problems() -> None:
    """Print a sentence for each connector that was found but is not served."""
    for problem in INSTALLED.problems:
        print_to_stderr("warning", problem)


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
        "GATEWAY_DATABASE_URL": database_url(data),
        "GATEWAY_SECRET_KEYS": state["secret_key"],
        "GATEWAY_OPERATOR_TOKEN": state["operator_token"],
        "GATEWAY_PRIVATE_WEBHOOKS": "on",
        "GATEWAY_ADMIN_PORT": "",
        "GATEWAY_SHARED_URL": "",
        **({"GATEWAY_BASE_URL": base_url} if base_url else {}),
    }


def database_url(data: Path) -> str:
    """Return the URL of the database of the dev installation in *data*."""
    return f"sqlite:///{(data / 'gateway.db').resolve()}"


def _hook_secrets(upstreams: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the settings with the secrets with which the emulators sign their deliveries."""
    return {
        f"GATEWAY_{name.upper()}_HOOK_SECRET": upstreams[name][connector.event_source.signed_with]
        for name, connector in CONNECTORS.items()
        if name in upstreams and connector.event_source is not None and connector.event_source.receive is not None
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


def select_settings(data: Path | None) -> dict[str, str]:
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
