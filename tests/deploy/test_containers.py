"""Both Containerfiles built, and deploy/compose.yaml run as containers."""

import json
import secrets
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import httpx
import pytest

from deploy.__main__ import NAMED
from deploy.containers import BASE, Stack, build_images, podman, run_stack, unavailable
from harness.requirement import requirement
from harness.steady_callers import under_load
from harness.wait import wait_until

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1800)]

GATEWAYS = ("gateway-1", "gateway-2")
API, ADMIN = "http://127.0.0.1:8080", "http://127.0.0.1:8081"
MEBIBYTE = 2**20


@pytest.fixture(scope="module")
def images() -> None:
    if reason := unavailable():
        pytest.skip(reason)
    build_images()


@pytest.fixture(scope="module")
def values() -> dict[str, str]:
    """The values that deploy/secrets.env.example requires."""
    images = {f"{name.upper()}_IMAGE": f"localhost/tests-{name}" for name in ("nginx", "postgres", "valkey")}
    return {name: secrets.token_urlsafe(32) for name in NAMED} | images | {"PYTHON_IMAGE": BASE}


@pytest.fixture(scope="module")
def stack(images: None, values: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    environment_file = tmp_path_factory.mktemp("stack") / "secrets.env"
    environment_file.write_text("".join(f"{name}={value}\n" for name, value in values.items()), encoding="utf-8")
    with run_stack(environment_file) as running:
        for name in GATEWAYS:
            wait_until(partial(running.is_healthy, name), 60)
        yield running


def image_bytes(name: str) -> int:
    report: list[dict[str, Any]] = json.loads(podman("image", "inspect", name))
    return int(report[0]["Size"])


@requirement("deployment-12")
def test_the_gateways_image_is_small(images: None) -> None:
    assert 0 < image_bytes("connector-gateway") - image_bytes(BASE) <= 120 * MEBIBYTE


@requirement("deployment-11")
@pytest.mark.parametrize("name", GATEWAYS)
def test_a_gateway_has_no_privileges(name: str, stack: Stack) -> None:
    status, limits = stack.process_status(name), stack.inspect(name)["HostConfig"]

    assert {"10001"} == {*status["Uid"].split()}
    assert ["1", *["0" * 16] * 3] == [status["NoNewPrivs"], status["CapEff"], status["CapPrm"], status["CapBnd"]]
    assert (2**30, 256) == (limits["Memory"], limits["PidsLimit"])
    assert "Read-only file system" in stack.execute(name, "sh", "-c", "echo > /opt/gateway/x").stderr


def test_gateways_are_restarted_one_by_one_without_a_failed_call(stack: Stack, values: dict[str, str]) -> None:
    load = prepare(stack, values["GATEWAY_OPERATOR_TOKEN"])
    codes = []
    with under_load(API, *load) as statuses:
        for name in GATEWAYS:
            await_calls(statuses)
            stack.compose("stop", name)
            codes.append(stack.inspect(name)["State"]["ExitCode"])
            stack.compose("start", name)
            wait_until(partial(stack.is_healthy, name), 60)
            assert stack.execute("balancer", "nginx", "-s", "reload").returncode == 0
        await_calls(statuses)

    assert [0, 0] == codes
    assert {200} == set(statuses)


def await_calls(statuses: Sequence[int]) -> None:
    """Wait until ten more calls have been answered."""
    seen = len(statuses)
    wait_until(lambda: len(statuses) >= seen + 10)


def prepare(stack: Stack, token: str) -> tuple[str, str, str]:
    """Create a workspace, a key and a connection to the notes of the sandbox. Returns key, connection and database."""
    printed = json.loads(podman("logs", "connector-gateway_sandbox_1").splitlines()[0])
    knobs = "urllib.request.Request('http://127.0.0.1:8081/_control/notes/knobs', b'{\"limits\": false}')"
    command = f"import urllib.request; urllib.request.urlopen({knobs})"
    assert stack.execute("sandbox", "python", "-c", command).returncode == 0

    def manage(path: str, **body: Any) -> Any:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.post(ADMIN + path, headers=headers, json=body, timeout=60).raise_for_status().json()["data"]

    workspace = {"workspace_id": manage("/v1/workspaces", name="tests")["workspace_id"]}
    key = manage("/v1/keys", **workspace, scope="read_write", calls_per_minute=1_000_000)["key"]
    credentials = {"token": printed["upstreams"]["notes"]["token"]}
    connection = manage("/v1/connections", **workspace, connector="notes", credentials=credentials)["connection_id"]
    return key, connection, printed["examples"]["notes"]["database_id"]
