"""The command ``mcp``: the gateway's tools for an agent on standard input and output."""

import asyncio
import logging
from functools import partial
from pathlib import Path

import click
import httpx2
from mcp.shared.exceptions import MCPError

from connector_gateway.cli.gateway_url_and_key import GatewayTarget, data_folder, resolve_target
from connector_gateway.mcp.stdio_proxy import serve_stdio_proxy
from connector_gateway.mcp.stdio_proxy_connection import find_root_error


@click.command()
@data_folder
@click.option("--connectors", help="Only tools of these connectors, such as notes,mail.")
@click.option("--operations", help="Only these tools, by name or pattern, such as notes_create_page,mail_*.")
@click.option("--read-only", is_flag=True, help="Only tools that change nothing.")
@click.option("--find", is_flag=True, help="Two tools that find and call operations, instead of one per operation.")
def mcp(data: Path | None, connectors: str | None, operations: str | None, *, read_only: bool, find: bool) -> None:
    """Serve the gateway's tools to an agent over standard input and output.

    URL and key come from the dev installation in the folder of --data. Without the option, they come from GATEWAY_URL
    and GATEWAY_API_KEY, or else from the dev installation in .data.
    """
    # Standard output belongs to the agent, and the package's log lines would clutter standard error.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    target = resolve_target(data)
    names = {"connectors": connectors, "operations": operations}
    selection = {name: value for name, value in names.items() if value is not None}
    selection |= {name: "true" for name, chosen in {"read_only": read_only, "find": find}.items() if chosen}
    try:
        asyncio.run(serve_stdio_proxy(target.base_url, target.key, selection, partial(_report_key, target)))
    except (MCPError, httpx2.HTTPError, httpx2.InvalidURL, ExceptionGroup) as error:
        raise click.ClickException(_message(find_root_error(error), target)) from error


def _message(error: BaseException, target: GatewayTarget) -> str:
    if isinstance(error, MCPError):
        return f"The gateway at {target.base_url} rejected the request with the key from {target.key_source}: {error}"
    why = (str(error) or type(error).__name__).rstrip(".")
    return f"The gateway at {target.base_url} does not respond: {why}. {target.how_to_start}"


def _report_key(target: GatewayTarget, key_id: str) -> None:
    click.echo(f"Connected to {target.base_url} with {key_id}, from {target.key_source}.", err=True)
