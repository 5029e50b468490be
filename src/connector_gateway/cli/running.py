"""The running gateway that a command talks to: its address and key, and what a dev installation tells of itself.

Only what any command needs is imported here, since building an App costs a command most of a second at its start.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from pydantic_core import from_json

from connector_gateway.cli import env_file

USUAL_FOLDER = Path(".data")

data_folder = click.option(
    "--data",
    type=click.Path(path_type=Path),
    help="Folder of a dev installation, in place of what the environment and .env name; .data where they name none.",
)


def set_here() -> dict[str, str]:
    """The settings of ``.env`` and of the environment, which goes before it."""
    return env_file.kept() | {name: value for name, value in os.environ.items() if value}


def describe(data: Path | None) -> Mapping[str, Any]:
    """What the running dev installation in *data* tells tools; empty if there is none."""
    try:
        described: Mapping[str, Any] = from_json(((data or USUAL_FOLDER) / "dev.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return described


@dataclass(frozen=True)
class Target:
    """The running gateway that calls are sent to."""

    base_url: str
    key: str
    is_dev: bool
    """True for the gateway of a dev installation."""

    connections: Mapping[str, str]
    """Connections of the dev installation, by connector."""


def reached(data: Path | None) -> Target:
    """Return the running gateway that the environment, ``.env`` or a dev installation names."""
    settings = {} if data else set_here()
    described = describe(data)
    base_url = settings.get("GATEWAY_URL") or described.get("base_url") or settings.get("GATEWAY_BASE_URL")
    key = settings.get("GATEWAY_API_KEY") or described.get("keys", {}).get("write")
    if not base_url or not key:
        raise click.ClickException(
            "No gateway is known: start one with 'make run', or set GATEWAY_URL and GATEWAY_API_KEY."
        )
    is_dev = base_url == described.get("base_url")
    return Target(base_url, key, is_dev, described.get("connections", {}) if is_dev else {})
