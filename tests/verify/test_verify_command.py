"""The command ``verify``: its report, its limits, and what it leaves behind."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from connector_gateway.cli import main
from connector_gateway.cli import verify as command
from connector_gateway.verify.runner import FactResult
from harness.all_connectors import UNTHROTTLED
from harness.gateway_server import Gateway, free_port, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS

SERVED = {name: EMULATORS[name] for name in ("notes", "boards")}


@pytest.fixture(scope="module")
def module_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    connectors = {name: UNTHROTTLED[name] for name in SERVED}
    folder = tmp_path_factory.mktemp("verify")
    with (
        run_emulators(**SERVED) as sandbox,
        run_gateway(
            sandbox,
            folder,
            connectors=connectors,
            GATEWAY_UPSTREAM_TIMEOUT_SECONDS="20",
            GATEWAY_GRACE_SECONDS="5",
        ) as started,
    ):
        yield started.with_key(passthrough=True, calls_per_minute=1_000_000)


@pytest.fixture
def gateway(module_gateway: Gateway) -> Gateway:
    for name in SERVED:
        module_gateway.clear(name)
    return module_gateway


@dataclass(frozen=True)
class Verify:
    """Runs the command."""

    gateway: Gateway

    def run(self, *arguments: str, **settings: str) -> Result:
        environment = {"GATEWAY_URL": self.gateway.base_url, "GATEWAY_API_KEY": self.gateway.key, "COLUMNS": "200"}
        return CliRunner().invoke(main, ["verify", *arguments], env=environment | settings)

    def write(self, place: str, *more: str) -> Result:
        return self.run("notes", "--write", "--in", place, *more)


@pytest.fixture
def verify(gateway: Gateway) -> Verify:
    return Verify(gateway)


def vendor(gateway: Gateway, method: str, path: str, body: Any = None) -> Any:
    values = {"method": method, "path": path} | ({} if body is None else {"body": body})
    return gateway.request("POST", f"/v1/connections/{gateway.connections['notes']}/request", json=values).data["body"]


@pytest.fixture
def page(gateway: Gateway) -> str:
    parent = {"type": "page_id", "page_id": gateway.examples("notes")["page_id"]}
    body = {"parent": parent, "properties": {"title": {"title": [{"text": {"content": "Checks"}}]}}}
    return str(vendor(gateway, "POST", "/v1/pages", body)["id"])


def children(gateway: Gateway, page: str) -> list[Any]:
    results: list[Any] = vendor(gateway, "GET", f"/v1/blocks/{page}/children")["results"]
    return results


@requirement("requests-13")
def test_reads_change_nothing_and_end_with_a_table(gateway: Gateway, verify: Verify) -> None:
    result = verify.run("notes")

    assert 0 == result.exit_code, result.output
    assert "request-ids\tconfirmed" in result.stdout
    assert "minute-times\tnot checkable here\t\t\tIt needs --write." in result.stdout
    assert "request-ids: confirmed" in result.stderr
    assert {"GET", "POST"} == {method for method, _, _ in gateway.journal("notes")}
    assert {"/v1/search"} == {path for method, path, _ in gateway.journal("notes") if method == "POST"}


@requirement("requests-15")
def test_a_report_contains_no_data_of_the_account(gateway: Gateway, verify: Verify, page: str, tmp_path: Path) -> None:
    gateway.knob("notes", lie="minute-times")
    result = verify.write(page, "--report", str(tmp_path / "report.json"))
    text = (tmp_path / "report.json").read_text(encoding="utf-8")
    examples = gateway.examples("notes")
    secrets = [*gateway.sandbox.emulators["notes"].credentials().values(), *map(str, examples.values()), page]

    assert 1 == result.exit_code
    assert ["minute-times"] == [row["fact"] for row in json.loads(text) if row["result"] == "contradicted"]
    assert [] == [secret for secret in [*secrets, gateway.key, "Fernweh", "conn_"] if secret in text]


def test_a_report_in_a_missing_folder_is_rejected_before_the_checks(
    gateway: Gateway, verify: Verify, tmp_path: Path
) -> None:
    result = verify.run("notes", "--report", str(tmp_path / "missing" / "report.json"))

    assert 2 == result.exit_code
    assert f"The folder {tmp_path / 'missing'} does not exist." in result.stderr
    assert [] == gateway.journal("notes")


@requirement("requests-14")
def test_writes_leave_nothing_behind(gateway: Gateway, verify: Verify, page: str) -> None:
    result = verify.write(page)

    assert 0 == result.exit_code, result.output
    assert [] == children(gateway, page)


@requirement("requests-14")
def test_an_interrupt_removes_what_was_created(
    gateway: Gateway, verify: Verify, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(result: FactResult) -> None:
        if result.fact == "minute-times":
            assert 1 == len(children(gateway, page))
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(command, "_print_progress", interrupt)
    result = verify.write(page)

    assert 1 == result.exit_code
    assert "Aborted!" in result.output
    assert [] == children(gateway, page)


@requirement("requests-14")
def test_what_cannot_be_removed_is_named(gateway: Gateway, verify: Verify, page: str) -> None:
    gateway.fault("notes", fault="status", status=400, method="PATCH", path="/v1/databases")
    result = verify.write(page)
    (database,) = children(gateway, page)

    assert f"Not removed: database {database['id']}." in result.stderr


@requirement("requests-14")
def test_a_place_that_is_not_empty_is_rejected(gateway: Gateway, verify: Verify, page: str) -> None:
    block = {"type": "paragraph", "paragraph": {"rich_text": [{"text": {"content": "Ours"}}]}}
    vendor(gateway, "PATCH", f"/v1/blocks/{page}/children", {"children": [block]})
    gateway.clear("notes")
    result = verify.write(page)

    assert 2 == result.exit_code
    assert "The page is not empty." in result.output
    assert {"GET"} == {method for method, _, _ in gateway.journal("notes")}


@requirement("requests-14")
@pytest.mark.parametrize("kind", ["unshared_database_id", "data_source_id"])
def test_a_place_of_another_kind_is_rejected(gateway: Gateway, verify: Verify, kind: str) -> None:
    result = verify.write(gateway.examples("notes")[kind])

    assert 2 == result.exit_code
    assert "It is not a page that is shared with this connection." in result.output


@requirement("requests-14")
def test_write_and_in_require_each_other(verify: Verify, page: str) -> None:
    assert "It requires --in: the ID of an empty page" in verify.run("notes", "--write").output
    assert "It requires --write." in verify.run("notes", "--in", page).output


@requirement("requests-16")
def test_a_connection_of_another_connector_is_rejected(gateway: Gateway, verify: Verify) -> None:
    result = verify.run("notes", "--connection", gateway.connections["boards"])

    assert 2 == result.exit_code
    assert "is not a connection of notes that the key can use." in result.output
    assert [] == gateway.journal("boards")


@requirement("requests-16")
def test_a_revoked_connection_ends_the_checks(gateway: Gateway, verify: Verify) -> None:
    gateway.revoke("notes")
    try:
        result = verify.run("notes")
    finally:
        gateway.authorise("notes")
        vendor(gateway, "GET", "/v1/users/me")

    assert 1 == result.exit_code
    assert "connection_revoked" in result.output
    assert 1 == len({path for _, path, _ in gateway.journal("notes")})


@requirement("requests-16")
def test_a_missing_permission_contradicts_nothing(gateway: Gateway, verify: Verify) -> None:
    gateway.fault("notes", fault="status", status=403, times=100, path="/v1/search", body=FORBIDDEN)
    result = verify.run("notes")

    assert "data-source-search\tnot checkable here\t\t\tThe connection lacks permission." in result.stdout


FORBIDDEN = {"object": "error", "status": 403, "code": "restricted_resource", "message": "Insufficient permissions."}


@requirement("requests-16")
@requirement("requests-16")
def test_a_key_that_only_reads_contradicts_nothing(gateway: Gateway) -> None:
    result = Verify(gateway.with_key(passthrough=True, scope="read")).run("notes")

    assert 0 == result.exit_code, result.output
    assert "data-source-search\tnot checkable here\t\t\tThe key may only read." in result.stdout


def test_a_vendor_at_its_limit_contradicts_nothing(gateway: Gateway, verify: Verify) -> None:
    gateway.fault("notes", fault="throttle", times=1000, seconds=3600)
    result = verify.run("notes")

    assert 0 == result.exit_code
    assert "request-ids\tnot checkable here\t\t\tThe vendor's rate limit is reached" in result.stdout


@requirement("requests-16")
def test_a_vendor_that_does_not_respond_contradicts_nothing(gateway: Gateway, verify: Verify) -> None:
    gateway.fault("notes", fault="drop_before", times=1000)
    result = verify.run("notes")

    assert 0 == result.exit_code
    assert "not checkable here" in result.stdout
    assert "\tconfirmed" not in result.stdout


def test_a_gateway_that_does_not_respond_is_named(verify: Verify) -> None:
    url = f"http://127.0.0.1:{free_port()}"

    assert f"The gateway at {url}" in verify.run("notes", GATEWAY_URL=url).output


def test_a_key_without_passthrough_is_rejected(gateway: Gateway) -> None:
    result = Verify(gateway.with_key()).run("notes")

    assert 1 == result.exit_code
    assert "operation_not_allowed" in result.output


def test_a_dev_installation_needs_no_key(gateway: Gateway, verify: Verify, tmp_path: Path) -> None:
    described = {
        "base_url": gateway.base_url,
        "operator_token": "op_Zr4kT9wQm2XvB7nLc5Yd8HsJ1fGp6EaU",
        "workspace_id": gateway.workspace_id,
        "keys": {"write": "unused"},
        "connections": dict(gateway.connections),
    }
    (tmp_path / "dev.json").write_text(json.dumps(described))
    result = verify.run("notes", "--dev", str(tmp_path / "dev.json"), GATEWAY_URL="", GATEWAY_API_KEY="")
    keys = gateway.operator("GET", "/v1/keys", params={"workspace_id": gateway.workspace_id}).data

    assert 0 == result.exit_code, result.output
    assert [] == [key for key in keys if key["name"] == "verify" and not key["revoked_at"]]


def test_a_connector_without_checks_says_so(verify: Verify) -> None:
    result = verify.run("tables")

    assert (0, "There are no checks of tables yet.\n") == (result.exit_code, result.output)
