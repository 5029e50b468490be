"""The command ``mcp``: the gateway's tools for an agent on standard input and output."""

import asyncio
import logging
from pathlib import Path

import click
import httpx2
from mcp.shared.exceptions import MCPError

from connector_gateway.cli.gateway_url_and_key import data_folder, resolve_target
from connector_gateway.mcp.bridge import bridge
from connector_gateway.mcp.gateway_connection import find_root_error


@click.command()
@data_folder
def mcp(data: Path | None) -> None:
    """Serve the gateway's tools to an agent over standard input and output.

    URL and key come from GATEWAY_URL and GATEWAY_API_KEY, or from the dev installation.
    """
    # Standard output belongs to the agent, and the package's log lines would clutter standard error.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    target = resolve_target(data)
    try:
        asyncio.run(bridge(target.base_url, target.key))
    except (MCPError, httpx2.HTTPError, httpx2.InvalidURL, ExceptionGroup) as error:
        why = str(find_root_error(error)) or type(find_root_error(error)).__name__
        raise click.ClickException(f"Cannot connect to the gateway at {target.base_url}: {why.rstrip('.')}.") from error
