"""A shell in the folder of a running ``dev``, as a new user has it."""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from examples.code_blocks import decoded
from harness.wait import wait_until

PATHS = {"PATH": f"{sys.prefix}/bin:{os.environ['PATH']}"}
"""Environment variables that are unrelated to an installation."""

FAST_BUDGET = {"GATEWAY_NOTES_BUDGET": "1000/1"}
"""At the default pace, reading some 160 databases once takes a minute and a half."""

LONGEST_SECONDS = 300
"""The timeout of a block: much longer than needed, except on a busy machine."""

EXPORTS = 'eval "$(.venv/bin/connector-gateway env)"\n'
"""The first line in a second shell."""


@dataclass(frozen=True)
class Shell:
    """A shell in the folder of a running ``dev``, with the exports applied."""

    folder: Path
    variables: Mapping[str, str]

    def type(self, lines: str) -> str:
        """Type *lines*, each of which must succeed, and return their output."""
        return self.run(["bash", "-euo", "pipefail", "-c", lines])

    def run(self, command: list[str]) -> str:
        """Run a program, which must succeed, and return its output."""
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
        assert 0 == done.returncode, done.stderr
        return done.stdout

    def answers(self, lines: str) -> list[Mapping[str, Any]]:
        """Type *lines*, and return the printed JSON values."""
        return list(decoded(self.type(lines)))

    @property
    def described(self) -> Mapping[str, Any]:
        """Return the description of the installation that ``dev`` created."""
        description: Mapping[str, Any] = json.loads((self.folder / ".data" / "dev.json").read_text(encoding="utf-8"))
        return description


def exported(folder: Path) -> Shell:
    """Run a shell in *folder* with the exports, which are read once because a command takes a second of CPU."""
    before = Shell(folder, os.environ)
    variables = before.type(f"{EXPORTS}env -0").split("\0")
    return Shell(folder, dict(one.split("=", 1) for one in variables if one))


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("checkout")
    (folder / ".venv").symlink_to(sys.prefix)
    port = secrets.choice(range(10_000, 30_000, 10))
    command = [".venv/bin/connector-gateway", "dev", "--port", str(port), "--sandbox-port", str(port + 1), "--quiet"]
    process = subprocess.Popen(command, cwd=folder, env={**os.environ, **FAST_BUDGET})
    described = folder / ".data" / "dev.json"
    try:
        wait_until(lambda: described.exists() or process.poll() is not None)
        sandbox = json.loads(described.read_text())["sandbox_url"]
        httpx.post(f"{sandbox}/_control/notes/knobs", json={"limits": False}).raise_for_status()
        yield exported(folder)
    finally:
        process.terminate()
        process.wait(60)


def first_line(lines: Iterable[str], word: str) -> str:
    """Return the output up to a line that begins with *word*."""
    return next((line for line in lines if line.startswith(word)), "")


def typed_in(folder: Path, line: str) -> Mapping[str, Any]:
    """Type *line* in *folder*, and return the printed JSON."""
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
    response: Mapping[str, Any] = json.loads(done.stdout)
    return response
