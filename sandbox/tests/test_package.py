"""The sandbox as a package of its own: its wheel, in an environment that has nothing else of this repository."""

import json
import re
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

REPOSITORY = Path(__file__).parents[2]

USING = """
import httpx
import pytest
from slack_sdk import WebClient

MADE = []


@pytest.fixture
def slack(sandbox):
    return WebClient(sandbox.chat.token, base_url=f"{sandbox.chat.url}/api/")


@pytest.mark.parametrize("turn", [1, 2])
def test_every_test_begins_anew(sandbox, slack, turn):
    slack.chat_postMessage(channel=sandbox.chat.examples["channel_id"], text="Ship it")
    sandbox.clock.freeze()
    MADE.append([one.path for one in sandbox.chat.journal()])
    assert MADE == [["/api/chat.postMessage"]] * turn


def test_a_fault_counts_what_it_has_done(sandbox):
    fault = sandbox.chat.fault("throttle", seconds=7, path="/api/auth")
    answer = httpx.post(f"{sandbox.chat.url}/api/auth.test")
    assert (429, "7", 1) == (answer.status_code, answer.headers["Retry-After"], fault.done)


def test_budgets_go_by_the_clock(sandbox, slack):
    sandbox.clock.freeze()
    sandbox.chat.knobs(posts_per_minute=1)
    slack.chat_postMessage(channel=sandbox.chat.examples["channel_id"], text="one")
    sandbox.clock.advance(60)
    slack.chat_postMessage(channel=sandbox.chat.examples["channel_id"], text="two")


def test_a_person_acts_and_what_was_saved_is_loaded(sandbox, slack):
    channel = sandbox.chat.examples["channel_id"]
    sandbox.save("before")
    ts = sandbox.chat.act("message", channel_id=channel, text="By hand")["ts"]
    assert "By hand" == slack.conversations_history(channel=channel)["messages"][0]["text"]
    sandbox.load("before")
    assert ts != slack.conversations_history(channel=channel)["messages"][0]["ts"]


def test_an_emulator_that_is_not_running_is_named(sandbox):
    with pytest.raises(KeyError, match="notes is not running; running: chat"):
        sandbox.notes
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment with the wheel, which borrows its dependencies."""
    folder = tmp_path_factory.mktemp("package")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=REPOSITORY / "sandbox", check=True, capture_output=True, timeout=60)
    target = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(target)], check=True, timeout=60)
    python = target / "bin" / "python"
    # What is installed for work on this repository is found by a file that only a folder of its own makes count.
    here = sysconfig.get_path("purelib")
    packages = Path(_output(str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
    (packages / "borrowed.pth").write_text(f"{here}\n")
    wheel = next(folder.glob("*.whl"))
    install = ["--python", str(python), "install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([sys.executable, "-m", "pip", *install], check=True, capture_output=True, timeout=60)
    return target / "bin"


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout


@contextmanager
def started(environment: Path, *options: str) -> Iterator[dict[str, Any]]:
    command = [str(environment / "workspace-sandbox"), "--port", "0", "--until-eof", *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        yield json.loads(process.stdout.readline())
        process.communicate(timeout=60)


def test_the_wheel_contains_the_sandbox_without_the_gateway(environment: Path) -> None:
    look = (
        "from importlib.util import find_spec; print(["
        # A folder with files only, such as the gateway's pages, has no origin.
        "bool(getattr(find_spec(name), 'origin', None)) for name in ('workspace_sandbox', 'connector_gateway')])"
    )

    assert "[True, False]\n" == _output(str(environment / "python"), "-c", look)


def test_the_command_runs_and_saves_the_requested_emulators(environment: Path, tmp_path: Path) -> None:
    options = ["--only", "chat, notes", "--data", str(tmp_path / "kept")]
    with started(environment, *options) as first:
        post = {"action": "message", "channel_id": first["examples"]["chat"]["channel_id"], "text": "Kept"}
        ts = httpx.post(f"{first['sandbox_url']}/_control/chat/act", json=post).json()["ts"]
    with started(environment, *options) as second:
        token = {"Authorization": f"Bearer {second['upstreams']['chat']['token']}"}
        url = f"{second['upstreams']['chat']['base_url']}/api/conversations.history"
        history = httpx.get(url, params={"channel": post["channel_id"]}, headers=token).json()

    assert ["notes", "chat"] == list(first["upstreams"])
    assert ts == history["messages"][0]["ts"]


def test_closed_input_ends_the_command(environment: Path) -> None:
    command = [str(environment / "workspace-sandbox"), "--only", "chat", "--port", "0", "--until-eof"]

    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)

    assert (0, "") == (done.returncode, done.stderr)


def test_the_pytest_fixture_is_available(environment: Path, tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nsandbox_only = chat\n")
    (tmp_path / "test_using.py").write_text(USING)
    # What is borrowed brings plugins that take seconds to load.
    without = [f"-pno:{name}" for name in ("schemathesis", "playwright", "hypothesispytest", "cacheprovider", "xdist")]
    run = [str(environment / "python"), "-m", "pytest", "-q", *without, str(tmp_path)]

    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)

    assert "6 passed" in done.stdout, done.stdout


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--only", "notse"], "Unknown emulator 'notse'; did you mean notes? allowed: notes, boards"),
        (["--only", ","], "Name at least one emulator."),
        (["--data", "{used}"], "contains other files and no state of a sandbox; name an empty folder."),
    ],
    ids=str,
)
def test_invalid_options_are_reported_without_a_traceback(
    environment: Path, tmp_path: Path, options: list[str], expected: str
) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    command = [str(environment / "workspace-sandbox"), *(option.format(used=tmp_path) for option in options)]

    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)

    assert done.returncode in {1, 2}
    assert expected in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_in_use_is_reported_without_a_traceback(environment: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [str(environment / "workspace-sandbox"), "--only", "chat", "--port", str(port)]

        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert 1 == done.returncode
    assert re.search(rf"The sandbox cannot listen: .*{port}.* Choose other ports\.", done.stderr)
    assert "Traceback" not in done.stderr
