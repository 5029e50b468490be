"""Operators and the audit trail on the command line."""

import sqlite3
from json import loads
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from connector_gateway.cli import main
from harness.requirement import requirement


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new installation."""
    monkeypatch.setenv("GATEWAY_DATABASE_URL", f"sqlite:///{tmp_path / 'gateway.db'}")
    monkeypatch.setenv("GATEWAY_SECRET_KEYS", "Zq3vT8mXw1Lr6Yk0Bn4Jd7Hs2Pf5Gc9A")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str, status: int = 0) -> Result:
    result = CliRunner().invoke(main, arguments)
    assert status == result.exit_code, result.output
    return result


def run_json(*arguments: str, status: int = 0) -> Any:
    return loads(run(*arguments, "--json", status=status).stdout)


@requirement("administration-1")
@pytest.mark.usefixtures("folder")
def test_operators_are_created_listed_and_revoked() -> None:
    created = run_json("operators", "create", "vera", "--role", "viewer")
    listed = run_json("operators", "list")
    revoked = run_json("operators", "revoke", "vera")

    assert created["token"].startswith("cgo_")
    assert [("vera", "viewer", None)] == [(one["name"], one["role"], one["revoked_at"]) for one in listed]
    assert revoked["revoked_at"] is not None


@requirement("administration-2")
@pytest.mark.usefixtures("folder")
def test_an_unusable_name_is_reported() -> None:
    error = run_json("operators", "create", "cli", status=1)["error"]

    assert ("invalid_parameters", "name") == (error["code"], error["details"][0]["parameter"])


@requirement("administration-7", "administration-14")
@pytest.mark.usefixtures("folder")
def test_commands_are_recorded_listed_and_exported() -> None:
    workspace = run_json("workspaces", "create", "Acme")["workspace_id"]
    run_json("keys", "create", workspace)
    run_json("vault", "rotate")
    listed = run_json("audit", "list", "--actor", "cli")
    of_keys = run_json("audit", "list", "--act", "create_key", "--since", "2020-01-01")
    exported = [loads(line) for line in run("audit", "export", "--after", "1").stdout.splitlines()]

    assert ["rotate_vault", "create_key", "create_workspace"] == [entry["act"] for entry in listed]
    assert [("cli", None, "cli")] == [(one["actor"], one["address"], one["surface"]) for one in of_keys]
    assert [2, 3] == [entry["sequence"] for entry in exported]
    assert listed[0] == exported[-1]
    assert listed[0]["details"]["user"]


@requirement("administration-11")
def test_verifying_names_the_entry_that_was_edited(folder: Path) -> None:
    for name in ("one", "two", "three"):
        run_json("workspaces", "create", name)
    intact = run_json("audit", "verify")
    edited = sqlite3.connect(folder / "gateway.db")
    edited.execute("UPDATE audit SET actor = 'somebody' WHERE sequence = 2")
    edited.commit()
    edited.close()
    broken = run_json("audit", "verify", status=1)
    later = run_json("audit", "verify", "--after", "2")

    assert (3, None) == (intact["entries"], intact["broken"])
    assert (2, "Entry 2 was altered, or written under another key.") == (broken["broken"], broken["reason"])
    assert (1, None) == (later["entries"], later["broken"])


@pytest.mark.usefixtures("folder")
def test_a_new_chain_can_be_started() -> None:
    run_json("workspaces", "create", "Acme")
    begun = run_json("audit", "restart")

    assert {"first": 2} == begun
    assert 1 == run_json("audit", "verify", "--after", "1")["entries"]
