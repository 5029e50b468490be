"""The access log: a line for every response if enabled, without confidential data."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from harness.gateway_server import Gateway, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator

RUN_ID = "run_01M86P911N1YK5KPPZG9ZXRPV3"


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_gateway(sandbox, tmp_path, GATEWAY_ACCESS_LOG="on") as gateway,
    ):
        yield gateway


def read_output(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Wait for output, and return its lines since the last call."""
    lines: list[str] = []

    def has_lines() -> bool:
        lines.extend(capsys.readouterr().out.splitlines())
        return bool(lines)

    wait_until(has_lines)
    return lines


def read_access_log(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    """Wait for lines of the access log, and return those since the last call."""
    logged: list[dict[str, Any]] = []

    def has_lines() -> bool:
        entries = map(json.loads, capsys.readouterr().out.splitlines())
        logged.extend(line for line in entries if line["event"] == "answered")
        return bool(logged)

    wait_until(has_lines)
    return logged


@requirement("common-151")
def test_a_response_is_logged_with_its_run_and_without_its_query(
    gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    reply = gateway.get("/notes/databases", limit=1)
    (line,) = read_access_log(capsys)

    assert reply.body["run_id"] == line["run_id"]
    assert ("GET", "/v1/connectors/notes/databases", 200) == (line["method"], line["path"], line["status"])
    assert ("info", "127.0.0.1", True) == (line["level"], line["client"], line["complete"])
    assert 0 < line["duration_ms"] < 60_000


@pytest.mark.parametrize(
    ("path", "logged"),
    [
        ("/v1/downloads/a-token-of-somebody", "/v1/downloads/…"),
        ("/hooks/notes/what-cannot-be-guessed", "/hooks/notes/…"),
        ("/hooks/notes", "/hooks/notes"),
        (f"/v1/runs/{RUN_ID}", f"/v1/runs/{RUN_ID}"),
        # Similar paths
        ("//connect/what-cannot-be-guessed", "//connect/…"),
        ("/connect//what-cannot-be-guessed", "/connect//…"),
        ("/Connect/what-cannot-be-guessed", "/…/…"),
        ("/connect/notes/callback/what-cannot-be-guessed", "/connect/notes/callback/…"),
        ("/connect/what-cannot-be-guessed/callback", "/connect/…/callback"),
        ("/v1/hooks/what-cannot-be-guessed", "/v1/hooks/…"),
        ("/hooks/what-cannot-be-guessed", "/hooks/…"),
        ("/v1/downloads/a-token/of-somebody/", "/v1/downloads/…/…/"),
        ("/v1/download/a-token-of-somebody", "/v1/…/…"),
        ("/what-cannot-be-guessed", "/…"),
        (f"/v1{'/runs' * 100}", f"/v1{'/runs' * 39}/…"),
    ],
)
@requirement("common-151", "secrets-6")
def test_possible_tokens_in_paths_are_not_logged(
    gateway: Gateway, capsys: pytest.CaptureFixture[str], path: str, logged: str
) -> None:
    gateway.request("GET", path)
    (line,) = read_access_log(capsys)

    assert logged == line["path"]


@pytest.mark.parametrize("text", ["<b>[docs]", "\x1b[31mred\x07\x9b2J", "a\nb", "\u202efdp.exe", "x" * 150])
@requirement("common-151")
def test_any_path_is_logged_on_one_line_of_ascii(
    gateway: Gateway, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    gateway.request("GET", f"/{quote(text)}")
    lines = read_output(capsys)

    assert ["/…"] == [json.loads(line)["path"] for line in lines]
    assert all(line.isascii() and line.isprintable() for line in lines)


@requirement("common-151")
def test_rejected_requests_are_logged_too(gateway: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    reply = gateway.request("GET", "/v1/connectors/notes/databases", headers={"Authorization": "Bearer nobody"})
    (line,) = read_access_log(capsys)

    assert (401, reply.body["run_id"]) == (line["status"], line["run_id"])


@requirement("common-151")
def test_the_access_log_is_off_by_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with run_emulators(notes=NotesEmulator) as sandbox, run_gateway(sandbox, tmp_path) as gateway:
        gateway.get("/notes/databases", limit=1)

    assert '"answered"' not in capsys.readouterr().out


@requirement("limits-5")
def test_behind_a_trusted_proxy_the_client_is_logged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proxied: dict[str, Any] = {
        "GATEWAY_ACCESS_LOG": "on",
        "GATEWAY_TRUSTED_PROXIES": "127.0.0.0/8",
        "GATEWAY_FORWARDED_HEADER": "Forwarded",
    }
    forged = {"Forwarded": "for=198.51.100.66, for=203.0.113.9;proto=https", "X-Forwarded-For": "198.51.100.66"}
    with run_emulators(notes=NotesEmulator) as sandbox, run_gateway(sandbox, tmp_path, **proxied) as gateway:
        gateway.request("GET", "/healthz", headers=forged)
        (line,) = read_access_log(capsys)

    assert "203.0.113.9" == line["client"]
