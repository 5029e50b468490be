"""The running gateway to which a command connects: its URL, its key, and the description of a dev installation.

This module has few imports, since importing the application would delay every command by most of a second.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from connector_gateway.cli import env_file
from connector_gateway.cli.dev.data_folder import DEFAULT_FOLDER, describe, start_command

data_folder = click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Data folder of a dev installation. Default: the settings of the environment and .env, or else .data.",
)


def local_settings() -> dict[str, str]:
    """Return the settings of ``.env`` and of the environment, which takes precedence."""
    return env_file.read_settings() | {name: value for name, value in os.environ.items() if value}


@dataclass(frozen=True)
class GatewayTarget:
    """The running gateway that receives the calls."""

    base_url: str
    key: str
    key_source: str
    """The setting or the data folder that contains the key."""

    connections: Mapping[str, str]
    """The connections of the dev installation, by connector. Empty for other gateways."""

    how_to_start: str
    """A sentence that says how to start the gateway if it does not respond."""


def resolve_target(data: Path | None) -> GatewayTarget:
    """Return the gateway that the environment, ``.env`` or a dev installation specifies."""
    settings = {} if data else local_settings()
    described = describe(data or DEFAULT_FOLDER)
    if data and not described:
        raise click.ClickException(f"There is no dev installation in {data}. Start one with '{start_command(data)}'.")
    base_url = settings.get("GATEWAY_URL") or described.get("base_url") or settings.get("GATEWAY_BASE_URL")
    # The key of a dev installation is for this installation only.
    own_key = described["keys"]["write"] if described and str(base_url).rstrip("/") == described["base_url"] else None
    key = settings.get("GATEWAY_API_KEY") or own_key
    if not base_url:
        raise click.ClickException(
            "No gateway is configured. Start one with 'make run', or set GATEWAY_URL to the URL of one, "
            "such as http://127.0.0.1:8080."
        )
    if not key:
        raise click.ClickException(
            f"No API key for {base_url} is configured. Set GATEWAY_API_KEY. "
            "'connector-gateway keys create WORKSPACE' creates a key."
        )
    source = "GATEWAY_API_KEY" if settings.get("GATEWAY_API_KEY") else str(data or DEFAULT_FOLDER)
    if base_url != described.get("base_url"):
        return GatewayTarget(base_url, key, source, {}, "Start it, or set GATEWAY_URL to the URL of another one.")
    start = f"Start it with '{start_command(data or DEFAULT_FOLDER)}'."
    return GatewayTarget(base_url, key, source, described.get("connections", {}), start)
