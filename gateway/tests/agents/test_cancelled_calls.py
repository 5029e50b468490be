"""Calls of agents when the client disconnects, and when the service stops."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from connector_gateway.connectors.notes import NOTES
from harness.gateway_process import CallThread, run_installation
from harness.gateway_server import Gateway, run_gateway
from harness.mcp_clients import PATH, posted
from harness.raw_http import open_raw_connection
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.sandbox import Sandbox

WITH_PROGRESS = {"progressToken": 1}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(notes=NotesEmulator) as started:
        yield started


@pytest.fixture(scope="module")
def gateway(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with run_gateway(sandbox, tmp_path_factory.mktemp("ending"), connectors={"notes": NOTES}) as gateway:
        gateway.clear("notes")
        yield gateway


def latest(gateway: Gateway) -> dict[str, Any]:
    run: dict[str, Any] = gateway.request("GET", "/v1/runs", params={"limit": 1}).body["data"][0]
    return run


@requirement("mcp-15")
@pytest.mark.parametrize("meta", [{}, WITH_PROGRESS], ids=["one response", "a stream"])
def test_a_call_of_an_earlier_protocol_version_continues_without_its_client(
    gateway: Gateway, meta: dict[str, Any]
) -> None:
    gateway.fault("notes", method="POST", path="/v1/pages", fault="delay", seconds=0.5, times=1)
    arguments = {"database_id": gateway.examples("notes")["database_id"], "properties": {"Name": "Goes on"}}
    request = posted("tools/call", name="notes_create_page", arguments=arguments, _meta=meta)
    body = json.dumps(request["json"]).encode()
    own = [f"Authorization: Bearer {gateway.key}", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    with open_raw_connection(gateway.base_url) as client:
        client.send_request("POST", PATH, *own, *map(": ".join, request["headers"].items()), body=body)
        wait_until(lambda: not gateway.sandbox.emulators["notes"].context.faults[-1].times)
    wait_until(lambda: latest(gateway)["status"] != "running")

    assert ("create_page", "ok") == (latest(gateway)["operation"], latest(gateway)["status"])


@requirement("mcp-7")
@pytest.mark.parametrize("meta", [{}, WITH_PROGRESS], ids=["one response", "a stream"])
def test_a_call_in_progress_gets_a_response_during_shutdown(
    sandbox: Sandbox, tmp_path: Path, meta: dict[str, Any]
) -> None:
    request = posted("tools/call", name="notes_list_databases", arguments={"limit": 1}, _meta=meta)
    with run_installation(sandbox, tmp_path) as installation:
        fault = {"method": "POST", "path": "/v1/search", "fault": "delay", "seconds": 0.5}
        installation.http.post(f"{sandbox.address}/_control/notes/faults", json=fault)
        request["headers"]["Authorization"] = f"Bearer {installation.key}"
        calling = CallThread(lambda: httpx.post(installation.base_url + PATH, **request, timeout=60))
        wait_until(lambda: not sandbox.emulators["notes"].context.faults[-1].times)
        code = installation.end(signal.SIGTERM)
        response = calling.ended()

    assert response is not None
    assert 0 == code
    assert '"isError":false' in response.text.replace(" ", "")
