"""The files that run the gateway elsewhere: read here, and the compose file's gateways started as processes."""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from connector_gateway.connectors import CONNECTORS
from connector_gateway.settings import Settings
from deploy.deployment import Deployment
from deploy.processes import COMPOSE, CONTAINERFILE, DEPLOY, Gateway, balancer, environment_of, gateways, nginx_program
from harness.loading import under_load
from harness.playing import playing
from harness.requirement import requirement
from harness.serving import free_port, settings_for
from harness.valkey import Server
from harness.waiting import wait_until
from workspace_sandbox.notes import NotesEmulator

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


@pytest.fixture(scope="module")
def deployment(
    common_postgres: str, valkey_of_tests: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    folder, logs = tmp_path_factory.mktemp("deployment"), tmp_path_factory.mktemp("logs")
    with playing(notes=NotesEmulator) as sandbox:
        sandbox.emulators["notes"].stage.knobs["limits"] = False
        own = {
            "GATEWAY_DATABASE_URL": common_postgres.replace("+psycopg", ""),
            "GATEWAY_SHARED_URL": valkey_of_tests.url,
            # So that calls wait for their turn, and the machine is not what is tried.
            "GATEWAY_NOTES_BUDGET": "10/1",
        }
        with gateways(folder, logs, SECRETS, **own, **settings_for(sandbox, ["notes"])) as both:
            made = Deployment(both, sandbox, folder, SECRETS["GATEWAY_OPERATOR_TOKEN"])
            made.prepare()
            yield made


def test_the_two_gateways_of_the_compose_file_serve_together(deployment: Deployment) -> None:
    seen = deployment.manage(1, "GET", "/v1/workspaces")
    hidden = [httpx.get(f"{address}/metrics") for address in told_by(deployment.gateways[1])]

    assert ["tests"] == [one["name"] for one in seen]
    assert [404, 401] == [one.status_code for one in hidden]
    assert [] == list(deployment.folder.iterdir())


def told_by(gateway: Gateway) -> tuple[str, str]:
    return gateway.address, gateway.admin_address


@requirement("stopping:retiring")
@pytest.mark.parametrize("kind", ["like nginx", "nginx"])
def test_gateways_behind_a_balancer_are_replaced_in_turn_without_a_failed_call(
    kind: str, deployment: Deployment, tmp_path: Path
) -> None:
    program = program_of(kind)
    port = free_port()
    load = deployment.key, deployment.connection_id, deployment.database_id
    with (
        balancer(deployment.gateways, port, tmp_path, program),
        under_load(f"http://127.0.0.1:{port}", *load) as statuses,
    ):
        wait_until(lambda: len(statuses) >= 10)
        ended = [deployment.replace(0), deployment.replace(1)]
        seen = len(statuses)
        wait_until(lambda: len(statuses) >= seen + 10)

    assert [0, 0] == ended
    assert {200} == set(statuses)


def program_of(kind: str) -> str | None:
    """The program of nginx; none for the balancer that the tests bring."""
    if kind != "nginx":
        return None
    program = nginx_program()
    if program is None:
        pytest.skip("there is no nginx here; Debian's is enough: apt-get install nginx-light")
    return program


@pytest.mark.parametrize("service", ["gateway-1", "gateway-2"])
def test_the_settings_of_the_compose_file_can_be_used(service: str) -> None:
    settings = Settings.read(environment_of(service, SECRETS), CONNECTORS)

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
    pod = next(one for one in MANIFESTS if one["kind"] == "Deployment")["spec"]["template"]["spec"]
    retire = next(one for one in MANIFESTS if one["kind"] == "ConfigMap")["data"]["GATEWAY_RETIRE_SECONDS"]
    settings = Settings.read(environment_of("gateway-1", SECRETS) | {"GATEWAY_RETIRE_SECONDS": retire}, CONNECTORS)
    stop = settings.retire_seconds + settings.stop_seconds + 5

    assert int(COMPOSE["services"]["gateway-1"]["stop_grace_period"].rstrip("s")) > stop
    assert pod["terminationGracePeriodSeconds"] > stop
    assert int(re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)[0]) > stop


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    # Program and user need not be on the machine that tests.
    unit = re.sub(r"^ExecStart=\S+", f"ExecStart={sys.executable}", UNIT, flags=re.MULTILINE)
    path = tmp_path / "connector-gateway.service"
    path.write_text(re.sub(r"^(User|Group)=.*", r"\1=daemon", unit, flags=re.MULTILINE), encoding="utf-8")
    told = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, check=False)

    assert (0, "") == (told.returncode, told.stderr)
