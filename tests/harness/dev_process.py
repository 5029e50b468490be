"""``dev`` as a separate process, and free ports for it."""

import json
import os
import secrets
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from harness.subprocesses import start
from harness.wait import wait_until


@dataclass(frozen=True)
class Dev:
    """A running ``dev`` and its description for tools."""

    process: subprocess.Popen[str]
    described: dict[str, Any]
    data: Path

    def call(self, connector: str, path: str, key: str = "write", **query: Any) -> httpx.Response:
        """Call an operation that reads."""
        return httpx.get(
            f"{self.described['base_url']}/v1/connectors/{connector}{path}",
            params={"connection_id": self.described["connections"][connector], **query},
            headers={"Authorization": f"Bearer {self.described['keys'][key]}"},
        )


@contextmanager
def run_dev(data: Path, port: int, *options: str, **settings: str) -> Iterator[Dev]:
    """Run the command with *options* and *settings*. The sandbox has the ports after *port*."""
    description = data / "dev.json"
    description.unlink(missing_ok=True)
    ports = ["--port", str(port), "--sandbox-port", str(port + 1)]
    process = start(
        "dev", "--data", str(data), *ports, *options, env={**os.environ, **settings}, stdout=subprocess.PIPE, text=True
    )
    try:
        wait_until(lambda: description.exists() or process.poll() is not None)
        yield Dev(process, json.loads(description.read_text()), data)
    finally:
        process.kill()
        process.communicate(timeout=60)


def free_block() -> int:
    """Return the first of ten free ports below the ephemeral range."""
    first = secrets.choice(range(10_000, 30_000, 10))
    return first if all(map(is_free, range(first, first + 10))) else free_block()


def is_free(port: int) -> bool:
    """Return True if nothing listens on *port*."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0
