"""Hardening in the deployment files: privileges, networks, and pinned contents."""

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import make_url

from deploy.manifests import MANIFEST_SETTINGS, MANIFESTS, PODS, UNIT
from deploy.processes import COMPOSE, CONTAINERFILE, DEPLOY
from harness.requirement import requirement

ROOT = DEPLOY.parent
SERVICES: Mapping[str, dict[str, Any]] = COMPOSE["services"]
OURS = ("gateway-1", "gateway-2", "balancer")
"""The services that never write to their file systems."""

LOCKS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "requirements").glob("*.txt")}
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)
POLICIES = {name: one["spec"] for (kind, name), one in MANIFESTS.items() if kind == "NetworkPolicy"}
INSIDE = ("10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200", "127.0.0.1", "fd00:ec2::254")
SYSTEMD = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed here")


@requirement("deployment-11")
@pytest.mark.parametrize("name", PODS)
def test_pods_have_no_privileges(name: str) -> None:
    pod = PODS[name]

    assert (False, True) == (pod["automountServiceAccountToken"], pod["securityContext"]["runAsNonRoot"])
    assert {"type": "RuntimeDefault"} == pod["securityContext"]["seccompProfile"]
    for container in pod["containers"]:
        rights = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
        assert rights == container["securityContext"]
        assert {"memory", "ephemeral-storage"} == container["resources"]["limits"].keys()


@requirement("deployment-11")
@pytest.mark.parametrize("name", SERVICES)
def test_containers_gain_no_privileges_and_dump_no_core(name: str) -> None:
    service = SERVICES[name]

    assert (["no-new-privileges:true"], 0) == (service["security_opt"], service["ulimits"]["core"])


@requirement("deployment-11")
@pytest.mark.parametrize("name", OURS)
def test_stateless_containers_have_no_capabilities(name: str) -> None:
    assert (True, ["ALL"]) == (SERVICES[name]["read_only"], SERVICES[name]["cap_drop"])


@requirement("deployment-11")
def test_the_image_runs_as_an_unprivileged_user() -> None:
    assert "\nUSER 10001:10001\n" in CONTAINERFILE


@requirement("deployment-10")
def test_ports_are_published_on_loopback_and_stores_have_no_way_out() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", [])]

    assert ["127.0.0.1:8080:8080", "127.0.0.1:8081:8081"] == published
    assert {"internal": True} == COMPOSE["networks"]["stores"]
    assert [["stores"], ["stores"], ["front"]] == [
        SERVICES[one]["networks"] for one in ("postgres", "valkey", "balancer")
    ]


@requirement("deployment-10")
def test_every_pod_has_a_policy_for_both_directions() -> None:
    selected = [one["podSelector"]["matchLabels"]["app.kubernetes.io/name"] for one in POLICIES.values()]

    assert sorted(PODS) == sorted(selected)
    assert [["Ingress", "Egress"]] * len(PODS) == [one["policyTypes"] for one in POLICIES.values()]


@requirement("deployment-10")
@pytest.mark.parametrize("address", INSIDE)
def test_no_policy_allows_gateways_to_reach_internal_addresses(address: str) -> None:
    blocks = [to["ipBlock"] for rule in POLICIES["connector-gateway"]["egress"] for to in rule["to"] if "ipBlock" in to]

    assert 2 == len(blocks)
    assert [] == [one for one in blocks if reaches(one, address)]


def reaches(block: Mapping[str, Any], address: str) -> bool:
    ip = ip_address(address)
    return ip in ip_network(block["cidr"]) and not any(ip in ip_network(one) for one in block.get("except", []))


@requirement("deployment-10")
def test_the_admin_port_is_closed_to_the_ingress() -> None:
    rules = POLICIES["connector-gateway"]["ingress"]

    assert [["ingress-nginx"], ["operators", "monitoring"]] == [
        [one["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"] for one in rule["from"]]
        for rule in rules
    ]
    assert [[{"port": "http"}], [{"port": "admin"}]] == [rule["ports"] for rule in rules]


@requirement("deployment-15")
def test_stores_are_reached_over_tls() -> None:
    (valkey,) = PODS["valkey"]["containers"]

    assert {"sslmode": "verify-full", "sslrootcert": "/run/trusted/ca.crt"} == dict(
        make_url(MANIFEST_SETTINGS["GATEWAY_DATABASE_URL"]).query
    )
    assert MANIFEST_SETTINGS["GATEWAY_SHARED_URL"].startswith("rediss://")
    assert "--port 0 --tls-port 6379" in valkey["args"][0]


@requirement("deployment-12")
def test_images_are_pinned_by_digest() -> None:
    images = [container["image"] for pod in PODS.values() for container in pod["containers"]]
    named = [one["image"] for name, one in SERVICES.items() if not name.startswith("gateway-")]
    bases = re.findall(r"^FROM (\S+)", CONTAINERFILE, re.MULTILINE)
    example = (DEPLOY / "secrets.env.example").read_text(encoding="utf-8")

    assert [] == [image for image in images if not re.search(r"@sha256:[0-9a-f]{64}$", image)]
    assert ["${NGINX_IMAGE:?}", "${POSTGRES_IMAGE:?}", "${VALKEY_IMAGE:?}"] == named
    assert ["${PYTHON_IMAGE}"] * 2 == bases
    assert "\nARG PYTHON_IMAGE\nFROM" in CONTAINERFILE
    assert [] == [name for name in re.findall(r"[A-Z]+_IMAGE", str(COMPOSE)) if f"\n{name}=\n" not in example]


@requirement("deployment-13")
def test_every_extra_is_locked_with_its_base() -> None:
    project = tomllib.loads((ROOT / "gateway" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    run = dict(PINNED.findall(LOCKS["run"]))

    extras = project["optional-dependencies"]
    assert ["workspace-sandbox"] == extras.pop("sandbox")
    for extra, requirements in extras.items():
        locked = dict(PINNED.findall(LOCKS[extra]))
        assert run.items() <= locked.items()
        assert {re.split("[<>=]", one)[0] for one in requirements} <= locked.keys()


@requirement("deployment-13")
@pytest.mark.parametrize("name", LOCKS)
def test_locks_have_a_hash_per_package_and_name_no_index(name: str) -> None:
    stanzas = re.split(r"^(?=[A-Za-z0-9])", LOCKS[name], flags=re.MULTILINE)

    assert [] == [one for one in stanzas if one.strip() and "--hash=sha256:" not in one]
    assert re.search(r"https?://|--(extra-)?index-url|--find-links", LOCKS[name]) is None


@SYSTEMD
@requirement("deployment-11")
def test_systemd_rates_the_service_as_hardened() -> None:
    unit = str(DEPLOY / "connector-gateway.service")
    command = ["systemd-analyze", "security", "--offline=true", "--threshold=15", unit]
    result = subprocess.run(command, capture_output=True, text=True, check=False)

    # The exposure is out of ten; the threshold is in tenths.
    assert 0 == result.returncode, result.stdout[-400:]
    assert "\nLimitCORE=0\n" in UNIT


@SYSTEMD
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    # Program and user need not exist on the testing machine.
    unit = re.sub(r"^ExecStart=\S+", f"ExecStart={sys.executable}", UNIT, flags=re.MULTILINE)
    path = tmp_path / "connector-gateway.service"
    path.write_text(re.sub(r"^(User|Group)=.*", r"\1=daemon", unit, flags=re.MULTILINE), encoding="utf-8")
    result = subprocess.run(["systemd-analyze", "verify", path], capture_output=True, text=True, check=False)

    assert (0, "") == (result.returncode, result.stderr)
