"""Agents: the official client of the protocol, over both of its transports."""

import os
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from harness.gateway_server import Gateway

Mode = Literal["auto", "legacy"]
PATH = "/mcp"


@dataclass
class ProgressLog:
    """Collects progress notifications of a call."""

    messages: list[str | None] = field(default_factory=list)

    async def note(self, progress: float, total: float | None, message: str | None) -> None:
        """Store a notification."""
        self.messages.append(message)


@asynccontextmanager
async def agent(
    gateway: Gateway, mode: Mode = "auto", query: str = "", *, answer: ElicitationFnT | None = None
) -> AsyncIterator[Client]:
    """Run a client over HTTP, with the gateway's key, for the tools that *query* selects.

    *answer* answers its questions to a person.
    """
    headers = {"Authorization": f"Bearer {gateway.key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(gateway.base_url + PATH + query, http_client=http)
        async with Client(transport, mode=mode, cache=None, elicitation_callback=answer) as client:
            yield client


@asynccontextmanager
async def run_stdio_proxy(
    gateway: Gateway, mode: Mode = "auto", *options: str, answer: ElicitationFnT | None = None
) -> AsyncIterator[Client]:
    """Run a client of the command with *options*, over its standard input and output."""
    arguments = ["-m", "connector_gateway", "mcp", *options]
    command = StdioServerParameters(command=sys.executable, args=arguments, env=named(gateway))
    async with Client(command, mode=mode, cache=None, elicitation_callback=answer) as client:
        yield client


def named(gateway: Gateway) -> dict[str, str]:
    """Return the environment that directs the command to *gateway*."""
    own = {"GATEWAY_URL": gateway.base_url, "GATEWAY_API_KEY": gateway.key, "GATEWAY_ENV_FILE": os.devnull}
    return {**os.environ, **own}


async def outcomes(client: Client, calls: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the outcome of each of *calls* by the name of its tool: its status, or its error code."""
    return {name: outcome(await client.call_tool(name, dict(arguments))) for name, arguments in calls.items()}


def outcome(result: CallToolResult) -> str:
    """Return the status of a result, or its error code."""
    text: str = result.structured_content["error"]["code"] if result.is_error else result.structured_content["status"]
    return text


def first_text(result: CallToolResult) -> str:
    """Return the first text of a result."""
    assert "text" == result.content[0].type
    return result.content[0].text


def posted(method: str, version: str = "2025-11-25", **params: Any) -> dict[str, Any]:
    """Post a request as a client of an earlier protocol version."""
    return {
        "headers": {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": version},
        "json": {"jsonrpc": "2.0", "id": 1, "method": method, "params": params},
    }
