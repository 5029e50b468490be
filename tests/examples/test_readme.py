"""Every line of the README that a newcomer types is typed here, in a real shell, against real processes."""

import json
import os
import re
import secrets
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from harness.waiting import wait_until

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PATHS = {"PATH": f"{sys.prefix}/bin:{os.environ['PATH']}"}
"""All that a shell knows which has nothing to do with an installation."""

UNHURRIED = {"GATEWAY_NOTES_BUDGET": "1000/1"}
"""At the pace of the application, reading some 160 databases once takes a minute and a half."""

LONGEST_SECONDS = 300
"""For what is typed at once: far longer than it takes, but on a machine that is busy with something else."""

SCREEN = 24
"""Lines of a terminal."""

EXPORTS = 'eval "$(.venv/bin/connector-gateway env)"\n'


def section(title: str) -> str:
    """What stands under a heading of the README."""
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def blocks(title: str) -> list[str]:
    """What is to be typed in a section."""
    return re.findall(r"```sh\n(.*?)```", section(title), re.DOTALL)


TRIED = blocks("Try it")
COMMANDS = blocks("The command line")
SERVED = blocks("Run it")


@dataclass(frozen=True)
class Shell:
    """A shell in the folder of a running ``dev``."""

    folder: Path

    def type(self, lines: str) -> str:
        """What is printed when *lines* are typed, each of which must succeed."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", EXPORTS + lines],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
        assert 0 == done.returncode, done.stderr
        return done.stdout

    def answers(self, lines: str) -> list[Mapping[str, Any]]:
        """The JSON texts that are printed when *lines* are typed."""
        return list(decoded(self.type(lines)))


def decoded(text: str) -> Iterator[Any]:
    """The JSON values that stand one behind the other in *text*."""
    decoder, rest = json.JSONDecoder(), text.strip()
    while rest:
        value, end = decoder.raw_decode(rest)
        yield value
        rest = rest[end:].lstrip()


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("checkout")
    (folder / ".venv").symlink_to(sys.prefix)
    port = secrets.choice(range(10_000, 30_000, 10))
    command = [".venv/bin/connector-gateway", "dev", "--port", str(port), "--sandbox-port", str(port + 1), "--quiet"]
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, **UNHURRIED})
    described = folder / ".data" / "dev.json"
    try:
        wait_until(lambda: described.exists() or process.poll() is not None)
        sandbox = json.loads(described.read_text())["sandbox_url"]
        httpx.post(f"{sandbox}/_control/notes/knobs", json={"limits": False}).raise_for_status()
        yield Shell(folder)
    finally:
        process.terminate()
        process.wait(60)


def test_the_first_envelope_is_less_than_a_screen_away() -> None:
    way = section("Try it").partition(TRIED[1])[0] + TRIED[1]

    assert "make run\n" == TRIED[0]
    assert SCREEN > len(way.splitlines())


def test_nothing_is_typed_that_only_new_or_clever_shells_know() -> None:
    typed = "".join(re.findall(r"```sh\n(.*?)```", README, re.DOTALL))

    assert [] == re.findall(r"curl[^\n]* --json|python3 -c", typed)


def test_the_first_envelope(shell: Shell) -> None:
    (envelope,) = shell.answers(TRIED[1])

    assert ("ok", "notes") == (envelope["status"], envelope["connector"])
    assert [] != envelope["data"]


def test_the_write_makes_one_page_however_often_it_is_repeated(shell: Shell) -> None:
    first, again = shell.answers(TRIED[2] + TRIED[2])

    assert ("ok", first["data"]) == (again["status"], again["data"])


def is_watching(shell: Shell) -> bool:
    """Whether changes of notes are seen; asked of the service, since a command takes a second of the processor."""
    told = json.loads((shell.folder / ".data" / "dev.json").read_text())
    url = f"{told['base_url']}/v1/connections/{told['connections']['notes']}"
    answer = httpx.get(url, headers={"Authorization": f"Bearer {told['operator_token']}"}, timeout=30)
    return answer.json()["data"]["watching_since"] is not None


def test_what_people_do_is_read_as_events(shell: Shell) -> None:
    wait_until(lambda: is_watching(shell), LONGEST_SECONDS)
    (command,) = re.findall(r"`([^`]* connections show [^`]*)`", section("Try it"))
    (connection,) = shell.answers(f"{command} --json")
    shell.answers(TRIED[3])
    read_chat, read_notes = TRIED[3].splitlines()[-2:]
    # Both come from other processes, which may be busy.
    wait_until(lambda: "Ship it" in str(shell.answers(read_chat)), LONGEST_SECONDS)
    wait_until(lambda: "4242" in str(shell.answers(read_notes)), LONGEST_SECONDS)

    assert connection["watching_since"] is not None


def test_the_command_line_makes_the_same_calls_and_explains_them(shell: Shell) -> None:
    (envelope,) = shell.answers(TRIED[1])
    typed = COMMANDS[0].replace("run_…", envelope["run_id"])
    told = shell.type(typed)

    assert 1 == len(COMMANDS)
    assert 4 == len(typed.splitlines())
    assert "notes list_databases" in told
    assert envelope["run_id"] in told


def test_the_exports_name_a_read_key_where_that_is_wanted(shell: Shell) -> None:
    read = shell.type(".venv/bin/connector-gateway env --key read")
    kept = json.loads((shell.folder / ".data" / "dev.json").read_text())

    assert f"export GATEWAY_API_KEY={kept['keys']['read']}\n" in read
    assert kept["keys"]["write"] not in read


def test_without_a_dev_installation_the_exports_say_how_to_start_one(tmp_path: Path) -> None:
    command = [f"{sys.prefix}/bin/connector-gateway", "env"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS)

    assert (1, "") == (done.returncode, done.stdout)
    assert "make run" in done.stderr


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Path]:
    """The folder of an installation that was made as the README says."""
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / ".venv").symlink_to(sys.prefix)
    port = secrets.choice(range(10_000, 30_000, 10))
    lines = SERVED[0].replace("connector-gateway serve", f"exec connector-gateway serve --port {port}")
    with subprocess.Popen(
        ["bash", "-euc", lines], cwd=tmp_path / "checkout", env=PATHS, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            assert "reference" in until_told(process.stderr, "reference")
            yield tmp_path / "gateway"
        finally:
            process.terminate()


def until_told(told: Iterable[str], word: str) -> str:
    """What is told until a line begins with *word*."""
    return next((line for line in told if line.startswith(word)), "")


def test_an_installation_is_made_as_written(served: Path) -> None:
    another_shell = served.parent / "checkout"
    enter, create, *_ = SERVED[1].splitlines()
    made = typed_in(another_shell, f"{enter}\n{create} --json")
    named = SERVED[1].replace("ws_…", made["workspace_id"]).splitlines()
    key = typed_in(another_shell, f"{enter}\n{named[2]} --json")
    # The token is a placeholder, which the application itself would refuse.
    connection = typed_in(another_shell, f"{enter}\n{named[3]} --no-verify --json")

    assert (2, 4) == (len(SERVED), len(named))
    assert key["key"].startswith("cgw_")
    assert ("notes", made["workspace_id"]) == (connection["connector"], connection["workspace_id"])
    assert 0o600 == stat.S_IMODE((served / ".env").stat().st_mode)


def typed_in(folder: Path, line: str) -> Mapping[str, Any]:
    """The JSON that is printed when *line* is typed in *folder*."""
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line],
        cwd=folder,
        env=PATHS,
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    answer: Mapping[str, Any] = json.loads(done.stdout)
    return answer
