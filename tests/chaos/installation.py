"""Three gateways on one database and one store, in front of one sandbox."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from chaos.wall_clock import WallClock
from connector_gateway.connectors import CONNECTOR_NAMES
from harness.databases import postgres_on
from harness.gateway_server import OPERATOR, settings_for
from harness.ports import free_port
from harness.subprocesses import TESTS
from harness.valkey import Server
from harness.wait import until
from simulation.accounts import Way
from workspace_sandbox import EMULATORS
from workspace_sandbox.sandbox import Sandbox

GATEWAYS = 3
SETTLE_SECONDS = 8.0
"""Longer than a fault delays any request, even on a busy machine."""

WATCHED = {"notes": "60", "chat": "16"}
"""The poll interval of each connection. A poll of notes uses two thirds of its budget for eight seconds."""

SMALL_LIMIT = 120
READY_SECONDS = 60.0


class Node:
    """One gateway, which uses the same port at every start."""

    def __init__(self, name: str, folder: Path, environment: Mapping[str, str]) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.clock = WallClock(folder / f"{name}.clock")
        self._clock_file = folder / f"{name}.clock"
        self.log = folder / f"{name}.log"
        """The path of its log."""

        self._environment = environment
        self.process: subprocess.Popen[Any] | None = None

    def start(self) -> None:
        """Start it, without waiting until it is ready."""
        command = [sys.executable, "-m", "chaos.wall_clock", str(self._clock_file), "serve", "--port", str(self.port)]
        environment = {**os.environ, **self._environment}
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=TESTS, env=environment, stdout=log, stderr=log)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, unless it has exited."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    @property
    def ended(self) -> bool:
        """Return True if it is not running."""
        return self.process is None or self.process.poll() is not None


class Installation:
    """The gateways, the sandbox, and a caller's key and connections."""

    def __init__(
        self, sandbox: Sandbox, http: httpx.AsyncClient, database_url: str, store: Server, folder: Path
    ) -> None:
        self.sandbox = sandbox
        self.http = http
        self.database_url = database_url
        self.store = store
        self.small_key = ""
        """A key with a limit of ``SMALL_LIMIT`` calls per minute."""

        self.ways: list[Way] = []
        """Two connections to each account, in separate workspaces."""

        environment = {
            "GATEWAY_DATABASE_URL": database_url,
            "GATEWAY_SHARED_URL": store.url,
            "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
            "GATEWAY_OPERATOR_TOKEN": OPERATOR,
            "GATEWAY_UPSTREAM_TIMEOUT_SECONDS": "2",
            "GATEWAY_GRACE_SECONDS": "1",
            "GATEWAY_STORAGE_SECONDS": "3",
            **{f"GATEWAY_{name.upper()}_SETTLE_SECONDS": str(SETTLE_SECONDS) for name in CONNECTOR_NAMES},
            **{f"GATEWAY_{name.upper()}_WATCH_SECONDS": seconds for name, seconds in WATCHED.items()},
            **settings_for(sandbox),
        }
        self.nodes = [Node(f"gateway-{number}", folder, environment) for number in range(GATEWAYS)]

    @property
    def emulators(self) -> Mapping[str, Any]:
        """The emulators by connector."""
        return self.sandbox.emulators

    async def request(self, connector: str, method: str, path: str, body: Any, headers: Mapping[str, str]) -> Any:
        """Return the response of an emulator to a client other than the gateway."""
        address = self.emulators[connector].context.addresses["base"]
        return (await self.http.request(method, address + path, json=body, headers=dict(headers))).json()

    async def ready(self, node: Node) -> bool:
        """Return True if *node* is ready."""
        try:
            return (await self.http.get(f"{node.url}/readyz", timeout=3)).status_code == 200
        except httpx.TransportError:
            return False

    async def wait_until_ready(self) -> None:
        """Wait until every gateway is ready."""

        async def ready() -> bool:
            return all(await asyncio.gather(*map(self.ready, self.nodes)))

        await until(ready, READY_SECONDS)

    async def manage(self, method: str, path: str, **body: Any) -> Any:
        """Send a management request, which must succeed."""
        headers = {"Authorization": f"Bearer {OPERATOR}"}
        response = await self.http.request(method, self.nodes[0].url + path, headers=headers, json=body or None)
        assert 200 == response.status_code, response.text
        return response.json()["data"]

    async def prepare(self) -> None:
        """Create two workspaces, each with a key and a connection to each account."""
        # Otherwise a fault that throttles for a second without a delay counts as a lockout of half a minute.
        self.emulators["tables"].context.knobs["retry_after"] = True
        for name in ("here", "elsewhere"):
            workspace_id = (await self.manage("POST", "/v1/workspaces", name=name))["workspace_id"]
            connections = {connector: await self._connect(workspace_id, connector) for connector in self.emulators}
            self.ways.append(Way(await self._new_key(workspace_id, 1_000_000), connections))
            self.small_key = await self._new_key(workspace_id, SMALL_LIMIT)

    async def _connect(self, workspace_id: str, connector: str) -> str:
        watched = {"settings": {"channels": ["general"]}} if connector == "chat" else {}
        connection = await self.manage(
            "POST",
            "/v1/connections",
            workspace_id=workspace_id,
            connector=connector,
            credentials=self.emulators[connector].credentials(),
            **watched,
        )
        return str(connection["connection_id"])

    async def _new_key(self, workspace_id: str, calls_per_minute: int) -> str:
        created = await self.manage(
            "POST", "/v1/keys", workspace_id=workspace_id, scope="read_write", calls_per_minute=calls_per_minute
        )
        return str(created["key"])

    async def end(self) -> list[int]:
        """Shut down every gateway, and return their exit codes."""
        for node in self.nodes:
            node.send(signal.SIGCONT)
            node.send(signal.SIGTERM)
        return [await asyncio.to_thread(node.process.wait, 60) for node in self.nodes if node.process is not None]


@asynccontextmanager
async def run_installation(postgres_server: str, store: Server, folder: Path) -> AsyncIterator[Installation]:
    """Run an installation. It is killed at the end of the block unless it was shut down."""
    sandbox = Sandbox({name: EMULATORS[name] for name in CONNECTOR_NAMES})
    async with AsyncExitStack() as stack:
        http = await stack.enter_async_context(httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=None)))
        await sandbox.start()
        stack.push_async_callback(sandbox.stop)
        installation = Installation(sandbox, http, postgres_on(postgres_server), store, folder)
        try:
            for node in installation.nodes:
                node.start()
            await installation.wait_until_ready()
            await installation.prepare()
            yield installation
        finally:
            for node in installation.nodes:
                node.send(signal.SIGKILL)
                if node.process is not None:
                    node.process.wait()
