"""The command ``env``: shell variables for calls to a dev installation."""

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import click

from connector_gateway.cli.dev.data_folder import DEFAULT_FOLDER, describe, is_running, not_running_message
from connector_gateway.cli.gateway_url_and_key import data_folder

Described = Mapping[str, Any]


@click.command()
@click.option(
    "--key", type=click.Choice(["read", "write"]), default="write", show_default=True, help="The API key to export."
)
@click.option("--operator", is_flag=True, help="Also export the operator token, which grants full management access.")
@data_folder
def env(key: Literal["read", "write"], data: Path | None, *, operator: bool) -> None:
    r"""Print URL, key, workspace, connections and examples of the running dev installation as shell exports.

    Usage: eval "$(connector-gateway env)"
    """
    folder = data or DEFAULT_FOLDER
    described = describe(folder)
    if not is_running(folder):
        raise click.ClickException(not_running_message(folder))
    token = {"GATEWAY_OPERATOR_TOKEN": described["operator_token"]} if operator else {}
    for name, value in (*exports(described, key), *token.items()):
        click.echo(f"export {name}={shlex.quote(value)}")


def exports(described: Described, key: Literal["read", "write"]) -> Iterator[tuple[str, str]]:
    """Yield names and values of shell variables, such as ``NOTES_CONNECTION_ID`` and ``NOTES_PAGE_ID``."""
    yield "GATEWAY_URL", described["base_url"]
    yield "GATEWAY_API_KEY", described["keys"][key]
    yield "SANDBOX_URL", described["sandbox_url"]
    yield "WORKSPACE_ID", described["workspace_id"]
    for connector, connection_id in described["connections"].items():
        yield f"{connector}_connection_id".upper(), connection_id
        for name, value in described["examples"].get(connector, {}).items():
            if isinstance(value, str):
                yield f"{connector}_{name}".upper(), value
