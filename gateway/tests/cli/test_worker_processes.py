"""``serve --workers``: several processes on one socket, PostgreSQL and a shared store."""

import os
import re
import signal
import socket
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import httpx
import pytest

from harness import steady_callers
from harness.databases import postgres_on
from harness.gateway_process import CallThread, Installation, run_installation
from harness.gateway_server import FAST, OPERATOR
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from harness.subprocesses import run
from harness.valkey import Server
from harness.wait import wait_until
from workspace_sandbox.notes import NotesEmulator

SECRETS = {"GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU", "GATEWAY_OPERATOR_TOKEN": OPERATOR}

BOTH = [("1", "1"), ("2", "1")]


@pytest.fixture(scope="module")
def workers(
    postgres_server: str, valkey_of_tests: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """An installation of two workers. Tests that stop it start it again."""
    settings = {
        "GATEWAY_DATABASE_URL": postgres_on(postgres_server),
        "GATEWAY_SHARED_URL": valkey_of_tests.url,
        "GATEWAY_WORKERS": "2",
    }
    with (
        run_emulators(notes=NotesEmulator) as sandbox,
        run_installation(sandbox, tmp_path_factory.mktemp("workers"), **settings) as installation,
    ):
        sandbox.emulators["notes"].context.knobs["limits"] = False
        workspace_id = installation.manage("GET", "/v1/workspaces")[0]["workspace_id"]
        installation.key = installation.manage(
            "POST", "/v1/keys", workspace_id=workspace_id, scope="read_write", calls_per_minute=1_000_000
        )["key"]
        wait_until(lambda: reporting_workers(installation) == BOTH)
        yield installation


def pids(installation: Installation) -> set[int]:
    """Return the process IDs of the workers."""
    assert installation.process is not None
    pid = installation.process.pid
    return set(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def metrics(installation: Installation) -> str:
    return httpx.get(f"{installation.base_url}/metrics", timeout=60).text


def reporting_workers(installation: Installation) -> list[tuple[str, str]]:
    """Return the workers whose metrics are included."""
    return re.findall(r'^gateway_worker_up\{worker="(\d)"\} (\d)', metrics(installation), re.MULTILINE)


def count_created_pages(installation: Installation) -> float:
    """Return the number of created pages in the metrics of all workers."""
    counts = re.findall(r"^gateway_calls_total\{[^}]*create_page[^}]*\} ([0-9.]+)", metrics(installation), re.MULTILINE)
    return sum(map(float, counts))


def write_load(installation: Installation) -> AbstractContextManager[list[int]]:
    """Send writes with keys in the context. Yields the statuses of their responses."""
    database_id = installation.sandbox.emulators["notes"].examples()["database_id"]
    return steady_callers.under_load(
        installation.base_url, installation.key, installation.connections["notes"], database_id
    )


@pytest.mark.parametrize(
    "settings",
    [
        {"GATEWAY_DATABASE_URL": "sqlite:///gateway.db", "GATEWAY_SHARED_URL": "valkey://127.0.0.1:1"},
        {"GATEWAY_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing"},
    ],
    ids=["SQLite", "no store"],
)
@requirement("common-206")
def test_several_workers_without_shared_storage_are_rejected(settings: dict[str, str], tmp_path: Path) -> None:
    ended = run("serve", "--port", "0", "--workers", "2", cwd=tmp_path, env={**os.environ, **SECRETS, **settings})

    assert (3, 1, []) == (ended.returncode, len(ended.stderr.splitlines()), list(tmp_path.iterdir()))
    assert ended.stderr.startswith("Error: 2 workers require PostgreSQL (GATEWAY_DATABASE_URL) and a shared store")


@requirement("common-207")
def test_a_too_long_temporary_folder_is_rejected(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 20)
    folder.mkdir()
    settings = {"GATEWAY_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing", "GATEWAY_SHARED_URL": "valkey://h:1"}
    ended = run(
        *("serve", "--port", "0", "--workers", "2"),
        cwd=tmp_path,
        env={**os.environ, **SECRETS, **settings, "TMPDIR": str(folder)},
    )

    assert (3, True) == (ended.returncode, "Set TMPDIR to a shorter path" in ended.stderr)


@requirement("common-207")
def test_a_failed_start_is_reported_once() -> None:
    settings = {
        "GATEWAY_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
        "GATEWAY_SHARED_URL": "valkey://127.0.0.1:1",
    }

    ended = run("serve", "--port", "0", "--workers", "3", env={**os.environ, **FAST, **SECRETS, **settings})

    assert (3, 1) == (ended.returncode, len(ended.stderr.splitlines()))
    assert ended.stderr.endswith("Check GATEWAY_DATABASE_URL.\n")


@requirement("common-207")
def test_a_port_in_use_is_reported_before_workers_start() -> None:
    settings = {
        "GATEWAY_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
        "GATEWAY_SHARED_URL": "valkey://127.0.0.1:1",
    }
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run("serve", "--port", str(port), "--workers", "2", env={**os.environ, **SECRETS, **settings})

    assert 3 == ended.returncode
    assert f"Error: Port {port} on 127.0.0.1 is in use; choose another with --port.\n" == ended.stderr


@requirement("common-211")
def test_each_worker_serves_the_metrics_of_all(workers: Installation) -> None:
    before = count_created_pages(workers)
    with write_load(workers) as statuses:
        wait_until(lambda: len(statuses) >= 40)

    assert BOTH == reporting_workers(workers)
    assert len(statuses) == count_created_pages(workers) - before


@requirement("common-208")
def test_a_killed_worker_is_replaced_while_the_others_respond(workers: Installation) -> None:
    killed = min(pids(workers))
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: killed not in pids(workers))
    statuses = [httpx.get(f"{workers.base_url}/healthz").status_code for _ in range(5)]
    wait_until(lambda: len(pids(workers) - {killed}) == 2)
    wait_until(lambda: BOTH == reporting_workers(workers))

    assert [200] * 5 == statuses


@requirement("common-209")
def test_a_rolling_restart_fails_no_call(workers: Installation) -> None:
    before = pids(workers)
    assert workers.process is not None
    with write_load(workers) as statuses:
        wait_until(lambda: len(statuses) >= 10)
        workers.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not pids(workers) & before, 60)
        seen = len(statuses)
        wait_until(lambda: len(statuses) >= seen + 10)

    assert 2 == len(pids(workers))
    assert {200} == set(statuses)


@requirement("common-210")
def test_all_workers_finish_their_calls_and_exit(workers: Installation) -> None:
    fault = {"method": "POST", "path": "/v1/pages", "fault": "delay", "seconds": 1}
    workers.http.post(f"{workers.sandbox.address}/_control/notes/faults", json=fault)
    body = {"database_id": workers.sandbox.emulators["notes"].examples()["database_id"], "properties": {}}
    calling = CallThread(lambda: workers.call("POST", "/notes/pages", idempotency_key="last", **body))
    wait_until(lambda: not workers.sandbox.emulators["notes"].context.faults[0].times)
    left = pids(workers)
    status = workers.end(signal.SIGTERM)
    response = calling.ended()
    workers.start()

    assert response is not None
    assert (0, 200, []) == (status, response.status_code, [pid for pid in left if is_alive(pid)])


@requirement("common-210")
def test_workers_exit_if_their_supervisor_is_killed(workers: Installation) -> None:
    wait_until(lambda: len(pids(workers)) == 2)
    left = pids(workers)
    workers.end(signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, left)))

    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{workers.base_url}/healthz")
    workers.start()
