"""The gateway as a separate process, which can be killed."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from harness.databases import sqlite_in
from harness.gateway_server import FAST, OPERATOR, WIDE
from harness.ports import free_port
from harness.subprocesses import start
from harness.wait import wait_until
from workspace_sandbox.sandbox import Sandbox


@dataclass
class CallThread:
    """A running call on a separate thread. Its response is None if the connection broke."""

    call: Callable[[], httpx.Response]
    answer: httpx.Response | None = None
    thread: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.answer = self.call()
        except httpx.TransportError:
            self.answer = None

    def ended(self) -> httpx.Response | None:
        """Wait for the end of the call, and return the response."""
        self.thread.join(30)
        return self.answer


@dataclass
class Installation:
    """One database and port, and the processes that serve it one after the other."""

    sandbox: Sandbox
    folder: Path
    http: httpx.Client
    settings: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.port, self.log = free_port(), self.folder / "gateway.log"
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.admin_url = f"http://127.0.0.1:{self.settings.get('GATEWAY_ADMIN_PORT', self.port)}"

    def start(self) -> None:
        """Serve, and wait until the process is ready."""
        environment = {
            "GATEWAY_DATABASE_URL": sqlite_in(self.folder),
            "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
            "GATEWAY_OPERATOR_TOKEN": OPERATOR,
            **{
                f"GATEWAY_{name.upper()}_{host.upper()}_URL": address
                for name, emulator in self.sandbox.emulators.items()
                for host, address in emulator.context.addresses.items()
            },
            **{f"GATEWAY_{name.upper()}_BUDGET": WIDE for name in self.sandbox.emulators},
        }
        variables = {**os.environ, **environment, **FAST, **self.settings}
        with self.log.open("wb") as log:
            self.process = start("serve", "--port", str(self.port), env=variables, stderr=log)
        wait_until(self.ready)

    def ready(self) -> bool:
        """Return True if it is ready."""
        assert self.process is not None
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.http.get(f"{self.base_url}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def end(self, number: signal.Signals = signal.SIGKILL) -> int:
        """Send the process a signal, and wait for its exit code."""
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(30)

    def manage(self, method: str, path: str, **body: Any) -> Any:
        """Send a management request, which must succeed."""
        headers = {"Authorization": f"Bearer {OPERATOR}"}
        response = self.http.request(method, self.admin_url + path, headers=headers, json=body or None)
        assert 200 == response.status_code, response.text
        return response.json()["data"]

    def prepare(self) -> None:
        """Create a workspace, a key and the connections."""
        workspace_id = self.manage("POST", "/v1/workspaces", name="tests")["workspace_id"]
        self.key = self.manage("POST", "/v1/keys", workspace_id=workspace_id, scope="read_write")["key"]
        self.connections = {
            name: self.manage(
                "POST",
                "/v1/connections",
                workspace_id=workspace_id,
                connector=name,
                credentials=emulator.credentials(),
            )["connection_id"]
            for name, emulator in self.sandbox.emulators.items()
        }

    def call(self, method: str, path: str, **body: Any) -> httpx.Response:
        """Call an operation."""
        connector = path.split("/")[1]
        headers = {"Authorization": f"Bearer {self.key}"}
        sent = {"connection_id": self.connections[connector]} | body
        return self.http.request(method, f"{self.base_url}/v1/connectors{path}", headers=headers, json=sent)


@contextmanager
def run_installation(sandbox: Sandbox, folder: Path, **settings: str) -> Iterator[Installation]:
    """Run a gateway process in front of *sandbox*, ready for calls."""
    with httpx.Client(timeout=30) as http:
        installation = Installation(sandbox, folder, http, settings)
        try:
            installation.start()
            installation.prepare()
            yield installation
        finally:
            if installation.process is not None and installation.process.poll() is None:
                installation.end()
