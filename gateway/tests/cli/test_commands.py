"""Management, history and operations from the command line, on a real installation."""

import asyncio
import json
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from click.testing import CliRunner, Result

from connector_gateway.cli import main
from connector_gateway.cli.call import call
from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.history.runs import Run
from connector_gateway.core.secrets.rotation import ENCRYPTED_TABLES
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.kit.operation import AnyConnector, AnyOperation
from connector_gateway.management import RESOURCES
from harness.gateway_server import Gateway, run_gateway, settings_for
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox import EMULATORS


@dataclass(frozen=True)
class Shell:
    """Runs commands with the settings in *environment*."""

    environment: dict[str, str]
    columns: int = 200

    def run(self, *command: str, input: str | None = None) -> Result:  # noqa: A002  # click's own name
        environment = {**self.environment, "COLUMNS": str(self.columns)}
        return CliRunner().invoke(main, list(command), env=environment, input=input)

    def json(self, *command: str, input: str | None = None) -> Any:  # noqa: A002
        result = self.run(*command, "--json", input=input)
        assert 0 == result.exit_code, result.output
        return json.loads(result.stdout)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        run_emulators(notes=EMULATORS["notes"], tables=EMULATORS["tables"]) as sandbox,
        run_gateway(sandbox, tmp_path_factory.mktemp("cli")) as gateway,
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
            **settings_for(gateway.sandbox, ("notes", "tables")),
        }
    )


def connected(gateway: Gateway, connector: str) -> tuple[str, str]:
    return "--connection", gateway.connections[connector]


def create_records_command(gateway: Gateway, texts: str) -> list[str]:
    """The command that creates records."""
    example = gateway.examples("tables")
    into = ["--base-id", example["base_id"], "--table", example["table"]]
    return ["call", "tables", "create-records", *connected(gateway, "tables"), *into, "--records", texts]


def operations(connector: AnyConnector) -> dict[str, click.Command]:
    group = call.commands[connector.name]
    assert isinstance(group, click.Group)
    return dict(sorted(group.commands.items()))


def options(command: click.Command) -> list[str]:
    return [name for option in command.params for name in option.opts]


def writes(operation: AnyOperation) -> bool:
    return operation.scope == "write"


@requirement("common-127")
def test_a_key_created_by_command_works_on_the_running_gateway(gateway: Gateway, shell: Shell) -> None:
    workspace = shell.json("workspaces", "create", "Command line", "--plan", "paid")
    key = shell.json(
        "keys",
        "create",
        workspace["workspace_id"],
        *("--scope", "read", "--calls-per-minute", "5"),
        "--mentions",
        "allow",
    )

    reply = gateway.request("GET", "/v1/connections", headers={"Authorization": f"Bearer {key['key']}"})

    assert [] == reply.data
    assert "allow" == key["mentions"]
    assert "4" == reply.headers["x-service-ratelimit-remaining"]


@requirement("limits-7")
def test_a_key_above_the_quota_is_rejected_with_a_remedy(shell: Shell, gateway: Gateway) -> None:
    full = Shell(shell.environment | {"GATEWAY_QUOTA_KEYS": "1"})
    result = full.run("keys", "create", gateway.workspace_id)

    assert 1 == result.exit_code
    assert "quota_exceeded" in result.stderr
    assert "ask the operator to raise GATEWAY_QUOTA_KEYS" in result.stderr


@requirement("common-127")
def test_a_key_revoked_on_the_command_line_is_listed_without_itself(shell: Shell) -> None:
    workspace = shell.json("workspaces", "create", "Revoking")
    key = shell.json("keys", "create", workspace["workspace_id"])

    revoked = shell.json("keys", "revoke", key["key_id"])
    listed = shell.json("keys", "list", "--workspace", workspace["workspace_id"])

    assert revoked["revoked_at"] is not None
    assert "key" not in listed[0]
    assert key["key"][-4:] == listed[0]["ending"]


@requirement("common-127")
def test_a_connection_created_from_standard_input_serves_calls(gateway: Gateway, shell: Shell) -> None:
    credentials = json.dumps(gateway.sandbox.emulators["notes"].credentials())

    created = shell.json("connections", "create", gateway.workspace_id, "notes", "--name", "by hand", input=credentials)
    listed = shell.json("call", "notes", "list-databases", "--connection", created["connection_id"], "--limit", "2")

    assert 2 == len(listed["data"])
    assert "token" not in json.dumps(created)


@requirement("common-127", "connections-14")
def test_credentials_that_the_vendor_rejects_are_not_stored(gateway: Gateway, shell: Shell) -> None:
    command = ["connections", "create", gateway.workspace_id, "notes"]
    rejected = shell.run(*command, input='{"token": "ntn_wrong_token"}')
    unasked = shell.json(*command, "--no-verify", input='{"token": "ntn_wrong_token"}')

    assert (1, True) == (rejected.exit_code, "credentials_refused" in rejected.stderr)
    assert "active" == unasked["status"]


@requirement("common-127", "connections-1", "connections-11", "connections-16")
def test_commands_create_links_and_test_connections(gateway: Gateway, shell: Shell) -> None:
    created = shell.json("connections", "connect", gateway.workspace_id, "notes", "--name", "in the browser")
    again = shell.json("connections", "reconnect", created["connection_id"], "--allow-other-account")
    tested = shell.json("connections", "test", gateway.connections["notes"])

    assert "pending" == created["status"] == again["status"]
    assert created["connect_url"] != again["connect_url"]
    assert ("active", []) == (tested["status"], tested["missing_scopes"])


@requirement("common-127", "connections-5")
def test_return_urls_are_set_by_command(shell: Shell) -> None:
    created = shell.json("workspaces", "create", "Acme", "--return-url", "https://a.test/x")
    changed = shell.json("workspaces", "change", created["workspace_id"], "--return-url", "https://b.test/y")

    assert (["https://a.test/x"], ["https://b.test/y"]) == (created["return_urls"], changed["return_urls"])


def test_a_rejected_call_fails_with_error_and_remedy(gateway: Gateway, shell: Shell) -> None:
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


@requirement("requests-1", "requests-9")
def test_a_request_of_your_own_is_sent_to_the_vendor(gateway: Gateway, shell: Shell) -> None:
    path, named = "/v1/users/me", ["--connection", gateway.connections["notes"]]
    created = shell.json("keys", "create", gateway.workspace_id, "--scope", "read_write", "--passthrough")
    with_key = Shell({**shell.environment, "GATEWAY_API_KEY": created["key"]})
    me = with_key.json("request", "notes", "GET", path, *named)
    dry = with_key.json("request", "notes", "POST", "/v1/pages", *named, "--body", '{"a": 1}', "--dry-run")

    assert (200, "user") == (me["data"]["status"], me["data"]["body"]["object"])
    assert {"a": 1} == dry["data"]["requests"][0]["body"]


@requirement("common-117")
def test_a_rejected_run_is_explained_without_values(gateway: Gateway, shell: Shell) -> None:
    reply = gateway.get("/notes/databases", limit="Sesame")
    explained = shell.run("runs", "show", reply.body["run_id"]).stdout

    assert "422 invalid_parameters (parameter limit)" in explained
    assert "Sesame" not in explained


@requirement("common-117")
def test_a_run_is_printed_as_a_timeline(gateway: Gateway, shell: Shell) -> None:
    reply = gateway.get("/notes/databases", limit=1)

    explained = shell.run("runs", "show", reply.body["run_id"])
    listed = shell.json("runs", "list", "--operation", "list_databases", "--limit", "1")

    assert "POST /v1/search → 200" in explained.stdout
    assert "checked key, limit, scope, parameters and connection" in explained.stdout
    assert reply.body["run_id"] == listed[0]["run_id"]


def test_a_run_without_key_is_explained(gateway: Gateway, shell: Shell) -> None:
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


def test_an_invalid_json_option_is_reported_by_name(shell: Shell) -> None:
    result = shell.run("call", "notes", "create-page", "--database-id", "x", "--properties", "{bad")

    assert 2 == result.exit_code
    assert "Invalid value for '--properties': '{bad' is not JSON: Expecting property name" in result.stderr
    assert "body" not in result.stderr


def test_invalid_connection_settings_are_reported_by_option(shell: Shell) -> None:
    result = shell.run("connections", "change", "conn_1", "--settings", "[1")

    assert 2 == result.exit_code
    assert "Invalid value for '--settings': '[1' is not JSON: " in result.stderr


def test_a_list_option_accepts_plain_words_and_json(gateway: Gateway, shell: Shell) -> None:
    created = shell.json(
        *("call", "notes", "create-page", "--connection", gateway.connections["notes"]),
        *("--database-id", gateway.examples("notes")["database_id"], "--properties", '{"Name": "Items"}'),
        *("--children", "one", "--children", '["two", "three"]'),
    )

    notes = gateway.sandbox.emulators["notes"]
    blocks = httpx.get(
        f"{notes.context.addresses['base']}/v1/blocks/{created['data']['page_id']}/children",
        headers={"Authorization": f"Bearer {notes.credentials()['token']}", "Notion-Version": "2025-09-03"},
    )
    assert ["one", "two", "three"] == [
        block["paragraph"]["rich_text"][0]["plain_text"] for block in blocks.json()["results"]
    ]


def test_an_envelope_is_printed_with_run_and_cursor(gateway: Gateway, shell: Shell) -> None:
    result = shell.run("call", "notes", "list-databases", *connected(gateway, "notes"), "--limit", "1")

    header, row = result.stdout.splitlines()
    assert "database_id\ttitle\tproperties\tlast_edited_at" == header
    assert 4 == len(row.split("\t"))
    assert ["run_id", "next_cursor"] == [line.partition(":")[0] for line in result.stderr.splitlines()]


def test_json_output_is_the_unchanged_envelope(gateway: Gateway, shell: Shell) -> None:
    envelope = shell.json("call", "notes", "list-databases", *connected(gateway, "notes"), "--limit", "1")

    assert ["run_id", "connector", "status", "data", "next_cursor"] == list(envelope)


def test_a_partial_success_has_its_own_exit_status(gateway: Gateway, shell: Shell) -> None:
    result = shell.run(*create_records_command(gateway, '[{"Name": "Acme"}, {"Nom": "Bolt"}]'))

    assert 4 == result.exit_code
    assert "status: partial: some items failed" in result.stderr


def test_a_partial_result_without_successes_is_reported(gateway: Gateway, shell: Shell) -> None:
    result = shell.run(*create_records_command(gateway, '[{"Nam": "Acme"}]'))

    assert 4 == result.exit_code
    assert "status: partial: all items failed\nwarning: Record 0 was not created: " in result.stderr
    assert "'connector-gateway call tables list-tables' returns" in result.stderr


def test_an_error_prints_the_time_to_wait(gateway: Gateway, shell: Shell) -> None:
    key = shell.json("keys", "create", gateway.workspace_id, "--calls-per-minute", "1")["key"]
    slow = Shell(shell.environment | {"GATEWAY_API_KEY": key})
    slow.run("call", "notes", "list-databases", *connected(gateway, "notes"))

    result = slow.run("call", "notes", "list-databases", *connected(gateway, "notes"))

    assert re.search(r"^  retry_after: \d+ s$", result.stderr, re.MULTILINE)


def test_every_unknown_name_has_its_own_suggestion(gateway: Gateway, shell: Shell) -> None:
    page = ("--database-id", gateway.examples("notes")["database_id"], "--properties", '{"Stage": "Opne", "Vlaue": 1}')

    result = shell.run("call", "notes", "create-page", *connected(gateway, "notes"), *page)

    message, stage, value, *_ = result.stderr.splitlines()
    assert message.endswith("Did you mean Open instead of Opne, Value instead of Vlaue?")
    assert stage.startswith("  Stage: Did you mean Open? (value: Opne; allowed: Open, Qualified")
    assert value.startswith("  Vlaue: Did you mean Value? (allowed: Name, Stage")


# The connection of a call


@dataclass(frozen=True)
class Customer:
    """A new workspace, with connections of notes by name."""

    shell: Shell
    connections: dict[str, str]

    def call(self, *options: str) -> Result:
        return self.shell.run("call", "notes", "list-databases", "--limit", "1", *options)

    def last_connection(self) -> str:
        (run,) = self.shell.json("runs", "list", "--limit", "1")
        return str(run["connection_id"])


@pytest.fixture
def customer(gateway: Gateway, shell: Shell) -> Callable[..., Customer]:
    def make(*names: str) -> Customer:
        workspace = shell.json("workspaces", "create", "A customer")["workspace_id"]
        key = shell.json("keys", "create", workspace)["key"]
        credentials = json.dumps(gateway.sandbox.emulators["notes"].credentials())
        connections = {
            name: shell.json("connections", "create", workspace, "notes", "--name", name, input=credentials)
            for name in names
        }
        called = {name: connection["connection_id"] for name, connection in connections.items()}
        return Customer(Shell(shell.environment | {"GATEWAY_API_KEY": key}), called)

    return make


def test_the_only_connection_of_a_connector_is_used(customer: Callable[..., Customer]) -> None:
    one = customer("Team")

    result = one.call()

    assert 0 == result.exit_code, result.stderr
    assert one.connections["Team"] == one.last_connection()


@pytest.mark.parametrize("name", ["Team", "Archive"])
def test_a_connection_is_called_by_its_name(customer: Callable[..., Customer], name: str) -> None:
    two = customer("Team", "Archive")

    result = two.call("--connection", name)

    assert 0 == result.exit_code, result.stderr
    assert two.connections[name] == two.last_connection()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "There are several connections of notes. Select one with --connection:"),
        (
            ["--connection", "Archiv"],
            "There is no connection of notes named 'Archiv'. Did you mean 'Archive'? Available:",
        ),
        (["--connection", "Fernweh Studios"], "There are several connections of notes named 'Fernweh Studios'."),
    ],
    ids=["none", "mistyped", "ambiguous"],
)
def test_several_connections_are_listed_with_names_and_identifiers(
    customer: Callable[..., Customer], options: list[str], message: str
) -> None:
    two = customer("Team", "Archive")

    result = two.call(*options)

    assert 1 == result.exit_code
    assert message in result.stderr
    assert f"  {two.connections['Archive']}  Archive\n  {two.connections['Team']}  Team\n" in result.stderr


def test_a_call_without_a_connection_reports_how_to_create_one(customer: Callable[..., Customer]) -> None:
    result = customer().call()

    assert (
        "There is no connection of notes yet. Create one with 'connector-gateway connections connect'." in result.stderr
    )


def test_every_write_takes_an_idempotency_key(gateway: Gateway, shell: Shell) -> None:
    first = shell.json(*create_records_command(gateway, '[{"Name": "Once"}]'), "--idempotency-key", "once [/b]")
    again = shell.json(*create_records_command(gateway, '[{"Name": "Once"}]'), "--idempotency-key", "once [/b]")
    explained = shell.run("runs", "show", again["run_id"])

    assert first["data"] == again["data"]
    assert f"idempotency key 'once [/b]': The result of {first['run_id']} was returned again" in explained.stdout


@requirement("keys-10")
@pytest.mark.parametrize("json_option", [[], ["--json"]])
def test_a_repeat_with_other_parameters_prints_the_warning(
    gateway: Gateway, shell: Shell, json_option: list[str]
) -> None:
    shell.run(*create_records_command(gateway, '[{"Name": "One"}]'), "--idempotency-key", "one")
    again = shell.run(*create_records_command(gateway, '[{"Name": "Other"}]'), "--idempotency-key", "one", *json_option)
    run = shell.json("runs", "list", "--limit", "1")[0]
    explained = shell.run("runs", "show", run["run_id"])

    assert "warning: This is the result of run_" in again.stderr
    assert "Its parameters differed from those of the first call." in explained.stdout


@pytest.mark.parametrize("connector", CONNECTORS.values(), ids=lambda connector: connector.name)
def test_only_writes_have_the_idempotency_key_option(connector: AnyConnector) -> None:
    with_key = [name for name, command in operations(connector).items() if "--idempotency-key" in options(command)]

    assert with_key == sorted(
        operation.name.replace("_", "-") for operation in connector.operations if writes(operation)
    )


def test_runs_are_listed_by_their_code(gateway: Gateway, shell: Shell) -> None:
    shell.run("call", "notes", "list-databases", *connected(gateway, "notes"), "--cursor", "forged")

    listed = shell.json("runs", "list", "--code", "invalid_cursor", "--connector", "notes")

    assert {"invalid_cursor"} == {run["code"] for run in listed}


def test_timestamps_have_the_format_of_the_service(gateway: Gateway, shell: Shell) -> None:
    workspace = gateway.operator("POST", "/v1/workspaces", json={"name": "of some instant"}).data

    listed = {row["workspace_id"]: row for row in shell.json("workspaces", "list")}
    line = next(
        line for line in shell.run("workspaces", "list").stdout.splitlines() if workspace["workspace_id"] in line
    )

    assert workspace["created_at"] == listed[workspace["workspace_id"]]["created_at"]
    assert workspace["created_at"] == line.split("\t")[3]


def test_a_list_of_runs_continues_from_a_cursor(gateway: Gateway, shell: Shell) -> None:
    run_ids = [gateway.get("/notes/databases", limit=1).body["run_id"] for _ in range(3)]

    first = shell.run("runs", "list", "--limit", "2")
    cursor = first.stderr.removeprefix("next_cursor: ").split()[0]
    second = shell.json("runs", "list", "--limit", "1", "--cursor", cursor)

    assert run_ids[:0:-1] == [line.split("\t")[0] for line in first.stdout.splitlines()[1:]]
    assert run_ids[0] == second[0]["run_id"]


def test_since_accepts_a_time_with_an_offset(shell: Shell) -> None:
    assert [] == shell.json("runs", "list", "--since", "2100-01-01T00:00:00+02:00")


def test_an_invalid_time_is_reported_by_option(shell: Shell) -> None:
    result = shell.run("runs", "list", "--since", "yesterday")

    assert 2 == result.exit_code
    assert "Invalid value for '--since': 'yesterday' is not an ISO 8601 date and time" in result.stderr


def test_runs_are_followed_as_they_end(gateway: Gateway, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Perform a call before each poll."""
    run_ids: list[str] = []

    async def call(_: float) -> None:
        reply = await asyncio.to_thread(gateway.get, "/notes/databases", limit=1)
        run_ids.append(reply.body["run_id"])

    monkeypatch.setattr("connector_gateway.cli.runs.pause", call)
    followed = shell.run("runs", "tail", "--polls", "2")

    assert [f"{run_id}\tok\tnotes list_databases" for run_id in run_ids] == [
        line.rsplit("\t", 2)[0] for line in followed.stdout.splitlines()
    ]


def test_a_url_of_another_service_is_reported_in_one_sentence(gateway: Gateway, shell: Shell) -> None:
    elsewhere = Shell(shell.environment | {"GATEWAY_URL": gateway.sandbox.address})

    result = elsewhere.run("call", "notes", "list-databases", *connected(gateway, "notes"))

    assert 1 == result.exit_code
    url = f"{gateway.sandbox.address}/v1/connectors/notes/databases"
    assert f"Error: {url} did not return a gateway response" in result.stderr


@pytest.mark.parametrize("address", ["nowhere", "http://127.0.0.1:1", "http://[", "ftp://x"])
def test_an_unusable_url_is_reported_in_one_sentence(gateway: Gateway, shell: Shell, address: str) -> None:
    elsewhere = Shell(shell.environment | {"GATEWAY_URL": address})

    result = elsewhere.run("call", "notes", "list-databases", *connected(gateway, "notes"))

    assert (1, SystemExit) == (result.exit_code, type(result.exception))
    assert result.stderr.startswith("Error: ")


@pytest.mark.parametrize("command", [[], ["runs"], ["runs", "list"], ["call", "notes", "create-page"], ["sandbox"]])
def test_every_command_accepts_h_for_help(command: list[str]) -> None:
    assert Shell({}).run(*command, "--help").stdout == Shell({}).run(*command, "-h").stdout


@pytest.mark.parametrize("connector", CONNECTORS.values(), ids=list(CONNECTORS))
def test_help_contains_no_markup(connector: AnyConnector) -> None:
    helps = [Shell({}).run("call", connector.name, name, "-h").stdout for name in operations(connector)]

    assert "``" not in "".join(helps)


@pytest.mark.parametrize("columns", [40, 80])
@pytest.mark.parametrize("command", [["dev"], ["keys", "create"], ["connections", "connect"], ["hooks", "close"]])
def test_help_fits_the_terminal(command: list[str], columns: int) -> None:
    lines = Shell({}, columns).run(*command, "--help").stdout.splitlines()

    assert [] == [line for line in lines if len(line.rstrip()) > columns]


@pytest.mark.parametrize("group", [*RESOURCES, "vault"])
def test_every_option_has_a_description(group: str) -> None:
    command_group = main.get_command(click.Context(main), group)
    assert isinstance(command_group, click.Group)

    declared = [(name, option) for name, command in command_group.commands.items() for option in command.params]
    options = [(name, option) for name, option in declared if isinstance(option, click.Option)]

    assert [] == [(name, option.name) for name, option in options if not option.help]


def test_an_argument_that_is_not_text_is_rejected(shell: Shell) -> None:
    result = shell.run("workspaces", "create", "\udcff")

    assert 2 == result.exit_code
    assert r"The argument '\udcff' is not valid UTF-8." in result.stderr


@pytest.mark.parametrize("name", ["\x1b[31mred\x07", "x" * 201], ids=["controls", "too long"])
def test_commands_reject_the_names_that_http_rejects(gateway: Gateway, shell: Shell, name: str) -> None:
    result = shell.run("workspaces", "create", name, "--json")
    rejected = gateway.operator("POST", "/v1/workspaces", json={"name": name})

    assert 2 == result.exit_code
    assert rejected.body["error"] == json.loads(result.stdout)["error"]


def test_all_missing_parameters_are_named_together(shell: Shell) -> None:
    call = shell.run("call", "tables", "read-records")
    manage = shell.run("webhooks", "create")

    assert (2, 2) == (call.exit_code, manage.exit_code)
    assert "Error: Missing parameters: '--base-id', '--table'.\n" in call.stderr
    assert "Error: Missing parameters: 'WORKSPACE_ID', 'URL'.\n" in manage.stderr


def test_a_command_without_an_installation_reports_how_to_start_one(tmp_path: Path) -> None:
    result = Shell({"GATEWAY_DATABASE_URL": ""}).run("keys", "list", "--data", str(tmp_path / "nothing"))

    assert 1 == result.exit_code
    assert "make run" in result.stderr


def test_serve_names_the_setting_that_is_missing() -> None:
    absent = dict.fromkeys((name for name in os.environ if name.startswith("GATEWAY_")), "")

    result = Shell(absent | {"GATEWAY_DATABASE_URL": "sqlite:///nothing.db"}).run("serve", "--port", "0")

    assert 1 == result.exit_code
    assert "GATEWAY_SECRET_KEYS" in result.stderr


@pytest.mark.parametrize(
    "settings", [{"GATEWAY_WORKERS": "2"}, {"GATEWAY_WROKERS": "2"}], ids=["workers", "a misspelt name"]
)
def test_a_failed_first_start_leaves_no_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]
) -> None:
    monkeypatch.chdir(tmp_path)

    result = Shell(settings).run("serve", "--port", "0")

    assert (True, []) == (result.exit_code > 0, list(tmp_path.iterdir()))


def test_a_mistyped_command_is_reported() -> None:
    assert "Did you mean 'serve'?" in Shell({}).run("srve").stderr


@pytest.mark.parametrize("group", [*RESOURCES, "vault", "call"])
def test_group_help_describes_commands_in_full_sentences(group: str) -> None:
    assert "..." not in Shell({}, 80).run(group, "--help").stdout.partition("Commands:")[2]


def test_an_identifier_of_dots_does_not_change_the_path(gateway: Gateway, shell: Shell) -> None:
    result = shell.run(
        *("call", "tables", "update-record", *connected(gateway, "tables")),
        *("--record-id", "..", "--base-id", "app1", "--table", "t", "--fields", "[]"),
    )

    assert (1, True) == (result.exit_code, "invalid_parameters: Parameters record_id, fields" in result.stderr), (
        result.stderr
    )


def test_an_unreachable_gateway_is_reported_with_reason_and_remedy() -> None:
    nowhere = Shell({"GATEWAY_URL": "http://127.0.0.1:1", "GATEWAY_API_KEY": "k"})

    result = nowhere.run("call", "notes", "list-databases", "--connection", "c")

    assert result.stderr.endswith(
        "does not respond: Connection refused. Start it, or set GATEWAY_URL to the URL of another one.\n"
    )


def test_endless_credentials_are_rejected(shell: Shell, gateway: Gateway) -> None:
    result = shell.run("connections", "create", gateway.workspace_id, "notes", input="0" * 1_000_001)

    assert (2, True) == (result.exit_code, "It has more than 1,000,000 characters." in result.stderr)


def test_every_operation_is_a_command() -> None:
    result = Shell({}).run("call", "notes", "--help")

    assert ["create-page", "list-databases", "read-events", "search-pages", "update-page"] == re.findall(
        r"^  (\S+)", result.stdout.partition("Commands:")[2], re.MULTILINE
    )


# Secrets


def test_the_vault_is_rotated_while_the_gateway_runs(gateway: Gateway, shell: Shell) -> None:
    old = shell.environment["GATEWAY_SECRET_KEYS"]
    rotated = Shell({**shell.environment, "GATEWAY_SECRET_KEYS": f"a newer secret of the tests,{old}"})
    sealed = len(gateway.connections)
    report = rotated.json("vault", "rotate")
    back = Shell({**shell.environment, "GATEWAY_SECRET_KEYS": f"{old},a newer secret of the tests"})
    put_back = back.json("vault", "rotate")

    assert sealed <= report[0]["resealed"] == put_back[0]["resealed"]
    assert [[]] * len(ENCRYPTED_TABLES) == [one["unreadable"] for one in report]
    assert 200 == gateway.get("/notes/databases").status


@requirement("common-127")
def test_a_successful_connection_test_is_reported(gateway: Gateway, shell: Shell) -> None:
    result = shell.run("connections", "test", gateway.connections["notes"])

    assert 0 == result.exit_code, result.stderr
    assert "The connection works: the vendor accepts its credentials.\n" == result.stderr


def test_a_window_for_a_vendor_token_is_opened(shell: Shell) -> None:
    opened = shell.json("hooks", "open", "notes")
    rejected = shell.run("hooks", "open", "chat")

    closed = shell.json("hooks", "close", "notes")

    assert "/hooks/notes/" in opened["url"]
    assert "notes" == closed["connector"]
    assert 1 == rejected.exit_code
    assert "hook_not_found" in rejected.output


@requirement("deliveries-1")
def test_a_webhook_is_managed_from_creation_to_deletion(shell: Shell, gateway: Gateway) -> None:
    workspace, connection = gateway.workspace_id, gateway.connections["notes"]
    created = shell.json("webhooks", "create", workspace, "https://example.com/events", "--type", "page.created")
    webhook = created.pop("secret") and created["webhook_id"]
    listed = shell.json("webhooks", "list", "--workspace", workspace)
    changed = shell.json("webhooks", "change", webhook, "--name", "Ours", "--url", "https://example.org/events")
    widened = shell.json("webhooks", "change", webhook, "--all-types")
    disabled = shell.json("webhooks", "disable", webhook)
    enabled = shell.json("webhooks", "enable", webhook)
    rotated = shell.json("webhooks", "rotate", webhook, "--overlap-seconds", "0")
    replayed = shell.json("webhooks", "replay", webhook, connection, "--since", "2026-01-01T00:00:00Z")
    removed = shell.json("webhooks", "remove", webhook)

    assert [created] == listed
    assert ("Ours", "https://example.org/events") == (changed["name"], changed["url"])
    assert (["page.created"], []) == (changed["types"], widened["types"])
    assert [("disabled", "by_operator"), ("active", None)] == [
        (one["status"], one["reason"]) for one in (disabled, enabled)
    ]
    assert (True, 0, webhook) == (rotated["secret"].startswith("whsec_"), replayed["events"], removed["webhook_id"])
    assert 1 == shell.run("webhooks", "show", webhook).exit_code
    assert 2 == shell.run("webhooks", "replay", webhook, connection, "--since", "soon").exit_code


@pytest.mark.parametrize(
    ("group", "named"),
    [("keys", "key_id"), ("workspaces", "workspace_id"), ("connections", "connection_id")],
)
def test_lists_continue_from_a_cursor(gateway: Gateway, shell: Shell, group: str, named: str) -> None:
    workspace = gateway.operator("POST", "/v1/workspaces", json={"name": "of a page"}).data["workspace_id"]
    gateway.operator("POST", "/v1/keys", json={"workspace_id": workspace, "scope": "read"})
    known = [one[named] for one in shell.json(group, "list", "--limit", "1000")]

    first = shell.run(group, "list", "--limit", "1")
    cursor = first.stderr.removeprefix("next_cursor: ").split()[0]
    rest = shell.json(group, "list", "--limit", "1000", "--cursor", cursor)

    assert known[:1] == [line.split("\t")[0] for line in first.stdout.splitlines()[1:]]
    assert known[1:] == [one[named] for one in rest]
