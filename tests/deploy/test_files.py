"""The deployment files: their contents, and the gateways of the compose file as processes."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from connector_gateway.connectors import CONNECTORS
from connector_gateway.settings import Settings
from deploy.deployment import Deployment
from deploy.manifests import CONFIGURED, MANIFEST_SETTINGS, PODS, UNIT
from deploy.processes import COMPOSE, DEPLOY, Gateway, balancer, environment_of, gateways, nginx_program
from harness.gateway_server import settings_for
from harness.ports import free_port
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.steady_callers import under_load
from harness.valkey import Server
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator

SECRETS = {
    "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
    "GATEWAY_OPERATOR_TOKEN": "op_Zr4kT9wQm2XvB7nLc5Yd8HsJ1fGp6EaU",
    "GATEWAY_METRICS_TOKEN": "mt_c4e81b7f20a95d3682f1e6b90d7a43c5",
    "POSTGRES_PASSWORD": "pw-of-postgres",
    "VALKEY_PASSWORD": "pw-of-valkey",
}


@pytest.fixture(scope="module")
def deployment(
    common_postgres: str, valkey_of_tests: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    folder, logs = tmp_path_factory.mktemp("deployment"), tmp_path_factory.mktemp("logs")
    with run_emulators(notes=NotesEmulator) as sandbox:
        sandbox.emulators["notes"].context.knobs["limits"] = False
        own = {
            "GATEWAY_DATABASE_URL": common_postgres.replace("+psycopg", ""),
            "GATEWAY_SHARED_URL": valkey_of_tests.url,
            # Calls can wait for a reservation, so that the speed of the machine has no effect.
            "GATEWAY_NOTES_BUDGET": "10/1",
        }
        with gateways(folder, logs, SECRETS, **own, **settings_for(sandbox, ["notes"])) as both:
            deployed = Deployment(both, sandbox, folder, SECRETS["GATEWAY_OPERATOR_TOKEN"])
            deployed.prepare()
            yield deployed


def test_the_two_gateways_of_the_compose_file_serve_together(deployment: Deployment) -> None:
    seen = deployment.manage(1, "GET", "/v1/workspaces")
    hidden = [httpx.get(f"{address}/metrics") for address in urls_of(deployment.gateways[1])]

    assert ["tests"] == [one["name"] for one in seen]
    assert [404, 401] == [one.status_code for one in hidden]
    assert [] == list(deployment.folder.iterdir())


def urls_of(gateway: Gateway) -> tuple[str, str]:
    return gateway.address, gateway.admin_address


@requirement("common-218")
@pytest.mark.parametrize("kind", ["like nginx", "nginx"])
def test_a_rolling_restart_behind_a_balancer_fails_no_call(kind: str, deployment: Deployment, tmp_path: Path) -> None:
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
    """Return the program of nginx, or None for the balancer of the tests."""
    if kind != "nginx":
        return None
    program = nginx_program()
    if program is None:
        pytest.skip("there is no nginx here; Debian's is enough: apt-get install nginx-light")
    return program


@pytest.mark.parametrize("service", ["gateway-1", "gateway-2"])
def test_the_compose_file_has_valid_settings(service: str) -> None:
    settings = Settings.read(environment_of(service, SECRETS), CONNECTORS)

    assert "valkey://default:pw-of-valkey@valkey:6379/0" == settings.shared_url


def test_the_manifests_name_existing_settings(tmp_path: Path) -> None:
    trusted = tmp_path / "ca.crt"
    trusted.touch()
    variables = {
        **CONFIGURED,
        **{name: value.replace("/run/trusted/ca.crt", str(trusted)) for name, value in MANIFEST_SETTINGS.items()},
    }
    settings = Settings.read(
        variables | {name: value for name, value in SECRETS.items() if name in variables}, CONNECTORS
    )

    assert ("https://gateway.example.com", 8081) == (settings.base_url, settings.admin_port)
    assert settings.shareable


@pytest.mark.parametrize("containerfile", ["deploy/Containerfile", "sandbox/Containerfile"])
def test_the_build_context_has_every_copied_folder(containerfile: str) -> None:
    project = DEPLOY.parent
    copied = re.findall(r"^COPY ([^-\s]\S*) ", (project / containerfile).read_text(encoding="utf-8"), re.MULTILINE)
    context = re.findall(r"^!(\S+)$", (project / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)

    assert copied
    assert {*copied} <= {*context}
    # A link that leads out of a copied folder would dangle in the image.
    assert [] == [path for folder in copied for path in (project / folder).glob("*") if path.is_symlink()]


def test_stop_timeouts_exceed_the_longest_call() -> None:
    pod = PODS["connector-gateway"]
    retire = CONFIGURED["GATEWAY_RETIRE_SECONDS"]
    settings = Settings.read(environment_of("gateway-1", SECRETS) | {"GATEWAY_RETIRE_SECONDS": retire}, CONNECTORS)
    stop = settings.retire_seconds + settings.stop_seconds + 5

    assert int(COMPOSE["services"]["gateway-1"]["stop_grace_period"].rstrip("s")) > stop
    assert pod["terminationGracePeriodSeconds"] > stop
    assert int(re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)[0]) > stop
