"""The command ``mcp``: the gateway's tools for an agent on standard input and output."""

import asyncio
import logging
from pathlib import Path

import click
import httpx2
from mcp.shared.exceptions import MCPError

from connector_gateway.cli.target import data_folder, resolve_target
from connector_gateway.mcp.bridge import bridge
from connector_gateway.mcp.gateway_connection import innermost


@click.command()
@data_folder
def mcp(data: Path | None) -> None:
    """Give an agent the gateway's tools, over standard input and output.

    The address and key are those of GATEWAY_URL and GATEWAY_API_KEY, or of the dev installation.
    """
    # Standard output belongs to the agent, and the package's log lines would clutter standard error.
    logging.getLogger("mcp").setLevel(logging.CRITICAL)
    target = resolve_target(data)
    try:
        asyncio.run(bridge(target.base_url, target.key))
    except (MCPError, httpx2.HTTPError, httpx2.InvalidURL, ExceptionGroup) as error:
        why = str(innermost(error)) or type(innermost(error)).__name__
        raise click.ClickException(f"The gateway at {target.base_url} cannot be asked: {why.rstrip('.')}.") from error
