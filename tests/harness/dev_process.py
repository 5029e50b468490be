"""``dev`` as a separate process."""

import json
import os
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
