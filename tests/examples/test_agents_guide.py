"""The guide for agents, followed literally against a running gateway."""

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from connector_gateway.connectors.chat import CHAT
from connector_gateway.connectors.notes import NOTES
from harness.gateway_server import Gateway, run_gateway
from harness.mcp_clients import agent, first_text
from harness.sandbox_server import run_emulators
from workspace_sandbox.chat import ChatEmulator
from workspace_sandbox.notes import NotesEmulator

GUIDE = (Path(__file__).parents[2] / "docs" / "guide" / "agents.md").read_text(encoding="utf-8")
LINE = re.compile(r"(.+) Next step: (.{60}).* \[connection_revoked, run_")
PATHS = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}


def blocks(language: str) -> list[str]:
    """Return the blocks of the guide in *language*."""
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("guide")


@pytest.fixture(scope="module")
def gateway(folder: Path) -> Iterator[Gateway]:
    connectors: Any = {"notes": NOTES, "chat": CHAT}
    with (
        run_emulators(notes=NotesEmulator, chat=ChatEmulator) as sandbox,
        run_gateway(sandbox, folder, connectors=connectors) as gateway,
    ):
        yield gateway


def here(text: str, gateway: Gateway) -> str:
    """Return *text* with the URL and the key of this installation."""
    return text.replace("http://127.0.0.1:8080", gateway.base_url).replace("<API key>", gateway.key)


def configured(number: int, gateway: Gateway) -> dict[str, Any]:
    """Return the server in a block of configuration."""
    servers: dict[str, dict[str, Any]] = json.loads(here(blocks("json")[number], gateway))["mcpServers"]
    return servers["connector-gateway"]


def typed(line: str, workspace_id: str, folder: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Type a documented line in the folder of the gateway."""
    variables = {
        "WORKSPACE_ID": workspace_id,
        "GATEWAY_DATABASE_URL": f"sqlite:///{folder / 'gateway.db'}",
        "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
        "GATEWAY_ENV_FILE": os.devnull,
    }
    return subprocess.run(
        ["bash", "-euc", line], env={**PATHS, **variables, **settings}, capture_output=True, text=True, check=False
    )


@pytest.fixture
def workspace_id(gateway: Gateway) -> str:
    return str(gateway.operator("POST", "/v1/workspaces", json={"name": "Agents"}).data["workspace_id"])


def test_the_documented_commands_create_a_key(gateway: Gateway, folder: Path, workspace_id: str) -> None:
    (line,) = blocks("sh")
    done = typed(line, workspace_id, folder)
    keys = gateway.operator("GET", "/v1/keys", params={"workspace_id": workspace_id}).data

    assert 0 == done.returncode, done.stderr
    assert [["notes_*", "chat_list_channels"]] == [key["operations"] for key in keys]


def test_the_documented_command_creates_a_code_if_the_setting_is_on(folder: Path, workspace_id: str) -> None:
    (line,) = re.findall(r"`(connector-gateway keys authorise-agent) WORKSPACE_ID`", GUIDE)
    created = typed(f"{line} $WORKSPACE_ID", workspace_id, folder, GATEWAY_AGENT_OAUTH="on")
    rejected = typed(f"{line} $WORKSPACE_ID", workspace_id, folder)

    assert re.search(r"^agent_code\s+([0-9A-Z]{5}-){3}[0-9A-Z]{5}$", created.stdout, re.MULTILINE), created.stderr
    assert "Set GATEWAY_AGENT_OAUTH=on for the service and its commands" in rejected.stderr


async def test_the_documented_http_configuration_connects_a_client(gateway: Gateway) -> None:
    server = configured(0, gateway)
    async with (
        httpx2.AsyncClient(headers=server["headers"]) as http,
        Client(streamable_http_client(server["url"], http_client=http)) as client,
    ):
        tools = (await client.list_tools()).tools

    assert 10 == len(tools)


async def test_the_documented_command_configuration_connects_a_client(gateway: Gateway) -> None:
    server = configured(1, gateway)
    environment = {**PATHS, **server["env"], "GATEWAY_ENV_FILE": os.devnull}
    command = StdioServerParameters(command=server["command"], args=server["args"], env=environment)
    async with Client(command) as client:
        tools = (await client.list_tools()).tools

    assert 10 == len(tools)


async def test_the_documented_python_lists_and_calls_tools(gateway: Gateway) -> None:
    (text,) = blocks("python")
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-c", here(text, gateway), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await program.communicate()

    assert 0 == program.returncode
    assert "notes_create_page" in output.decode()
    assert 3 == output.decode().count("database_id")


async def test_errors_have_the_documented_line(gateway: Gateway) -> None:
    (expected,) = blocks("text")
    gateway.revoke("notes")
    async with agent(gateway) as client:
        message = first_text(await client.call_tool("notes_list_databases", {}))
    gateway.authorise("notes")

    assert LINE.findall(expected) == LINE.findall(message) != []
