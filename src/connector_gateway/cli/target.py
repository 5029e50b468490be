"""The running gateway that a command talks to: its address and key, and what a dev installation tells of itself.

Only what any command needs is imported here, since building an App costs a command most of a second at its start.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click

from connector_gateway.cli import env_file
from connector_gateway.cli.dev.folder import USUAL_FOLDER, describe, how_to_start

data_folder = click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder of a dev installation, in place of what the environment and .env name; .data where they name none.",
)


def local_settings() -> dict[str, str]:
    """The settings of ``.env`` and of the environment, which goes before it."""
    return env_file.read_settings() | {name: value for name, value in os.environ.items() if value}


@dataclass(frozen=True)
class Target:
    """The running gateway that calls are sent to."""

    base_url: str
    key: str
    connections: Mapping[str, str]
    """Connections of the dev installation, by connector; empty if it is another gateway."""

    how_to_start: str
    """What to do, in a sentence, if it does not answer."""


def resolve_target(data: Path | None) -> Target:
    """Return the running gateway that the environment, ``.env`` or a dev installation names."""
    settings = {} if data else local_settings()
    described = describe(data or USUAL_FOLDER)
    base_url = settings.get("GATEWAY_URL") or described.get("base_url") or settings.get("GATEWAY_BASE_URL")
    key = settings.get("GATEWAY_API_KEY") or described.get("keys", {}).get("write")
    if not base_url:
        raise click.ClickException(
            "No gateway is known: start one with 'make run', or set GATEWAY_URL to the address of one, "
            "such as http://127.0.0.1:8080."
        )
    if not key:
        raise click.ClickException(
            f"No key for {base_url} is known: set GATEWAY_API_KEY. "
            "'connector-gateway keys create WORKSPACE' creates a key."
        )
    if base_url != described.get("base_url"):
        return Target(base_url, key, {}, "Start it, or name another with GATEWAY_URL.")
    start = f"Start it with '{how_to_start(data or USUAL_FOLDER)}'."
    return Target(base_url, key, described.get("connections", {}), start)
