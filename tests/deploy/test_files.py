"""The files that run the gateway elsewhere: read here, and the compose file's gateways started as processes."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from connector_gateway.connectors import CONNECTORS
from connector_gateway.settings import Settings
from harness.serving import free_port
from harness.valkey import Server
from harness.waiting import wait_until

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
CONTAINERFILE = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
UNIT = (DEPLOY / "connector-gateway.service").read_text(encoding="utf-8")
SECRETS = {
    "GATEWAY_SECRET_KEYS": "a secret that only tests know",
    "GATEWAY_OPERATOR_TOKEN": "op_0123456789abcdef0123456789abcdef",
    "GATEWAY_METRICS_TOKEN": "mt_0123456789abcdef0123456789abcdef",
    "POSTGRES_PASSWORD": "pw-of-postgres",
    "VALKEY_PASSWORD": "pw-of-valkey",
}
MANIFESTS: list[dict[str, Any]] = [
    document
    for path in sorted(DEPLOY.glob("kubernetes/**/*.yaml"))
    for document in yaml.safe_load_all(path.read_text(encoding="utf-8"))
]


def environment_of(service: str) -> dict[str, str]:
    """What compose puts into the environment of *service*."""
    given: dict[str, str] = COMPOSE["services"][service]["environment"]
    return {
        name: re.sub(r"\$\{(\w+)(?::\?|:-([^}]*))\}", lambda found: SECRETS.get(found[1], found[2] or ""), value)
        for name, value in given.items()
    }


@contextmanager
def started(environment: dict[str, str], folder: Path) -> Iterator[str]:
    """The address of the container's command as a process in *folder*."""
    port = str(free_port())
    words = re.findall(r'^CMD \["(.*)"\]$', CONTAINERFILE, re.MULTILINE)[-1].split('", "')
    command = [Path(sys.executable).with_name("connector-gateway"), *words[:-1], port]
    process = subprocess.Popen(
        command, cwd=folder, env={"PATH": os.environ["PATH"]} | environment, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: process.poll() is not None or _ready(address), seconds=60)
        yield address
    finally:
        process.terminate()
        assert 0 == process.wait(40)


def _ready(address: str) -> bool:
    try:
        return httpx.get(f"{address}/readyz").status_code == 200
    except httpx.TransportError:
        return False


def test_the_two_gateways_of_the_compose_file_serve_together(
    new_postgres: str, valkey_of_tests: Server, tmp_path: Path
) -> None:
    own = {
        "GATEWAY_DATABASE_URL": new_postgres.replace("+psycopg", ""),
        "GATEWAY_SHARED_URL": valkey_of_tests.url,
    }
    operator = {"Authorization": f"Bearer {SECRETS['GATEWAY_OPERATOR_TOKEN']}"}
    with ExitStack() as stack:
        one, other = (
            stack.enter_context(started(environment_of(name) | own, tmp_path)) for name in ("gateway-1", "gateway-2")
        )
        made = httpx.post(f"{one}/v1/workspaces", headers=operator, json={"name": "made by one"})
        seen = httpx.get(f"{other}/v1/workspaces", headers=operator)
        hidden = httpx.get(f"{other}/metrics")

    assert (200, 401) == (made.status_code, hidden.status_code)
    assert "made by one" in seen.text
    assert [] == list(tmp_path.iterdir())


@pytest.mark.parametrize("service", ["gateway-1", "gateway-2"])
def test_the_settings_of_the_compose_file_can_be_used(service: str) -> None:
    settings = Settings.read(environment_of(service), CONNECTORS)

    assert "valkey://default:pw-of-valkey@valkey:6379/0" == settings.shared_url


def test_the_manifests_name_settings_that_there_are() -> None:
    named = [one.get("data") or one.get("stringData") for one in MANIFESTS if one["kind"] in {"ConfigMap", "Secret"}]
    settings = {name: value for given in named for name, value in (given or {}).items() if name.startswith("GATEWAY_")}
    usable = settings | SECRETS | {"GATEWAY_DATABASE_URL": "postgresql://gateway@postgres/gateway"}
    read = {name: value for name, value in usable.items() if name.startswith("GATEWAY_")}

    assert "https://gateway.example.com" == Settings.read(read, CONNECTORS).base_url


def test_nothing_runs_as_root_or_writes_to_its_own_files() -> None:
    pods = [one["spec"]["template"]["spec"] for one in MANIFESTS if one["kind"] in {"Deployment", "StatefulSet"}]
    containers = [container["securityContext"] for pod in pods for container in pod["containers"]]

    assert [True] * 2 == [pod["securityContext"]["runAsNonRoot"] for pod in pods]
    assert [True] * 2 == [container["readOnlyRootFilesystem"] for container in containers]
    assert [True] * 2 == [COMPOSE["services"][name]["read_only"] for name in ("gateway-1", "gateway-2")]
    assert "\nUSER 10001:10001\n" in CONTAINERFILE


def test_whoever_stops_a_gateway_waits_longer_than_its_calls_may_take() -> None:
    stop = Settings.read(environment_of("gateway-1"), CONNECTORS).stop_seconds + 5
    pod = next(one for one in MANIFESTS if one["kind"] == "Deployment")["spec"]["template"]["spec"]

    assert int(COMPOSE["services"]["gateway-1"]["stop_grace_period"].rstrip("s")) > stop
    assert pod["terminationGracePeriodSeconds"] >= stop + 5
    assert int(re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)[0]) > stop


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    # Program and user need not be on the machine that tests.
    unit = re.sub(r"^ExecStart=\S+", f"ExecStart={sys.executable}", UNIT, flags=re.MULTILINE)
    path = tmp_path / "connector-gateway.service"
    path.write_text(re.sub(r"^(User|Group)=.*", r"\1=daemon", unit, flags=re.MULTILINE), encoding="utf-8")
    told = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, check=False)

    assert (0, "") == (told.returncode, told.stderr)
