"""Names, titles, texts and keys in tables, JSON, error messages and pipes are printed as plain text."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from connector_gateway.cli import main
from connector_gateway.cli.control_char_escaping import escape_control_chars
from harness.gateway_server import Gateway, run_gateway
from harness.sandbox_server import run_emulators
from harness.terminals import type_in_terminal
from workspace_sandbox import EMULATORS

STORABLE = {
    "markup": "see [/docs] [bold]x[/bold] :smile: <b>&amp;</b>",
    "right to left": "\u202efdp.exe \u2067\u05e9\u05dc\u05d5\u05dd\u2069",
    "a very long word": "x" * 200,
    "tabs and lines": "a\tb\nc",
}
"""Texts that vendors store unchanged."""

HOSTILE = STORABLE | {"controls": "\x1b[31mred\x07\x9b2J", "a title of the window": "\x1b]0;owned\x07"}

each_storable = pytest.mark.parametrize("text", STORABLE.values(), ids=STORABLE)
each_hostile = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with (
        run_emulators(notes=EMULATORS["notes"]) as sandbox,
        run_gateway(sandbox, tmp_path_factory.mktemp("shown")) as gateway,
    ):
        yield gateway


@pytest.fixture
def environment(gateway: Gateway) -> dict[str, str]:
    return {
        "GATEWAY_DATABASE_URL": gateway.app.settings.database_url,
        "GATEWAY_SECRET_KEYS": ",".join(gateway.app.settings.secret_keys),
        "GATEWAY_URL": gateway.base_url,
        "GATEWAY_API_KEY": gateway.key,
        "GATEWAY_NOTES_BASE_URL": gateway.sandbox.emulators["notes"].context.addresses["base"],
        "COLUMNS": "200",
    }


def run(environment: dict[str, str], *command: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, list(command), env=environment, input=stdin)


def create(environment: dict[str, str], *command: str, stdin: str | None = None) -> Any:
    """Return the object that *command* creates."""
    return json.loads(run(environment, *command, "--json", stdin=stdin).stdout)


def find_row(result: Result, identifier: str) -> list[str]:
    """Return the cells of the line that starts with *identifier*."""
    return next(line.split("\t") for line in result.stdout.split("\n") if line.startswith(identifier))


@each_storable
def test_the_name_of_a_key_is_printed_as_text(gateway: Gateway, environment: dict[str, str], text: str) -> None:
    key = create(environment, "keys", "create", str(gateway.workspace_id), "--scope", "read", "--name", text)
    listed = run(environment, "keys", "list")

    assert text == key["name"]
    assert escape_control_chars(text) in find_row(listed, key["key_id"])


@each_storable
def test_the_name_of_a_connection_is_printed_as_text(gateway: Gateway, environment: dict[str, str], text: str) -> None:
    command = ["connections", "create", str(gateway.workspace_id), "notes", "--name", text]
    connection = create(environment, *command, stdin=json.dumps(gateway.sandbox.emulators["notes"].credentials()))
    listed = run(environment, "connections", "list")
    details = run(environment, "connections", "show", connection["connection_id"])

    assert text == connection["name"]
    assert escape_control_chars(text) in find_row(listed, connection["connection_id"])
    assert f"name\t{escape_control_chars(text)}" in details.stdout.split("\n")


@each_storable
def test_the_title_of_a_page_is_printed_as_text(gateway: Gateway, environment: dict[str, str], text: str) -> None:
    example = gateway.examples("notes")
    page = gateway.post("/notes/pages", database_id=example["database_id"], properties={"Name": text}).data
    where = ["--connection", gateway.connections["notes"], "--database-id", example["database_id"]]
    command = ["call", "notes", "search-pages", *where, "--property", "Name", "--value", text]

    result = run(environment, *command)
    envelope = json.loads(run(environment, *command, "--json").stdout)

    assert 0 == result.exit_code
    assert escape_control_chars(text) in result.stdout
    assert (page["page_id"], text) in [(match["page_id"], match["title"]) for match in envelope["data"]["pages"]]


@each_hostile
def test_an_error_about_a_text_escapes_it(gateway: Gateway, environment: dict[str, str], text: str) -> None:
    where = ["--connection", gateway.connections["notes"], "--database-id", text]

    result = run(environment, "call", "notes", "create-page", *where, "--properties", "{}")

    assert 1 == result.exit_code
    assert "invalid_parameters: Parameter database_id is invalid." == result.stderr.split("\n")[0]
    assert escape_control_chars(text)[:100] in result.stderr
    assert result.stderr.replace("\n", "") == escape_control_chars(result.stderr.replace("\n", ""))


@pytest.fixture(scope="module")
def idle_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An installation without a running gateway."""
    return {
        "GATEWAY_DATABASE_URL": f"sqlite:///{tmp_path_factory.mktemp('apart') / 'gateway.db'}",
        "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
    }


@pytest.fixture(scope="module")
def workspaces(idle_environment: dict[str, str]) -> list[str]:
    """Workspaces with names that contain special characters."""
    return [create(idle_environment, "workspaces", "create", text)["workspace_id"] for text in STORABLE.values()]


@pytest.mark.parametrize("columns", [80, 40])
def test_names_contain_no_terminal_commands(
    idle_environment: dict[str, str], workspaces: list[str], columns: int
) -> None:
    ended, lines = type_in_terminal(columns, "workspaces", "list", environment=idle_environment)

    identified = [line.split()[0] for line in lines if line.startswith("ws_")]
    assert 0 == ended
    assert sorted(workspaces) == sorted(identified)
    assert lines == [escape_control_chars(line) for line in lines]


def test_without_a_standard_output_a_command_ends_without_a_traceback(idle_environment: dict[str, str]) -> None:
    command = ["sh", "-c", 'exec "$@" >&-', "sh", sys.executable, "-m", "connector_gateway", "workspaces", "list"]

    ended = subprocess.run(command, env={**os.environ, **idle_environment}, capture_output=True, text=True, check=False)

    assert "Traceback" not in ended.stderr
