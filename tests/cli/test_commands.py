"""Management, history and operations from the command line, on a real installation."""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from connector_gateway.cli import main
from connector_gateway.core.runs import Run
from connector_gateway.kit.identifiers import WorkspaceId
from harness.playing import playing
from harness.requirement import requirement
from harness.serving import Gateway, serving
from workspace_sandbox import EMULATORS


@dataclass(frozen=True)
class Shell:
    """Runs commands as a user of the installation in *environment* does."""

    environment: dict[str, str]

    def run(self, *command: str, input: str | None = None) -> Result:  # noqa: A002  # click's own name
        return CliRunner().invoke(main, list(command), env={**self.environment, "COLUMNS": "200"}, input=input)

    def json(self, *command: str, input: str | None = None) -> Any:  # noqa: A002
        result = self.run(*command, "--json", input=input)
        assert 0 == result.exit_code, result.output
        return json.loads(result.stdout)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        playing(notes=EMULATORS["notes"]) as sandbox,
        serving(sandbox, tmp_path_factory.mktemp("cli")) as gateway,
    ):
        gateway.clear("notes")
        yield gateway


@pytest.fixture
def shell(gateway: Gateway) -> Shell:
    return Shell(
        {
            "GATEWAY_DATABASE_URL": gateway.app.settings.database_url,
            "GATEWAY_SECRET_KEYS": ",".join(gateway.app.settings.secret_keys),
            "GATEWAY_URL": gateway.base_url,
            "GATEWAY_API_KEY": gateway.key,
        }
    )


@requirement("management:cli")
def test_a_key_made_on_the_command_line_opens_the_running_gateway(gateway: Gateway, shell: Shell) -> None:
    workspace = shell.json("workspaces", "create", "Command line", "--plan", "paid")
    key = shell.json("keys", "create", workspace["workspace_id"], "--scope", "read", "--calls-per-minute", "5")

    reply = gateway.request("GET", "/v1/connections", headers={"Authorization": f"Bearer {key['key']}"})

    assert [] == reply.data
    assert "5" == reply.headers["x-service-ratelimit-remaining"]


@requirement("management:cli")
def test_a_key_revoked_on_the_command_line_is_listed_without_itself(shell: Shell) -> None:
    workspace = shell.json("workspaces", "create", "Revoking")
    key = shell.json("keys", "create", workspace["workspace_id"])

    revoked = shell.json("keys", "revoke", key["key_id"])
    listed = shell.json("keys", "list", "--workspace", workspace["workspace_id"])

    assert revoked["revoked_at"] is not None
    assert "key" not in listed[0]
    assert key["key"][-4:] == listed[0]["ending"]


@requirement("management:cli")
def test_a_connection_made_with_credentials_from_standard_input_carries_calls(gateway: Gateway, shell: Shell) -> None:
    credentials = json.dumps(gateway.sandbox.emulators["notes"].credentials())

    made = shell.json("connections", "create", gateway.workspace_id, "notes", "--name", "by hand", input=credentials)
    listed = shell.json("call", "notes", "list-databases", "--connection", made["connection_id"], "--limit", "2")

    assert 2 == len(listed["data"])
    assert "token" not in json.dumps(made)


def test_credentials_that_lack_a_secret_are_refused_by_name(gateway: Gateway, shell: Shell) -> None:
    result = shell.run("connections", "create", gateway.workspace_id, "notes", input='{"password": "x"}')

    assert 1 == result.exit_code
    assert "credentials.token" in result.stderr


def test_a_refused_call_ends_with_an_error_and_says_what_to_do(gateway: Gateway, shell: Shell) -> None:
    result = shell.run("call", "notes", "list-databases", "--connection", "conn_nowhere")

    assert 1 == result.exit_code
    assert "connection_not_found" in result.stderr
    assert "→" in result.stderr


def test_an_operation_takes_lists_and_objects_as_json(gateway: Gateway, shell: Shell) -> None:
    created = shell.json(
        *("call", "notes", "create-page", "--connection", gateway.connections["notes"]),
        *("--database-id", gateway.examples("notes")["database_id"]),
        *("--properties", '{"Name": "From the shell", "Value": 1.5}', "--children", '["Hello"]'),
    )

    assert 2 == created["data"]["properties_written"]


@requirement("runs:cli")
def test_a_run_is_explained_as_a_time_line(gateway: Gateway, shell: Shell) -> None:
    reply = gateway.get("/notes/databases", limit=1)

    explained = shell.run("runs", "show", reply.body["run_id"])
    listed = shell.json("runs", "list", "--operation", "list_databases", "--limit", "1")

    assert "POST /v1/search → 200" in explained.stdout
    assert "checked key, limit, scope, parameters and connection" in explained.stdout
    assert reply.body["run_id"] == listed[0]["run_id"]


def test_a_run_that_no_key_asked_for_is_explained_without_one(gateway: Gateway, shell: Shell) -> None:
    run = Run("http")

    async def record() -> None:
        async with gateway.app.runs.record(
            run, WorkspaceId(gateway.workspace_id), "mail", "download", connection_id="conn_1"
        ):
            run.succeed("ok")

    gateway.run(record())
    explained = shell.run("runs", "show", run.run_id).stdout

    assert "http, without a key, " in explained
    assert "checked connection" in explained


def test_an_unknown_run_is_an_error(shell: Shell) -> None:
    result = shell.run("runs", "show", "run_nowhere")

    assert 1 == result.exit_code
    assert "run_not_found" in result.stderr


def test_without_an_installation_a_command_says_how_to_get_one(tmp_path: Path) -> None:
    result = Shell({"GATEWAY_DATABASE_URL": ""}).run("keys", "list", "--data", str(tmp_path / "nothing"))

    assert 1 == result.exit_code
    assert "make run" in result.stderr


def test_serve_names_the_setting_that_is_missing() -> None:
    absent = dict.fromkeys((name for name in os.environ if name.startswith("GATEWAY_")), "")

    result = Shell(absent).run("serve")

    assert 1 == result.exit_code
    assert "GATEWAY_SECRET_KEYS" in result.stderr


def test_serve_refuses_several_workers_that_cannot_share_their_counts() -> None:
    environment = {
        "GATEWAY_SECRET_KEYS": "a secret that is long enough",
        "GATEWAY_OPERATOR_TOKEN": "op",
        "GATEWAY_WORKERS": "4",
    }

    result = Shell(environment).run("serve")

    assert 1 == result.exit_code
    assert "budgets" in result.stderr


def test_every_operation_is_a_command() -> None:
    result = Shell({}).run("call", "notes", "--help")

    assert ["create-page", "list-databases", "read-events", "search-pages", "update-page"] == [
        line.split()[0] for line in result.stdout.partition("Commands:")[2].splitlines() if line.strip()
    ]
