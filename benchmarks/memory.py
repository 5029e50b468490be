"""A large installation: the time and memory per connection are the same with 100,000 connections as with 1,000."""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import Table, insert

from benchmarks.processes import Server
from connector_gateway.app import App
from connector_gateway.core.secrets.secret_keys import SecretKeys
from connector_gateway.core.secrets.vault import Vault
from connector_gateway.kit.events import EventSource, HookRequest, HookResult, PollContext
from connector_gateway.kit.identifiers import ConnectionId, WorkspaceId, ulid
from connector_gateway.kit.operation import Connector
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.settings import Settings
from connector_gateway.storage.sql import tables

FEW, MANY = 1_000, 100_000
BATCH = 2_000
WORKSPACES = 5
ROUNDS = 100
BAR = 2.0
BAR_BYTES = 1024
SETTLING_SECONDS = 3.0
POLL_SECONDS = 600.0
SECRET = "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU"
VAULT = Vault(SecretKeys([SECRET]))

Row = tuple[str, str, str, bool]
Work = Callable[[], Awaitable[object]]


async def poll(watch: PollContext[Any]) -> None:
    """Observe nothing."""


def receive(*_: HookRequest | Sequence[str]) -> HookResult:
    """Accept any delivery and observe nothing."""
    return HookResult()


CONNECTORS: Mapping[str, Connector[Any]] = {
    "quiet": Connector(
        name="quiet",
        summary="Nothing.",
        base_urls={"base": "http://127.0.0.1:9"},
        budgets={"all": Budget(1000, 1)},
        auth_headers=lambda _: {},
        client=lambda upstream: upstream,
        operations=(),
        event_source=EventSource(poll, POLL_SECONDS, "secret", receive),
    )
}


def rows() -> Iterator[Row]:
    """Yield each measurement: label, figure, bar, and whether the bar is reached."""
    with tempfile.TemporaryDirectory() as folder:
        files = {count: Path(folder) / f"{count}.db" for count in (FEW, MANY)}
        yield from asyncio.run(_compare(files))
        few, many = (_resident_bytes(file) for file in files.values())
    each = (many - few) / (MANY - FEW)
    figure = f"{each:.0f} bytes ({many / 2**20:.0f} MiB / {few / 2**20:.0f} MiB)"
    yield f"{MANY:,} connections over {FEW:,}: memory of an idle one", figure, f"<= {BAR_BYTES}", each <= BAR_BYTES


class Installation:
    """Create an installation with *count* connections, none of which is due to be polled."""

    def __init__(self, count: int, file: Path) -> None:
        self._random = Random(count)
        self._ids = [ConnectionId(f"conn_{ulid()}") for _ in range(count)]
        self._workspaces: list[WorkspaceId] = []
        self.app = _app(file)

    async def fill(self) -> None:
        """Insert the connections and their watches."""
        for number in range(WORKSPACES):
            created = await self.app.workspaces.create(f"bench {number}")
            self._workspaces.append(WorkspaceId(created["workspace_id"]))
        for start in range(0, len(self._ids), BATCH):
            connections = [self._connection(name) for name in self._ids[start : start + BATCH]]
            await self._insert(tables.connections, connections)
            await self._insert(tables.watches, [self._watch(row["connection_id"]) for row in connections])

    async def _insert(self, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        await self.app.database.write(lambda db: db.execute(insert(table), rows))

    def _connection(self, connection_id: ConnectionId) -> dict[str, Any]:
        return {
            "connection_id": connection_id,
            "workspace_id": self._random.choice(self._workspaces),
            "connector": "quiet",
            "name": "",
            "status": "active",
            "sealed": VAULT.encrypt({"token": "t"}, connection_id),
            "settings": {},
            "created_at": time.time(),
            "updated_at": time.time(),
            "deleted": False,
        }

    def _watch(self, connection_id: str) -> dict[str, Any]:
        due_at = time.time() + self._random.uniform(POLL_SECONDS / 2, POLL_SECONDS)
        return {
            "connection_id": connection_id,
            "connector": "quiet",
            "account": connection_id,
            "state": {"user": "u"},
            "due_at": due_at,
            "whole_at": due_at,
            "behind_since": None,
            "failures": 0,
            "sequence": 0,
            "observed_at": 0.0,
        }

    @property
    def works(self) -> Mapping[str, Work]:
        """The measured installation."""
        connections = self.app.connections
        return {
            "the first page": connections.page,
            "the first page of a workspace": lambda: connections.page(self._workspaces[1]),
            "one by its identifier, cold": lambda: connections.find(self._random.choice(self._ids)),
        }


def _app(file: Path) -> App:
    environment = {
        "GATEWAY_DATABASE_URL": f"sqlite:///{file}",
        "GATEWAY_SECRET_KEYS": SECRET,
        "GATEWAY_OPERATOR_TOKEN": "op_Zr4kT9wQm2XvB7nLc5Yd8HsJ1fGp6EaU",
        "GATEWAY_QUIET_HOOK_SECRET": "secret",
    }
    return App(Settings.read(environment, CONNECTORS), connectors=CONNECTORS)


async def _compare(files: Mapping[int, Path]) -> Sequence[Row]:
    """Measure both installations alternately, so that other load on the machine affects both."""
    async with AsyncExitStack() as stack:
        few, many = [Installation(count, file) for count, file in files.items()]
        for installation in (few, many):
            await stack.enter_async_context(installation.app.open())
            await installation.fill()
        return [await _row(name, few.works[name], many.works[name]) for name in few.works]


async def _row(name: str, few: Work, many: Work) -> Row:
    timed = [(await _seconds(few), await _seconds(many)) for _ in range(ROUNDS)]
    short, long = (statistics.median(times) for times in zip(*timed, strict=True))
    figure = f"{long / short:.2f}x ({long * 1e6:.0f} us / {short * 1e6:.0f} us)"
    return f"{MANY:,} connections over {FEW:,}: {name}", figure, f"<= {BAR:.0f}x", long <= BAR * short


async def _seconds(work: Work) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def _resident_bytes(file: Path) -> int:
    command = [sys.executable, "-m", "benchmarks.memory", str(file)]
    return int(subprocess.run(command, capture_output=True, check=True).stdout)


async def _serve(file: Path) -> int:
    """Serve the installation in *file* and return the resident bytes of this process once it has settled."""
    async with _app(file).http().lifespan():
        await asyncio.sleep(SETTLING_SECONDS)
        return Server(os.getpid(), "").memory_bytes


if __name__ == "__main__":
    sys.stdout.write(str(asyncio.run(_serve(Path(sys.argv[1])))))
    sys.stdout.flush()
    os._exit(0)
