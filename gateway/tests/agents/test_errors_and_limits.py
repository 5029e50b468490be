"""Errors that agents receive, and limits on their requests."""

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from mcp.shared.exceptions import MCPError
from mcp_types import ListToolsRequest, ListToolsResult, PaginatedRequestParams

from connector_gateway.cli import main
from connector_gateway.connectors.notes import NOTES
from connector_gateway.core.access import keys
from connector_gateway.kit.errors import StorageUnavailable
from connector_gateway.mcp.stdio_proxy_connection import GatewayConnection
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.mcp_clients import PATH, Mode, ProgressLog, agent, first_text, named, outcome, posted, run_stdio_proxy
from harness.ports import free_port
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator


@pytest.fixture(scope="module")
def shared_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    patience: dict[str, Any] = {
        "GATEWAY_UPSTREAM_TIMEOUT_SECONDS": "1",
        "GATEWAY_MAX_BODY_BYTES": "20000",
    }
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, tmp_path_factory.mktemp("agents"), connectors={"notes": NOTES}, **patience) as gateway,
    ):
        yield gateway


@pytest.fixture
def gateway(shared_gateway: Gateway) -> Gateway:
    shared_gateway.clear("notes")
    return shared_gateway


def post(gateway: Gateway, method: str, **params: Any) -> Reply:
    return gateway.request("POST", PATH, **posted(method, **params))


def failing(error: Exception) -> Callable[..., Awaitable[Any]]:
    """Return a function that raises *fault* for any arguments."""

    async def fail(*_: object) -> None:
        raise error

    return fail


async def error_message(request: Awaitable[object]) -> str:
    """Return the error of a request that the protocol rejects."""
    with pytest.raises(MCPError) as raised:
        await request
    return raised.value.error.message


def latest(gateway: Gateway) -> dict[str, Any]:
    run: dict[str, Any] = gateway.request("GET", "/v1/runs", params={"limit": 1}).body["data"][0]
    return run


# Let in


@requirement("mcp-4")
async def test_a_wrong_key_is_rejected_with_the_error_of_the_protocol(gateway: Gateway) -> None:
    reply = gateway.request("POST", PATH, headers={"Authorization": "Bearer cgw_wrong"}, json={})

    assert (401, "Bearer") == (reply.status, reply.headers["www-authenticate"])
    assert "invalid_api_key" == reply.body["error"]["data"]["error"]["code"]
    assert "[invalid_api_key, run_" in reply.body["error"]["message"]


@requirement("mcp-4")
@pytest.mark.parametrize(
    ("name", "value", "status"),
    [
        ("Origin", "https://evil.example", 403),
        ("Origin", "null", 403),
        ("Origin", "http://[", 403),
        ("Host", "evil.example:8080", 403),
        ("Origin", "http://localhost:6274", 200),
        ("Host", "localhost", 200),
    ],
)
def test_requests_of_other_origins_are_rejected(gateway: Gateway, name: str, value: str, status: int) -> None:
    request = posted("ping")
    reply = gateway.request("POST", PATH, headers={**request["headers"], name: value}, json=request["json"])

    assert status == reply.status


@requirement("mcp-4")
def test_a_too_large_body_is_rejected(gateway: Gateway) -> None:
    reply = post(gateway, "tools/call", name="notes_list_databases", arguments={"query": "x" * 30_000})

    assert (413, "payload_too_large") == (reply.status, reply.body["error"]["data"]["error"]["code"])


@requirement("mcp-4")
@pytest.mark.parametrize("body", [b"", b"{", b'{"jsonrpc": "2.0", "jsonrpc": "2.0"}', b"[" * 9000, b"\xff"])
def test_an_invalid_json_body_is_rejected(gateway: Gateway, body: bytes) -> None:
    reply = gateway.request("POST", PATH, headers={"Content-Type": "application/json"}, content=body)

    assert (400, -32700) == (reply.status, reply.body["error"]["code"])


@requirement("mcp-20")
@pytest.mark.parametrize("body", [1, [], "text", [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]])
def test_a_request_has_one_message(gateway: Gateway, body: Any) -> None:
    reply = gateway.request("POST", PATH, headers=posted("ping")["headers"], json=body)

    assert (400, -32600) == (reply.status, reply.body["error"]["code"])
    assert "invalid_message" == reply.body["error"]["data"]["error"]["code"]


@requirement("mcp-20")
@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ({}, ["jsonrpc", "method"]),
        ({"jsonrpc": "1.0", "id": [1], "method": 7, "params": []}, ["jsonrpc", "method", "id", "params"]),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, ["id"]),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, ["id"]),
    ],
)
def test_an_invalid_message_is_rejected_with_the_reason(
    gateway: Gateway, body: dict[str, Any], wrong: list[str]
) -> None:
    reply = gateway.request("POST", PATH, headers=posted("ping")["headers"], json=body)

    assert 400 == reply.status
    assert wrong == [detail["parameter"] for detail in reply.body["error"]["data"]["error"]["details"]]


def test_event_streams_are_not_supported(gateway: Gateway) -> None:
    reply = gateway.request("GET", PATH)

    assert (405, "POST") == (reply.status, reply.headers["allow"])


# Errors


@requirement("mcp-11")
async def test_an_unknown_tool_is_an_error_of_the_protocol(gateway: Gateway) -> None:
    async with agent(gateway) as client:
        with pytest.raises(
            MCPError, match=r"There is no tool notes_create_pages\. Did you mean notes_create_page\?"
        ) as raised:
            await client.call_tool("notes_create_pages", {})

    assert "notes_create_page" == raised.value.data["error"]["details"][0]["did_you_mean"]


@requirement("mcp-11")
async def test_all_invalid_arguments_are_reported(gateway: Gateway) -> None:
    async with agent(gateway) as client:
        result = await client.call_tool("notes_list_databases", {"limit": "many", "sort": "up", "cursor": 3})
    run = gateway.request("GET", f"/v1/runs/{result.structured_content['run_id']}").data

    assert "invalid_parameters" == outcome(result) == run["code"]
    assert {"limit", "sort", "cursor"} == {
        detail["parameter"] for detail in result.structured_content["error"]["details"]
    }
    assert first_text(result).startswith("Parameters ")
    assert (
        f" Next step: Correct the arguments listed in details. [invalid_parameters, {run['run_id']}]\n"
        in first_text(result)
    )


@requirement("mcp-11")
async def test_a_rate_limited_key_receives_retry_after(gateway: Gateway) -> None:
    # The client also asks which version is spoken, and lists the tools to check a result.
    hasty = gateway.with_key(calls_per_minute=3)
    async with agent(hasty) as client:
        first = await client.call_tool("notes_list_databases", {"limit": 1})
        second = await client.call_tool("notes_list_databases", {"limit": 1})

    assert ("ok", "rate_limited") == (outcome(first), outcome(second))
    assert f"Wait {second.structured_content['retry_after']} seconds." in first_text(second)


@requirement("limits-6")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/list", {}),
        ("tools/call", {"name": "nope", "arguments": {}}),
        ("resources/list", {}),
        ("resources/templates/list", {}),
        ("resources/read", {"uri": "gateway://connections"}),
        (
            "initialize",
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
        ),
        ("nothing", {}),
    ],
)
def test_every_message_counts_as_a_call(gateway: Gateway, method: str, params: dict[str, Any]) -> None:
    hasty = gateway.with_key(calls_per_minute=1)
    counted, error_message = (post(hasty, method, **params) for _ in range(2))

    assert ["0", "0"] == [reply.headers["x-service-ratelimit-remaining"] for reply in (counted, error_message)]
    assert "rate_limited" not in str(counted.body)
    assert "rate_limited" in str(error_message.body)


@requirement("limits-6")
def test_a_call_of_a_tool_counts_once(gateway: Gateway) -> None:
    hasty = gateway.with_key(calls_per_minute=3)
    reply = post(hasty, "tools/call", name="notes_list_databases", arguments={"limit": 1})

    assert "2" == reply.headers["x-service-ratelimit-remaining"]


@requirement("mcp-11")
async def test_a_write_with_unknown_outcome_returns_a_remedy(gateway: Gateway) -> None:
    gateway.fault("notes", method="POST", path="/v1/pages", fault="delay", seconds=30, times=1)
    arguments = {"database_id": gateway.examples("notes")["database_id"], "properties": {"Name": "Doubt"}}
    async with agent(gateway) as client:
        result = await client.call_tool("notes_create_page", arguments)

    assert "outcome_unknown" == outcome(result)
    assert result.structured_content["error"]["remedy"] in first_text(result)


@requirement("mcp-11")
async def test_an_unknown_resource_is_reported_by_its_address(gateway: Gateway) -> None:
    async with agent(gateway) as client:
        with pytest.raises(MCPError, match="List the resources") as error_message:
            await client.read_resource("gateway://nothing")
        with pytest.raises(MCPError, match="connection_not_found"):
            await client.read_resource("gateway://connections/conn_1/events")
        with pytest.raises(MCPError, match="run_not_found"):
            await client.read_resource("gateway://runs/run_1")

    assert "gateway://nothing" == error_message.value.data["uri"]


async def error_messages_while(
    error: Exception, gateway: Gateway, mode: Mode, monkeypatch: pytest.MonkeyPatch, *names: str
) -> list[str]:
    """Return the error for each request while reads of the database raise *fault*."""
    # However slow this machine is, the key is known from before, and so it is not who is let in that fails.
    monkeypatch.setattr(keys, "CACHE_SECONDS", 600)
    async with agent(gateway.with_key(), mode) as client:
        monkeypatch.setattr(gateway.app.database, "read", failing(error))
        requests: dict[str, Callable[[], Awaitable[object]]] = {
            "tools": client.list_tools,
            "resources": client.list_resources,
            "connections": partial(client.read_resource, "gateway://connections"),
        }
        return [await error_message(requests[name]()) for name in names]


@requirement("common-137", "mcp-11")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_unavailable_storage_is_reported_with_its_remedy(
    gateway: Gateway, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = StorageUnavailable("Storage is away.")
    messages = await error_messages_while(error, gateway, mode, monkeypatch, "tools", "resources")

    assert [True, True] == [text.startswith("Storage is away. Next step: ") for text in messages]


@requirement("common-55", "mcp-11")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_an_internal_error_reveals_no_detail(
    gateway: Gateway, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = KeyError("what nobody may see")
    messages = await error_messages_while(error, gateway, mode, monkeypatch, "tools", "resources", "connections")

    assert [True] * 3 == [text.startswith("Internal error. Next step: ") for text in messages]
    assert "nobody" not in str(messages)


@requirement("mcp-7")
def test_null_arguments_are_treated_as_missing(gateway: Gateway) -> None:
    response = post(gateway, "tools/call", name="notes_list_databases", arguments=None)

    assert "ok" == response.body["result"]["structuredContent"]["status"]


# Which connection


@requirement("mcp-8")
async def test_a_connection_is_required_if_there_are_several(gateway: Gateway) -> None:
    other = gateway.run(gateway.app.workspaces.create("several", "paid"))["workspace_id"]
    credentials = gateway.sandbox.emulators["notes"].credentials()
    connection_ids = [
        gateway.run(gateway.app.connections.create(other, "notes", credentials, name=name))["connection_id"]
        for name in ("Sales", "Support")
    ]
    key = gateway.run(gateway.app.keys.create(other, "read"))["key"]
    caller = replace(gateway, key=key, workspace_id=other, connections={})
    async with agent(caller) as client:
        unnamed = await client.call_tool("notes_list_databases", {"connection_id": None})
        chosen = await client.call_tool("notes_list_databases", {"connection_id": connection_ids[1]})

    assert "invalid_parameters" == outcome(unnamed)
    assert f"{connection_ids[0]} (Sales), {connection_ids[1]} (Support)" in first_text(unnamed)
    assert connection_ids == unnamed.structured_content["error"]["details"][0]["allowed"]
    assert "ok" == outcome(chosen)


@requirement("mcp-8")
async def test_a_key_without_connections_lists_and_calls_no_tool(gateway: Gateway) -> None:
    other = gateway.run(gateway.app.workspaces.create("empty", "paid"))["workspace_id"]
    gateway.run(gateway.app.connections.create(other, "notes", None))
    key = gateway.run(gateway.app.keys.create(other, "read"))["key"]
    caller = replace(gateway, key=key, workspace_id=other, connections={})
    async with agent(caller) as client:
        listed = (await client.list_tools()).tools
        called = await client.call_tool("notes_list_databases", {})

    assert [] == listed
    assert "connection_not_found" == outcome(called)


@requirement("mcp-11")
async def test_a_name_cannot_reverse_the_text_around_it(gateway: Gateway) -> None:
    other = gateway.run(gateway.app.workspaces.create("turning", "paid"))["workspace_id"]
    credentials = gateway.sandbox.emulators["notes"].credentials()
    names = ("\u202egpj.exe\u2066", "\u05e9\u05dc\u05d5\u05dd")
    created = [gateway.run(gateway.app.connections.create(other, "notes", credentials, name=name)) for name in names]
    key = gateway.run(gateway.app.keys.create(other, "read"))["key"]
    caller = replace(gateway, key=key, workspace_id=other, connections={})
    async with agent(caller) as client:
        listed = (await client.list_resources()).resources
        unnamed = await client.call_tool("notes_list_databases", {})

    assert 2 == len(created)
    assert {"Connections", "Events of notes: [U+202E]gpj.exe[U+2066]", "Events of notes: \u05e9\u05dc\u05d5\u05dd"} == {
        resource.title for resource in listed
    }
    assert (True, False) == ("([U+202E]gpj.exe[U+2066])" in first_text(unnamed), "\u202e" in first_text(unnamed))


# Bounds


@requirement("mcp-14")
async def test_progress_is_reported_on_request(gateway: Gateway) -> None:
    progress = ProgressLog()
    async with agent(gateway) as client, agent(gateway, "legacy") as former:
        first = await client.call_tool("notes_list_databases", {"limit": 1}, progress_callback=progress.note)
        second = await former.call_tool("notes_list_databases", {"limit": 1}, progress_callback=progress.note)

    assert ("ok", "ok") == (outcome(first), outcome(second))
    assert ["Notion: list databases: started."] * 2 == progress.messages


@requirement("mcp-2", "mcp-15")
@pytest.mark.parametrize("connected", [agent, run_stdio_proxy], ids=["http", "stdio proxy"])
async def test_a_cancelled_call_ends(gateway: Gateway, connected: Any) -> None:
    gateway.fault("notes", method="POST", path="/v1/pages", fault="delay", seconds=30, times=1)
    stage = gateway.sandbox.emulators["notes"].context
    arguments = {"database_id": gateway.examples("notes")["database_id"], "properties": {"Name": "Left"}}
    async with connected(gateway) as client:
        call = asyncio.create_task(client.call_tool("notes_create_page", arguments))
        await asyncio.to_thread(wait_until, lambda: not stage.faults[0].times)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.to_thread(wait_until, lambda: latest(gateway)["status"] != "running")

    assert ("create_page", "interrupted") == (latest(gateway)["operation"], latest(gateway)["status"])


@requirement("mcp-3")
def test_a_thousand_sessions_leak_no_memory(gateway: Gateway) -> None:
    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    post(gateway, "ping")
    before = len(asyncio.all_tasks(gateway.loop))
    replies = [post(gateway, "initialize", **client) for _ in range(1000)]
    wait_until(lambda: len(asyncio.all_tasks(gateway.loop)) <= before)

    assert {200} == {reply.status for reply in replies}
    assert not any("mcp-session-id" in reply.headers for reply in replies)


def test_numbers_are_exact(gateway: Gateway) -> None:
    reply = gateway.http.post(
        gateway.base_url + PATH,
        headers={"Authorization": f"Bearer {gateway.key}", "Content-Type": "application/json", "Accept": "*/*"},
        content=b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"notes_list_databases",'
        b'"arguments":{"limit":12345678901234567890123}}}',
    )

    assert "12345678901234567890123" in reply.text


# The command


@requirement("mcp-2")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"GATEWAY_API_KEY": "cgw_wrong"},
            r"rejected the request with the key from GATEWAY_API_KEY: .*\[invalid_api_key",
        ),
        (
            {"GATEWAY_URL": "http://127.0.0.1:9"},
            r"The gateway at http://127.0.0.1:9 does not respond: .+\. Start it, or ",
        ),
    ],
)
def test_a_stdio_proxy_without_a_gateway_reports_the_reason(
    gateway: Gateway, changed: dict[str, str], message: str
) -> None:
    ended = CliRunner().invoke(main, ["mcp"], env=named(gateway) | changed)

    assert (1, "") == (ended.exit_code, ended.stdout)
    assert re.search(message, ended.stderr)


def run_command(*options: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the command without requests, and return its output."""
    command = [sys.executable, "-m", "connector_gateway", "mcp", *options]
    return subprocess.run(command, env=env, input="", capture_output=True, text=True, check=False)


@requirement("mcp-22")
def test_the_stdio_proxy_uses_the_key_of_its_data_folder(gateway: Gateway, tmp_path: Path) -> None:
    own = gateway.run(gateway.app.keys.create(gateway.workspace_id, "read"))
    description = {"base_url": gateway.base_url, "keys": {"write": own["key"]}, "connections": {}}
    (tmp_path / "dev.json").write_text(json.dumps(description))
    of_folder = run_command("--data", str(tmp_path), env=named(gateway) | {"GATEWAY_API_KEY": "cgw_wrong"})
    of_environment = run_command(env=named(gateway))

    assert f"with {own['key_id']}, from {tmp_path}." in of_folder.stderr
    assert ", from GATEWAY_API_KEY." in of_environment.stderr
    assert [True, True] == ["with key_" in ended.stderr for ended in (of_folder, of_environment)]
    assert ("", "") == (of_folder.stdout, of_environment.stdout)
    assert own["key"] not in of_folder.stderr


@requirement("mcp-2")
def test_the_key_of_a_dev_installation_is_not_sent_to_another_url(
    gateway: Gateway, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    description = {"base_url": "http://127.0.0.1:1", "keys": {"write": gateway.key}, "connections": {}}
    (tmp_path / ".data").mkdir()
    (tmp_path / ".data" / "dev.json").write_text(json.dumps(description))
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(main, ["mcp"], env=named(gateway) | {"GATEWAY_API_KEY": ""})

    assert f"No API key for {gateway.base_url} is configured. Set GATEWAY_API_KEY." in ended.stderr


@requirement("mcp-22")
def test_a_data_folder_without_an_installation_is_named(gateway: Gateway, tmp_path: Path) -> None:
    ended = CliRunner().invoke(main, ["mcp", "--data", str(tmp_path)], env=named(gateway))

    assert f"There is no dev installation in {tmp_path}. Start one with 'make run ARGS=" in ended.stderr


@requirement("mcp-2")
async def test_the_stdio_proxy_forwards_errors_and_progress(gateway: Gateway) -> None:
    progress = ProgressLog()
    async with run_stdio_proxy(gateway, "legacy") as client:
        result = await client.call_tool("notes_list_databases", {"limit": "many"}, progress_callback=progress.note)
        with pytest.raises(MCPError, match="tool_not_found"):
            await client.call_tool("nothing", {})

    assert "invalid_parameters" == outcome(result)
    assert ["Notion: list databases: started."] == progress.messages


@asynccontextmanager
async def forward_connections(gateway: Gateway, port: int) -> AsyncIterator[None]:
    """Forward connections at *port* to the gateway. Aborts open ones at the end."""
    writers: list[asyncio.StreamWriter] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(65_536):
            writer.write(piece)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_gateway, to_gateway = await asyncio.open_connection("127.0.0.1", int(gateway.base_url.rpartition(":")[2]))
        writers.extend([writer, to_gateway])
        await asyncio.gather(pump(reader, to_gateway), pump(from_gateway, writer), return_exceptions=True)

    async with await asyncio.start_server(serve, "127.0.0.1", port):
        yield
        for writer in writers:
            writer.transport.abort()


@requirement("mcp-19")
async def test_the_stdio_proxy_reconnects_after_a_restart_of_the_gateway(gateway: Gateway) -> None:
    port, request = free_port(), ListToolsRequest(params=PaginatedRequestParams())
    async with GatewayConnection(f"http://127.0.0.1:{port}", gateway.key) as link:
        async with forward_connections(gateway, port):
            first = await link.send(request, ListToolsResult)
        messages = [await error_message(link.send(request, ListToolsResult)) for _ in range(2)]
        async with forward_connections(gateway, port):
            later = await link.send(request, ListToolsResult)

    assert len(NOTES.operations) == len(first.tools) == len(later.tools)
    assert [True, True] == ["does not respond" in text and "idempotency_key" in text for text in messages]
