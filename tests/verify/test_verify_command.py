"""The command ``verify``: its report, its limits, and what it leaves behind."""

import json
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from connector_gateway.cli import main
from connector_gateway.cli import verify as command
from connector_gateway.verify import account_under_test
from connector_gateway.verify.runner import FactResult, load_checks
from harness.gateway_server import Gateway
from harness.ports import free_port
from harness.requirement import requirement
from verify.places import MAIL, PLACES, vendor


@dataclass(frozen=True)
class Verify:
    """Runs the command."""

    gateway: Gateway

    def run(self, *arguments: str, **settings: str) -> Result:
        environment = {"GATEWAY_URL": self.gateway.base_url, "GATEWAY_API_KEY": self.gateway.key, "COLUMNS": "200"}
        return CliRunner().invoke(main, ["verify", *arguments], env=environment | settings)

    def write(self, connector: str, place: str, *more: str) -> Result:
        return self.run(connector, "--write", "--in", place, *more)


@pytest.fixture
def verify(gateway: Gateway) -> Verify:
    return Verify(gateway)


@pytest.fixture(params=PLACES)
def connector(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(gateway: Gateway, connector: str) -> str:
    """An empty place. The journal is empty too."""
    created = PLACES[connector].create(gateway)
    gateway.sandbox.emulators[connector].context.request_log.clear()
    return created


def contents(gateway: Gateway, connector: str, place: str) -> Any:
    return PLACES[connector].contents(gateway, place)


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
def test_a_report_contains_no_data_of_the_account(
    gateway: Gateway, verify: Verify, connector: str, place: str, tmp_path: Path
) -> None:
    checked = load_checks(connector)
    assert checked
    gateway.knob(connector, lie=checked.all[0].fact)
    result = verify.write(connector, place, "--report", str(tmp_path / "report.json"))
    text = (tmp_path / "report.json").read_text(encoding="utf-8")
    examples = gateway.examples(connector)
    secrets = [*gateway.sandbox.emulators[connector].credentials().values(), *map(str, examples.values()), place]

    assert 1 == result.exit_code
    assert [checked.all[0].fact] == [row["fact"] for row in json.loads(text) if row["result"] == "contradicted"]
    assert [] == [
        secret for secret in [*secrets, gateway.key, "Fernweh", "conn_"] if len(secret) > 3 and secret in text
    ]


def test_a_report_in_a_missing_folder_is_rejected_before_the_checks(
    gateway: Gateway, verify: Verify, tmp_path: Path
) -> None:
    result = verify.run("notes", "--report", str(tmp_path / "missing" / "report.json"))

    assert 2 == result.exit_code
    assert f"The folder {tmp_path / 'missing'} does not exist." in result.stderr
    assert [] == gateway.journal("notes")


@requirement("requests-14")
def test_writes_leave_nothing_behind(gateway: Gateway, verify: Verify, connector: str, place: str) -> None:
    before = contents(gateway, connector, place)
    result = verify.write(connector, place)

    assert 0 == result.exit_code, result.output
    assert "Not removed" not in result.stderr
    assert before == contents(gateway, connector, place)


@requirement("requests-14")
def test_an_interrupt_removes_what_was_created(
    gateway: Gateway, verify: Verify, connector: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(gateway, connector, place)

    def interrupt(result: FactResult) -> None:
        if before != contents(gateway, connector, place):
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(command, "_print_progress", interrupt)
    result = verify.write(connector, place)

    assert 1 == result.exit_code
    assert "Aborted!" in result.output
    assert before == contents(gateway, connector, place)


@requirement("requests-14")
def test_mail_is_sent_only_to_the_mailbox_itself(gateway: Gateway, verify: Verify) -> None:
    verify.write("mail", PLACES["mail"].create(gateway))
    own = vendor(gateway, "mail", "GET", f"{MAIL}/profile")["emailAddress"]
    sent = vendor(gateway, "mail", "GET", f"{MAIL}/messages", labelIds=["SENT", "TRASH"])["messages"]
    found = [vendor(gateway, "mail", "GET", f"{MAIL}/messages/{one['id']}", format="metadata") for one in sent]
    recipients = [one for message in found for one in message["payload"]["headers"] if one["name"] in {"To", "Cc"}]

    assert {own} == {one["value"].strip("<>") for one in recipients}


@requirement("requests-14")
def test_what_cannot_be_removed_is_named(gateway: Gateway, verify: Verify) -> None:
    page = PLACES["notes"].create(gateway)
    gateway.fault("notes", fault="status", status=400, method="PATCH", path="/v1/databases")
    result = verify.write("notes", page)
    (database,) = contents(gateway, "notes", page)

    assert f"Not removed: database {database['id']}." in result.stderr


@requirement("requests-14")
def test_an_object_that_may_have_been_created_is_named(gateway: Gateway, verify: Verify) -> None:
    company = PLACES["crm"].create(gateway)
    gateway.fault("crm", fault="drop_after", method="POST", path="/crm/objects/2026-09/notes")
    result = verify.write("crm", company)

    assert "Not removed: note of unknown outcome." in result.stderr


@requirement("requests-14")
def test_a_place_that_is_not_empty_is_rejected(gateway: Gateway, verify: Verify, connector: str, place: str) -> None:
    PLACES[connector].fill(gateway, place)
    before = contents(gateway, connector, place)
    result = verify.write(connector, place)

    assert 2 == result.exit_code
    assert re.search(r"--in: The \w+ has |The \w+ is not empty", " ".join(result.output.split())), result.output
    assert before == contents(gateway, connector, place)


@requirement("requests-14")
def test_a_place_of_another_kind_is_rejected(gateway: Gateway, verify: Verify, connector: str) -> None:
    result = verify.write(connector, PLACES[connector].foreign(gateway))

    assert 2 == result.exit_code
    assert "--in: It is not a" in " ".join(result.output.split())


@requirement("requests-14")
def test_write_and_in_require_each_other(verify: Verify) -> None:
    assert "It requires --in: the ID of an empty page" in verify.run("notes", "--write").output
    assert "It requires --write." in verify.run("notes", "--in", "page").output


@requirement("requests-16")
def test_a_connection_of_another_connector_is_rejected(gateway: Gateway, verify: Verify, connector: str) -> None:
    other = next(name for name in PLACES if name != connector)
    result = verify.run(connector, "--connection", gateway.connections[other])

    assert 2 == result.exit_code
    assert f"is not a connection of {connector} that the key can use." in result.output
    assert [] == gateway.journal(other)


@requirement("requests-16")
def test_a_revoked_connection_ends_the_checks(gateway: Gateway, verify: Verify, connector: str) -> None:
    gateway.revoke(connector)
    try:
        result = verify.run(connector)
    finally:
        gateway.authorise(connector)

    assert 1 == result.exit_code
    assert "connection_revoked" in result.output
    assert "contradicted" not in result.output


@requirement("requests-16")
def test_a_missing_permission_contradicts_nothing(gateway: Gateway, verify: Verify, connector: str, place: str) -> None:
    PLACES[connector].restrict(gateway)
    result = verify.write(connector, place)

    assert 0 == result.exit_code, result.output
    assert re.search(r"not checkable here\t\t\tThe connection lacks", result.stdout), result.stdout


@requirement("requests-16")
def test_a_key_that_only_reads_contradicts_nothing(gateway: Gateway) -> None:
    result = Verify(gateway.with_key(passthrough=True, scope="read")).run("notes")

    assert 0 == result.exit_code, result.output
    assert "data-source-search\tnot checkable here\t\t\tThe key may only read." in result.stdout


@requirement("requests-16")
def test_a_key_that_only_reads_checks_every_vendor(gateway: Gateway, connector: str) -> None:
    result = Verify(gateway.with_key(passthrough=True, scope="read")).run(connector)

    assert 0 == result.exit_code, result.output
    assert "\tconfirmed" in result.stdout


@requirement("requests-16")
def test_a_vendor_at_its_limit_contradicts_nothing(
    gateway: Gateway, verify: Verify, connector: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_under_test, "MAX_WAIT_SECONDS", 0.0)
    gateway.fault(connector, fault="throttle", times=1000, seconds=3600)
    result = verify.run(connector)

    assert 0 == result.exit_code, result.output
    assert "not checkable here\t\t\tThe vendor's rate limit is reached" in result.stdout
    assert "\tconfirmed" not in result.stdout


@requirement("requests-16")
def test_a_vendor_that_does_not_respond_contradicts_nothing(gateway: Gateway, verify: Verify, connector: str) -> None:
    gateway.fault(connector, fault="drop_before", times=1000)
    result = verify.run(connector)

    assert 0 == result.exit_code, result.output
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


def test_a_connector_without_checks_says_so(verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "load_checks", lambda _: None)
    result = verify.run("tables")

    assert (0, "There are no checks of tables yet.\n") == (result.exit_code, result.output)
