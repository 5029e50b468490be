"""``serve`` if it cannot start: one error message, and no changes."""

import gc
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, select, text

from connector_gateway.app import App
from connector_gateway.cli.serve.command import _print_shared_summary, _print_summary
from connector_gateway.settings import Settings
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.sqlite_files import UnusableDatabase, check_file
from harness.gateway_process import CallThread, run_installation
from harness.gateway_server import FAST, OPERATOR, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.subprocesses import run
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator
from workspace_sandbox.sandbox import Sandbox


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with run_emulators(notes=NotesEmulator) as started:
        yield started


def serve(database_url: str, port: int = 0, **settings: str) -> subprocess.CompletedProcess[str]:
    """Serve until it fails."""
    environment = {
        "GATEWAY_DATABASE_URL": database_url,
        "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
        "GATEWAY_OPERATOR_TOKEN": OPERATOR,
        "GATEWAY_STORAGE_SECONDS": "2",
    }
    return run("serve", "--port", str(port), env={**os.environ, **FAST, **environment, **settings})


@requirement("common-141")
def test_a_second_server_on_the_same_file_fails(sandbox: Sandbox, tmp_path: Path) -> None:
    fault = {"method": "POST", "path": "/v1/pages", "fault": "delay", "seconds": 60}
    database_url = f"sqlite:///{tmp_path / 'gateway.db'}"
    with run_installation(sandbox, tmp_path, GATEWAY_UPSTREAM_TIMEOUT_SECONDS="60") as installation:
        installation.http.post(f"{sandbox.address}/_control/notes/faults", json=fault)
        body = {"database_id": sandbox.emulators["notes"].examples()["database_id"], "properties": {}}
        calling = CallThread(lambda: installation.call("POST", "/notes/pages", idempotency_key="key-1", **body))
        wait_until(lambda: not sandbox.emulators["notes"].context.faults[0].times)
        second = serve(database_url)
        engine = create_engine(database_url)
        with engine.connect() as reading:
            processes = reading.execute(select(tables.processes)).all()
            state = reading.execute(select(tables.claims.c.state)).scalar()
        engine.dispose()
        installation.http.delete(f"{sandbox.address}/_control/notes/faults")
        first = calling.ended()
        assert installation.process is not None
        named = f"process {installation.process.pid} on {socket.gethostname()}"

    assert (3, "") == (second.returncode, second.stdout)
    served = f"The database {(tmp_path / 'gateway.db').resolve()} is in use by another process"
    assert [f"Error: {served}, {named}; stop that process first."] == second.stderr.splitlines()
    assert first is not None
    assert (200, 1, "held") == (first.status_code, len(processes), state)


@requirement("common-142")
def test_a_server_with_a_port_in_use_changes_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = serve(f"sqlite:///{tmp_path / 'gateway.db'}", port)

    assert (3, "") == (ended.returncode, ended.stdout)
    assert [f"Error: Port {port} on 127.0.0.1 is in use; choose another with --port."] == ended.stderr.splitlines()
    assert [] == list(tmp_path.iterdir())


def missing_folder(folder: Path) -> Path:
    return folder / "missing" / "gateway.db"


def path_below_a_file(folder: Path) -> Path:
    (folder / "file").touch()
    return folder / "file" / "gateway.db"


def symlink_loop(folder: Path) -> Path:
    (folder / "circle").symlink_to(folder / "circle")
    return folder / "circle" / "gateway.db"


def folder_path(folder: Path) -> Path:
    (folder / "gateway.db").mkdir()
    return folder / "gateway.db"


def text_file(folder: Path) -> Path:
    (folder / "gateway.db").write_text("Dear diary")
    return folder / "gateway.db"


@pytest.mark.parametrize(
    ("path", "output"),
    [
        (missing_folder, "The database's folder {0.parent} does not exist"),
        (path_below_a_file, "{0.parent}, which should be the database's folder, is a file"),
        (symlink_loop, "The database's folder {0.parent} does not exist"),
        (folder_path, "{0}, which should be the database, is not a file"),
        (text_file, "The file {0} is not a SQLite database"),
    ],
)
@requirement("common-148")
def test_an_unusable_database_path_is_named(tmp_path: Path, path: Callable[[Path], Path], output: str) -> None:
    database = path(tmp_path)
    ended = serve(f"sqlite:///{database}")

    sentence = f"Error: {output.format(database)}; correct that, or set GATEWAY_DATABASE_URL to another file."
    assert (3, "", [sentence]) == (ended.returncode, ended.stdout, ended.stderr.splitlines())


@requirement("common-148")
def test_a_read_only_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != tmp_path)

    with pytest.raises(
        UnusableDatabase, match=f"^The database's folder {tmp_path} cannot be read and written by this user; "
    ):
        check_file(tmp_path / "gateway.db")


@requirement("common-148")
def test_a_database_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    database_url = f"sqlite:///{tmp_path / 'gateway.db'}"
    engine = create_engine(database_url)
    with engine.begin() as writing:
        writing.execute(text("CREATE TABLE alembic_version (version_num TEXT)"))
        writing.execute(text("INSERT INTO alembic_version VALUES ('9999')"))
    ended = serve(database_url)
    with engine.begin() as reading:
        names = inspect(reading).get_table_names()
    engine.dispose()

    assert 3 == ended.returncode
    assert ended.stderr.startswith("Error: The database was brought to schema 9999 by a newer version")
    assert (1, ["alembic_version"]) == (len(ended.stderr.splitlines()), names)


@requirement("common-146", "common-148")
def test_an_unreachable_server_is_reported_on_one_line() -> None:
    ended = serve("postgresql://me:s3cret@127.0.0.1:1/nothing")

    assert (3, 1) == (ended.returncode, len(ended.stderr.splitlines()))
    assert ended.stderr.endswith("Check GATEWAY_DATABASE_URL.\n")
    assert "s3cret" not in ended.stderr


@pytest.mark.parametrize("port", [99999, 65536, -1])
@requirement("common-146")
def test_an_invalid_port_is_rejected(tmp_path: Path, port: int) -> None:
    ended = serve(f"sqlite:///{tmp_path / 'gateway.db'}", port)

    assert (2, []) == (ended.returncode, list(tmp_path.iterdir()))
    assert f"Invalid value for '--port': {port} is not in the range 0<=x<=65535." in ended.stderr


@requirement("common-149")
def test_secrets_that_cannot_decrypt_are_rejected(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_installation(sandbox, tmp_path) as installation:
        connection_id = installation.connections["notes"]
    ended = serve(f"sqlite:///{tmp_path / 'gateway.db'}", GATEWAY_SECRET_KEYS="Yd8HsJ1fGp6EaUZr4kT9wQm2XvB7nLc5")

    assert (3, 1) == (ended.returncode, len(ended.stderr.splitlines()))
    owned = f"1 connections, {connection_id} among them and the audit trail"
    assert f"encrypted {owned} is missing; add" in ended.stderr


@requirement("common-150")
def test_sighup_does_not_end_the_server(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_installation(sandbox, tmp_path) as installation:
        assert installation.process is not None
        installation.process.send_signal(signal.SIGHUP)

        assert installation.ready()


@requirement("common-141")
def test_a_killed_server_releases_the_database_file(sandbox: Sandbox, tmp_path: Path) -> None:
    with run_installation(sandbox, tmp_path) as installation:
        installation.end(signal.SIGKILL)
        installation.start()

        assert installation.ready()


def test_a_server_in_a_thread_does_not_change_garbage_collection(sandbox: Sandbox, tmp_path: Path) -> None:
    threshold, frozen = gc.get_threshold(), gc.get_freeze_count()
    with run_gateway(sandbox, tmp_path):
        during = gc.get_freeze_count()

        assert threshold == gc.get_threshold()
        assert during <= frozen


def test_serve_imports_only_what_its_settings_need() -> None:
    rare = ("alembic", "jinja2", "mcp", "opentelemetry.sdk", "psycopg", "valkey", "zxcvbn")
    program = f"""
import sys, connector_gateway.cli.serve.command
from connector_gateway.kit.attribute_docstrings import describe_attributes
print([name for name in {rare} if name in sys.modules], describe_attributes.cache_info().currsize)
"""
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "[] 0\n" == process.stdout


async def test_the_start_message_survives_a_database_outage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    address = {"GATEWAY_DATABASE_URL": "postgresql://me@127.0.0.1:1/nothing", "GATEWAY_STORAGE_SECONDS": "1"}
    secrets = {"GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU", "GATEWAY_OPERATOR_TOKEN": OPERATOR}
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        await _print_summary(App(Settings.read(address | secrets, {})), listening)

    assert "connections  unknown, the database is unavailable\n" in capsys.readouterr().err


@requirement("administration-21")
async def test_the_supervisor_of_several_workers_prints_a_link(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {"GATEWAY_DATABASE_URL": f"sqlite:///{tmp_path / 'gateway.db'}", "GATEWAY_WORKERS": "2"}
    secrets = {"GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU", "GATEWAY_OPERATOR_TOKEN": OPERATOR}
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        await _print_shared_summary(Settings.read(settings | secrets, {}), listening)
    output = capsys.readouterr().err

    assert "workers      2\n" in output
    assert re.search(r"^console      http://127\.0\.0\.1:8080/console/sign-in\?link=\S{43} ", output, re.MULTILINE)
