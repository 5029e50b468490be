"""The installation on which a command works, and its settings file."""

import json
import os
import re
import socket
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.requirement import requirement
from harness.subprocesses import run, start
from harness.wait import wait_until


@dataclass
class Folder:
    """A working folder, and commands that run in it."""

    path: Path
    port: int
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return run(*command, **self._options(environment))

    def json(self, *command: str, **environment: str) -> Any:
        return json.loads(self.run(*command, "--json", **environment).stdout)

    @contextmanager
    def serving(self, *options: str, **environment: str) -> Iterator[list[str]]:
        """Serve in the context. The yielded list contains the output at the end."""
        lines: list[str] = []
        command = ("serve", "--port", str(self.port), *options)
        process = start(*command, **self._options(environment), stderr=subprocess.PIPE, text=True)
        try:
            wait_until(lambda: process.poll() is not None or is_listening(f"{self.base_url}/readyz"))
            yield lines
        finally:
            process.terminate()
            lines += process.communicate(timeout=40)[1].splitlines()

    def _options(self, environment: dict[str, str]) -> dict[str, Any]:
        bare = {name: value for name, value in os.environ.items() if not name.startswith("GATEWAY_")}
        settings = {"GATEWAY_WATCH": "off", **self.environment, **environment}
        return {"cwd": self.path, "env": bare | settings}


def is_listening(url: str) -> bool:
    try:
        return httpx.get(url).is_success
    except httpx.TransportError:
        return False


def status_of_listing(base_url: str, key: str) -> int:
    return httpx.get(f"{base_url}/v1/connections", headers={"Authorization": f"Bearer {key}"}).status_code


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return Folder(tmp_path, probe.getsockname()[1])


def test_the_first_start_in_an_empty_folder_creates_and_reports_its_settings(folder: Folder) -> None:
    with folder.serving() as lines:
        described = httpx.get(f"{folder.base_url}/openapi.json").json()

    settings = folder.path / ".env"
    assert 0o600 == stat.S_IMODE(settings.stat().st_mode)
    assert ["GATEWAY_SECRET_KEYS", "GATEWAY_OPERATOR_TOKEN", "GATEWAY_DATABASE_URL"] == [
        line.partition("=")[0] for line in settings.read_text().splitlines()
    ]
    assert f"an operator token in {settings}, which only you can read" in lines[0]
    assert [
        f"listening    {folder.base_url}",
        f"base URL     {folder.base_url}",
        f"database     sqlite:///{folder.path / 'gateway.db'}",
        "connections  0",
        f"reference    {folder.base_url}/docs",
    ] == lines[1:6]
    assert re.fullmatch(
        rf"console      {folder.base_url}/console/sign-in\?link=\S{{43}}  \(valid once, for ten minutes\)",
        lines[6],
    )
    assert [{"url": folder.base_url}] == described["servers"]


def test_objects_created_by_command_are_served(folder: Folder) -> None:
    with folder.serving():
        workspace = folder.json("workspaces", "create", "Ours")
        key = folder.json("keys", "create", workspace["workspace_id"])["key"]
        status = status_of_listing(folder.base_url, key)

    assert 200 == status


@requirement("administration-21")
def test_links_of_the_start_and_of_the_command_sign_in(folder: Folder) -> None:
    with folder.serving() as lines:
        browser = folder.path / "browser"
        browser.write_text('#!/bin/sh\necho "$1" > opened')
        browser.chmod(0o700)
        printed = folder.run("console", "--url", folder.base_url, BROWSER=f"{browser} %s").stdout.strip()
        entered = httpx.get((folder.path / "opened").read_text().strip(), follow_redirects=True)
    with folder.serving():
        first = httpx.get(lines[6].split()[1], follow_redirects=True)

    assert ["/console"] * 2 == [response.url.path for response in (entered, first)]
    assert (folder.path / "opened").read_text().strip() == printed


@requirement("administration-21")
def test_no_sign_in_link_is_printed_to_a_stored_log(folder: Folder) -> None:
    with folder.serving(GATEWAY_BASE_URL="https://gateway.example") as lines:
        pass

    assert ["console      https://gateway.example/console  (connector-gateway console prints a sign-in link)"] == [
        line for line in lines if "/console" in line
    ]


@requirement("administration-21")
@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "ftp://127.0.0.1", "console"])
def test_no_sign_in_link_is_created_for_an_unreachable_url(folder: Folder, url: str) -> None:
    with folder.serving():
        ended = folder.run("console", "--url", url)

    assert (1, "") == (ended.returncode, ended.stdout)
    assert f"{url} is not an HTTP URL" in ended.stderr or f"Cannot connect to {url}." in ended.stderr


@requirement("administration-22")
def test_a_start_lists_the_steps_to_the_first_call_until_all_are_done(folder: Folder) -> None:
    with folder.serving() as first:
        workspace = folder.json("workspaces", "create", "Ours")
    with folder.serving() as second:
        folder.json("keys", "create", workspace["workspace_id"])

    assert ["[ ] workspace", "[ ] connection", "[ ] key", "[ ] call"] == steps(first)
    assert ["[x] workspace", "[ ] connection", "[ ] key", "[ ] call"] == steps(second)


@requirement("administration-22")
def test_a_call_by_command_reports_the_missing_setting(folder: Folder) -> None:
    with folder.serving() as lines:
        without_url = folder.run("call", "notes", "list-databases")
        without_key = folder.run("call", "notes", "list-databases", GATEWAY_URL=folder.base_url)
    (line,) = [line for line in lines if line.startswith("  [ ] call")]

    assert f"(with GATEWAY_URL={folder.base_url} and the key as GATEWAY_API_KEY)" in line
    assert "No gateway is configured. Start one with 'make run', or set GATEWAY_URL" in without_url.stderr
    assert f"No API key for {folder.base_url} is configured. Set GATEWAY_API_KEY." in without_key.stderr


def steps(lines: list[str]) -> list[str]:
    """Return the listed steps, with whether they are done."""
    return [line[2:].split(" connector-gateway")[0].strip() for line in lines if line.startswith("  [")]


def test_a_second_start_preserves_the_settings_of_the_first(folder: Folder) -> None:
    with folder.serving():
        env_file = (folder.path / ".env").read_text()
        workspace_id = folder.json("workspaces", "create", "Ours")["workspace_id"]
    with folder.serving() as lines:
        listed = folder.json("workspaces", "list")

    assert env_file == (folder.path / ".env").read_text()
    assert [workspace_id] == [workspace["workspace_id"] for workspace in listed]
    assert f"listening    {folder.base_url}" == lines[0]


def test_existing_settings_in_the_file_are_retained_and_applied(folder: Folder) -> None:
    (folder.path / ".env").write_text(
        '# ours\nPOSTGRES_PASSWORD=x y\nexport GATEWAY_BASE_URL="https://gateway.example"'
    )

    with folder.serving() as lines:
        described = httpx.get(f"{folder.base_url}/openapi.json").json()

    assert "POSTGRES_PASSWORD=x y\n" in (folder.path / ".env").read_text()
    assert "base URL     https://gateway.example" in lines
    assert [{"url": "https://gateway.example"}] == described["servers"]


def test_a_settings_file_elsewhere_leads_to_the_same_database(folder: Folder, tmp_path: Path) -> None:
    with folder.serving():
        workspace = folder.json("workspaces", "create", "Ours")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    listed = Folder(elsewhere, 0).json("workspaces", "list", GATEWAY_ENV_FILE=str(tmp_path / ".env"))

    assert [workspace["workspace_id"]] == [row["workspace_id"] for row in listed]


def test_the_environment_takes_precedence_over_the_file(folder: Folder) -> None:
    with folder.serving():
        folder.json("workspaces", "create", "Ours")

    listed = folder.json("workspaces", "list", GATEWAY_DATABASE_URL=f"sqlite:///{folder.path / 'other.db'}")

    assert [] == listed


def test_a_missing_named_file_is_reported(folder: Folder) -> None:
    ended = folder.run("workspaces", "list", GATEWAY_ENV_FILE="nowhere.env")

    assert (1, "") == (ended.returncode, ended.stdout)
    assert "Error: GATEWAY_ENV_FILE is nowhere.env, which does not exist.\n" == ended.stderr


def test_no_secrets_are_created_for_a_database_whose_settings_are_missing(folder: Folder) -> None:
    with folder.serving():
        pass
    (folder.path / ".env").unlink()

    ended = folder.run("serve", "--port", "0")

    assert 1 == ended.returncode
    assert "gateway.db exists, but its settings are missing. Restore .env" in ended.stderr
    assert not (folder.path / ".env").exists()


def test_commands_with_a_secret_of_the_environment_use_its_database(folder: Folder) -> None:
    exported = {
        "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
        "GATEWAY_OPERATOR_TOKEN": "op_Gp6EaUZr4kT9wQm2XvB7nLc5Yd8HsJ1f",
    }
    (folder.path / ".data").mkdir()
    dev = {"secret_key": "Ld3VxQ8pTn5ZrWk2Yc7Hf9sJb4Gm6EaU", "operator_token": "op_Gp6EaUZr4kT9wQm2XvB7nLc5Yd8HsJ1f"}
    (folder.path / ".data" / "secrets.json").write_text(json.dumps(dev))
    with folder.serving(**exported):
        workspace = folder.json("workspaces", "create", "Ours", **exported)
        key = folder.json("keys", "create", workspace["workspace_id"], **exported)["key"]
        status = status_of_listing(folder.base_url, key)

    assert 200 == status
    assert not (folder.path / ".data" / "gateway.db").exists()


def test_serve_uses_the_specified_folder_of_dev(folder: Folder) -> None:
    (folder.path / "mine").mkdir()
    dev = {"secret_key": "Ld3VxQ8pTn5ZrWk2Yc7Hf9sJb4Gm6EaU", "operator_token": "op_Gp6EaUZr4kT9wQm2XvB7nLc5Yd8HsJ1f"}
    (folder.path / "mine" / "secrets.json").write_text(json.dumps(dev))
    with folder.serving("--data", "mine"):
        workspace = folder.json("workspaces", "create", "Ours", "--data", "mine")
        key = folder.json("keys", "create", workspace["workspace_id"], "--data", "mine")["key"]
        status = status_of_listing(folder.base_url, key)

    assert 200 == status


def test_the_chosen_one_of_two_installations_is_reported(folder: Folder) -> None:
    with folder.serving():
        workspace = folder.json("workspaces", "create", "Ours")
    (folder.path / ".data").mkdir()
    dev = {"secret_key": "Ld3VxQ8pTn5ZrWk2Yc7Hf9sJb4Gm6EaU", "operator_token": "op_Gp6EaUZr4kT9wQm2XvB7nLc5Yd8HsJ1f"}
    (folder.path / ".data" / "secrets.json").write_text(json.dumps(dev))

    listed = folder.run("workspaces", "list")

    assert workspace["workspace_id"] in listed.stdout
    assert "installation: that in .env. Use --data .data for that of dev\n" == listed.stderr
