"""``dev`` and ``sandbox`` as real processes, as people and tools use them."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from connector_gateway.cli.installation_settings import dev_environment, load_settings
from connector_gateway.connectors import CONNECTORS
from harness.connect_pages import BrowserUser, heading
from harness.dev_process import Dev, run_dev
from harness.ports import free_port, is_free
from harness.requirement import requirement
from harness.subprocesses import run, start
from harness.wait import wait_until

FIXED_NAMES = {
    "base_url",
    "sandbox_url",
    "operator_token",
    "workspace_id",
    "keys",
    "connections",
    "connect_urls",
    "upstreams",
    "clients",
    "examples",
}


def read_until(line: str, running: Dev) -> str:
    """Return the output of a running ``dev`` up to *line*."""
    assert running.process.stdout is not None
    output = ""
    while line not in output:
        printed = running.process.stdout.readline()
        assert printed, output
        output += printed
    return output


@contextmanager
def restart_dev(earlier: Dev, port: int, *options: str) -> Iterator[Dev]:
    """Start ``dev`` again in the folder of the stopped *earlier* one."""
    earlier.process.send_signal(signal.SIGINT)
    earlier.process.wait(60)
    with run_dev(earlier.data, port, *options) as again:
        yield again


def stop(processes: Iterable[subprocess.Popen[str]]) -> None:
    for process in processes:
        process.kill()
        process.communicate(timeout=60)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dev]:
    with run_dev(tmp_path_factory.mktemp("dev") / "data", free_port(), "--quiet") as running:
        yield running


def test_dev_describes_itself_in_a_private_file_with_fixed_names(running: Dev) -> None:
    mode = stat.S_IMODE((running.data / "dev.json").stat().st_mode)

    assert FIXED_NAMES == set(running.described)
    assert {"read", "write"} == set(running.described["keys"])
    assert list(CONNECTORS) == list(running.described["connections"])
    assert 0o600 == mode


def test_emulators_listen_on_the_ports_after_the_control_routes(running: Dev) -> None:
    control = int(running.described["sandbox_url"].rpartition(":")[2])

    upstreams = running.described["upstreams"]
    addresses = [value for upstream in upstreams.values() for name, value in upstream.items() if name.endswith("_url")]
    assert list(CONNECTORS) == list(upstreams)
    assert [control + 1 + offset for offset in range(len(addresses))] == [
        int(address.rpartition(":")[2]) for address in addresses
    ]


@pytest.mark.parametrize("connector", [name for name, one in CONNECTORS.items() if one.oauth is not None])
def test_connect_links_lead_through_the_consent_page_of_the_emulator(running: Dev, connector: str) -> None:
    here: Any = SimpleNamespace(base_url=running.described["base_url"])
    with httpx.Client(timeout=30) as http:
        page = BrowserUser(here, http).allow(running.described["connect_urls"][connector])

    assert (200, "Connected") == (page.status_code, heading(page))


def test_commands_use_the_settings_of_dev(running: Dev) -> None:
    """Webhooks on this machine are allowed by a setting of ``dev``."""
    command = ["webhooks", "create", running.described["workspace_id"], "http://127.0.0.1:9/events"]

    created = run(*command, "--data", str(running.data))

    assert 0 == created.returncode, created.stderr


def test_the_examples_lead_to_seeded_objects(running: Dev) -> None:
    example = running.described["examples"]["notes"]
    body = {
        "connection_id": running.described["connections"]["notes"],
        "database_id": example["database_id"],
        "property": "Name",
        "value": example["title"],
    }

    reply = httpx.post(
        f"{running.described['base_url']}/v1/connectors/notes/pages/search",
        json=body,
        headers={"Authorization": f"Bearer {running.described['keys']['read']}"},
    )

    assert example["page_id"] in [page["page_id"] for page in reply.json()["data"]["pages"]]


def test_the_examples_of_the_reference_succeed_unchanged(running: Dev) -> None:
    document = httpx.get(f"{running.described['base_url']}/openapi.json").json()
    calls = [
        example_request(method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if path.startswith("/v1/connectors/")
    ]
    key = {"Authorization": f"Bearer {running.described['keys']['write']}"}
    with httpx.Client(base_url=running.described["base_url"], headers=key, timeout=60) as http:
        statuses = {f"{call['method']} {call['url']}": http.request(**call).status_code for call in calls}

    assert len(statuses) == sum(len(connector.operations) for connector in CONNECTORS.values())
    assert {} == {call: status for call, status in statuses.items() if status != 200}


def example_request(method: str, path: str, operation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the request of the example of an operation in the OpenAPI document."""
    parameters = [
        parameter for parameter in operation["parameters"] if parameter["in"] != "header" and "example" in parameter
    ]
    inside = {one["name"]: quote(one["example"], safe="") for one in parameters if one["in"] == "path"}
    query = {one["name"]: one["example"] for one in parameters if one["in"] == "query"}
    body = operation.get("requestBody", {"content": {"application/json": {"example": None}}})
    example = body["content"]["application/json"]["example"]
    return {"method": method.upper(), "url": path.format(**inside), "params": query, "json": example}


def test_the_sandbox_serves_a_file_to_attach(running: Dev) -> None:
    example = running.described["examples"]["tables"]
    body = {"record_id": example["record_id"], "field": example["attachment_field"], "url": example["file_url"]}
    reply = httpx.post(
        f"{running.described['base_url']}/v1/connectors/tables/attachments",
        json={"connection_id": running.described["connections"]["tables"], **body},
        headers={"Authorization": f"Bearer {running.described['keys']['write']}"},
    )

    assert (200, "arrivals.csv") == (reply.status_code, reply.json()["data"]["filename"])


def test_keys_connections_and_history_survive_a_kill(tmp_path: Path) -> None:
    port = free_port()
    with run_dev(tmp_path, port, "--quiet") as first:
        run_id = first.call("notes", "/databases").json()["run_id"]
        first.process.send_signal(signal.SIGKILL)
        first.process.wait(60)

        with run_dev(tmp_path, port, "--quiet") as second:
            headers = {"Authorization": f"Bearer {first.described['keys']['read']}"}
            run = httpx.get(f"{second.described['base_url']}/v1/runs/{run_id}", headers=headers)

    assert first.described["keys"] == second.described["keys"]
    assert first.described["connections"] == second.described["connections"]
    assert "ok" == run.json()["data"]["status"]


def new_connections(running: Dev) -> list[str]:
    """Return the active connections that were not created at startup."""
    headers = {"Authorization": f"Bearer {running.described['keys']['read']}"}
    listed = httpx.get(f"{running.described['base_url']}/v1/connections", headers=headers).json()["data"]
    active = [connection["connection_id"] for connection in listed if connection["status"] == "active"]
    return [one for one in active if one not in running.described["connections"].values()]


def test_a_reset_of_the_sandbox_unblocks_budgets(running: Dev) -> None:
    control = f"{running.described['sandbox_url']}/_control"
    httpx.post(f"{control}/notes/faults", json={"fault": "throttle", "seconds": 3600, "path": "/v1/search"})
    start_error = [running.call("notes", "/databases", limit=1) for _ in range(2)]

    httpx.post(f"{control}/reset")

    assert [429, 429] == [reply.status_code for reply in start_error]
    assert 200 == running.call("notes", "/databases", limit=1).status_code


def test_an_error_during_setup_ends_dev_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "secrets.json").write_text(
        '{"secret_key": "long enough for a test", "operator_token": "op_0123456789abcdef", "keys": 5}'
    )
    port = free_port()
    options = ["--data", str(tmp_path), "--port", str(port), "--sandbox-port", str(port + 1)]
    done = run("dev", *options)

    assert 1 == done.returncode
    assert "'int' object has no attribute 'values'" in done.stderr
    assert [True, True] == [is_free(port), is_free(port + 1)]


def test_an_invalid_setting_is_reported_in_any_working_folder(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise SystemExit('this was run')")
    port = free_port()
    options = ["--data", str(tmp_path / "data"), "--port", str(port), "--sandbox-port", str(port + 1)]
    done = run("dev", *options, cwd=tmp_path, env={**os.environ, "GATEWAY_MAX_CALLS": "many"})

    assert 1 == done.returncode
    assert "GATEWAY_MAX_CALLS is 'many'" in done.stderr


@pytest.mark.parametrize("offset", [0, 3], ids=["the gateway's", "an application's"])
def test_a_port_in_use_is_named(tmp_path: Path, offset: int) -> None:
    port = free_port()
    with socket.create_server(("127.0.0.1", port + offset)):
        done = run("dev", "--data", str(tmp_path), "--port", str(port), "--sandbox-port", str(port + 1))

    assert 1 == done.returncode
    assert re.search(rf"\b{port + offset}\b.* in use", done.stderr), done.stderr


def test_the_printed_shell_commands_work_unchanged(tmp_path: Path) -> None:
    with run_dev(tmp_path, free_port()) as running:
        output = read_until("stop      Ctrl-C", running)
        (line,) = [line for line in output.splitlines() if line.startswith("shell ")]
        script = f"{line.removeprefix('shell').strip()}; echo $GATEWAY_URL"
        entered = httpx.get(re.findall(r"^console   (\S+)", output, re.MULTILINE)[0], follow_redirects=True)
        response = subprocess.run(
            ["bash", "-c", script], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=False
        )

    assert (f"{running.described['base_url']}\n", "") == (response.stdout, response.stderr)
    assert "/console" == entered.url.path


def test_the_tour_calls_every_connector(tmp_path: Path) -> None:
    port = free_port()
    with run_dev(tmp_path, port) as running:
        output = read_until("stop      Ctrl-C", running)

    samples = [connector.sample for connector in CONNECTORS.values() if connector.sample is not None]
    assert [] == [sample.title for sample in samples if sample.title not in output]
    assert '"remedy"' not in output


@pytest.mark.parametrize("options", [[], ["--quiet"]], ids=["during the tour", "later"])
def test_a_stop_is_no_error(tmp_path: Path, options: list[str]) -> None:
    with run_dev(tmp_path, free_port(), *options) as running:
        running.process.send_signal(signal.SIGINT)
        ended = running.process.wait(60)

    assert 0 == ended


@requirement("common-141")
def test_a_second_dev_in_the_folder_fails_and_deletes_nothing(running: Dev) -> None:
    port = free_port()
    options = ["--data", str(running.data), "--port", str(port), "--sandbox-port", str(port + 1), "--fresh"]
    second = run("dev", *options)

    assert 1 == second.returncode
    assert f"dev is already running in {running.data}, at {running.described['base_url']}. Use it" in second.stderr
    assert running.described == json.loads((running.data / "dev.json").read_text())
    assert 200 == running.call("notes", "/databases", limit=1).status_code


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a stopped ``dev``."""
    folder = tmp_path_factory.mktemp("stopped")
    with run_dev(folder, free_port(), "--quiet") as running:
        running.process.send_signal(signal.SIGINT)
        running.process.wait(60)
    return folder


def test_a_stopped_installation_has_settings_with_which_serve_starts(stopped: Path) -> None:
    settings = load_settings(dev_environment(stopped), starting=True)

    assert {"notes", "chat"} <= {name for name, one in settings.connectors.items() if one.hook_secrets}


def test_commands_that_need_a_running_dev_report_how_to_start_it(stopped: Path) -> None:
    start = f"Start it with 'make run ARGS=\"--data {stopped}\"'.\n"
    connection_id = json.loads((stopped / "dev.json").read_text())["connections"]["notes"]
    commands = (["env"], ["call", "notes", "list-databases"], ["connections", "test", connection_id])
    results = [run(*command, "--data", str(stopped)) for command in commands]

    assert [1, 1, 1] == [ended.returncode for ended in results]
    assert f"  → dev is not running in {stopped}. {start}" == results[2].stderr.partition("\n")[2]
    assert f"Error: dev is not running in {stopped}. {start}" == results[0].stderr
    assert results[1].stderr.endswith(f"does not respond: Connection refused. {start}")


def test_a_folder_of_an_earlier_version_retains_keys_and_connections(copied: Path) -> None:
    state, description = (json.loads((copied / name).read_text()) for name in ("secrets.json", "dev.json"))
    secret = {name: state.pop(name) for name in ("secret_key", "operator_token")}
    del state["sandbox"]
    (copied / "secrets.json").write_text(json.dumps(secret))
    (copied / "kept.json").write_text(json.dumps(state))
    shutil.rmtree(copied / "sandbox")

    with run_dev(copied, free_port(), "--quiet") as running:
        reply = running.call("notes", "/databases", limit=1)

    assert {name: description[name] for name in ("keys", "connections", "operator_token")} == {
        name: running.described[name] for name in ("keys", "connections", "operator_token")
    }
    assert 200 == reply.status_code
    assert not (copied / "kept.json").exists()


@pytest.fixture
def copied(stopped: Path, tmp_path: Path) -> Path:
    """A copy of the folder of a stopped ``dev``."""
    return Path(shutil.copytree(stopped, tmp_path / "served"))


UNPRIVILEGED = ("setpriv", "--bounding-set=-all", "--inh-caps=-all") if os.geteuid() == 0 else ()
"""A wrapper that subjects the superuser to file permissions."""


def start_error(data: Path, *options: str, wrapper: Sequence[str] = ()) -> str:
    """Return the error with which ``dev`` fails to start."""
    ended = run("dev", "--data", str(data), *options, wrapper=wrapper)
    assert ended.returncode in {1, 2}
    assert "Traceback" not in ended.stderr
    return ended.stderr.splitlines()[-1]


def free_ports() -> list[str]:
    port = free_port()
    return ["--port", str(port), "--sandbox-port", str(port + 1)]


@requirement("common-146")
def test_ports_that_overlap_are_named(tmp_path: Path) -> None:
    port = free_port()
    sentence = start_error(tmp_path, "--port", str(port + 3), "--sandbox-port", str(port))

    taken = f"Error: Port {port + 3} of the gateway is also a port of the sandbox, whose ports start at {port}."
    assert f"{taken} Choose another --port or --sandbox-port." == sentence


@pytest.mark.parametrize("options", [("--port", "99999"), ("--sandbox-port", "65501"), ("--port", "0")])
@requirement("common-146")
def test_invalid_ports_are_rejected(tmp_path: Path, options: tuple[str, str]) -> None:
    assert f"Error: Invalid value for '{options[0]}': {options[1]} is not in the range" in start_error(
        tmp_path, *options
    )


@requirement("common-148")
def test_a_data_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").touch()

    assert f"Error: {tmp_path / 'data'} is a file. Choose a folder with --data." == start_error(
        tmp_path / "data", *free_ports()
    )


@requirement("common-148")
def test_a_data_folder_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    sentence = start_error(tmp_path / "circle" / "data", *free_ports())

    assert sentence.startswith(f"Error: The folder {tmp_path / 'circle' / 'data'} cannot be created: ")


@requirement("common-148")
@pytest.mark.parametrize("options", [[], ["--fresh"]])
def test_a_read_only_data_folder_is_named_and_unchanged(copied: Path, options: list[str]) -> None:
    before = contents(copied)

    copied.chmod(0o500)
    message = start_error(copied, *free_ports(), *options, wrapper=UNPRIVILEGED)

    assert f"Error: This user cannot write to the folder {copied}. Choose another with --data." == message
    assert before == contents(copied)


@requirement("common-148")
def test_an_invalid_secrets_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "secrets.json").write_text('{"secret_key": ')

    assert start_error(tmp_path, *free_ports()).startswith(
        f"Error: {tmp_path / 'secrets.json'} does not contain the secrets of an installation."
    )


@requirement("common-147")
def test_a_misspelt_setting_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GATEWAY_NOTES_BUDGETS", "3/1")

    sentence = start_error(tmp_path, *free_ports(), "--quiet")
    assert "Error: GATEWAY_NOTES_BUDGETS is not a setting; did you mean GATEWAY_NOTES_BUDGET?" == sentence


def start_in_background(data: Path, port: int, *options: str) -> subprocess.Popen[str]:
    """Start ``dev`` without waiting until it is ready."""
    ports = ["--port", str(port), "--sandbox-port", str(port + 1)]
    return start("dev", "--data", str(data), *ports, "--quiet", *options, stderr=subprocess.PIPE, text=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.suffix != ".lock"}


def create_page(running: Dev) -> httpx.Response:
    body = {
        "connection_id": running.described["connections"]["notes"],
        "database_id": running.described["examples"]["notes"]["database_id"],
        "properties": {"Name": "Made once"},
        "idempotency_key": "once",
    }
    return httpx.post(
        f"{running.described['base_url']}/v1/connectors/notes/pages",
        json=body,
        headers={"Authorization": f"Bearer {running.described['keys']['write']}"},
    )


def created_page_ids(running: Dev) -> list[str]:
    body = {
        "connection_id": running.described["connections"]["notes"],
        "database_id": running.described["examples"]["notes"]["database_id"],
        "property": "Name",
        "value": "Made once",
    }
    reply = httpx.post(
        f"{running.described['base_url']}/v1/connectors/notes/pages/search",
        json=body,
        headers={"Authorization": f"Bearer {running.described['keys']['read']}"},
    )
    return [page["page_id"] for page in reply.json()["data"]["pages"]]


def test_a_fresh_start_removes_only_files_of_dev(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "thesis.txt").write_text("years of work")
    with run_dev(tmp_path, port, "--quiet") as first, restart_dev(first, port, "--quiet", "--fresh") as second:
        keys = first.described["keys"], second.described["keys"]

    assert keys[0] != keys[1]
    assert "years of work" == (tmp_path / "thesis.txt").read_text()


@pytest.mark.parametrize("name", ["gateway.db", "kept.json", "dev.json"])
@pytest.mark.parametrize("options", [[], ["--fresh"]])
def test_foreign_files_of_the_same_names_stop_dev_and_are_not_deleted(
    tmp_path: Path, name: str, options: list[str]
) -> None:
    (tmp_path / name).write_text('{"a": "stranger\'s"}')
    before = contents(tmp_path)

    process = start_in_background(tmp_path, free_port(), *options)
    _, message = process.communicate(timeout=30)

    assert 1 == process.returncode
    assert f"Error: The folder {tmp_path} contains {name}, not created by dev. Choose another with --data.\n" == message
    assert before == contents(tmp_path)


def test_a_fresh_start_with_ports_in_use_deletes_nothing(copied: Path) -> None:
    port = free_port()
    before = contents(copied)
    with socket.create_server(("127.0.0.1", port + 4)):
        process = start_in_background(copied, port, "--fresh")
        process.communicate(timeout=30)

    assert 1 == process.returncode
    assert before == contents(copied)


def test_objects_and_connections_survive_a_restart(tmp_path: Path) -> None:
    port = free_port()
    with run_dev(tmp_path, port, "--quiet") as first:
        here: Any = SimpleNamespace(base_url=first.described["base_url"])
        with httpx.Client(timeout=30) as http:
            BrowserUser(here, http).allow(first.described["connect_urls"]["mail"])
        replies = [create_page(first), create_page(first)]
        with restart_dev(first, port, "--quiet") as second:
            replies += [create_page(second), create_page(second)]
            page_ids = created_page_ids(second)
            (connected,) = new_connections(second)
            search = second.call("mail", "/messages", connection_id=connected, q="is:unread", limit=1)

    assert [200] * 5 == [reply.status_code for reply in (*replies, search)]
    assert page_ids == list({reply.json()["data"]["page_id"] for reply in replies})


def test_only_one_of_two_concurrent_starts_runs_and_the_other_reports_why(tmp_path: Path) -> None:
    started = [start_in_background(tmp_path, free_port()), start_in_background(tmp_path, free_port(), "--fresh")]
    try:
        wait_until(lambda: any(process.poll() is not None for process in started), 60)
        start_error = next(process for process in started if process.poll() is not None)
        _, message = start_error.communicate(timeout=30)
        other = next(process for process in started if process is not start_error)
        wait_until((tmp_path / "dev.json").exists)
        left = other.poll()
    finally:
        stop(started)

    assert (1, None) == (start_error.returncode, left)
    assert message.startswith(
        (f"Error: dev is already running in {tmp_path}", f"Error: The folder {tmp_path} is being")
    )
