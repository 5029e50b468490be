"""All rooms behind one gateway, with budgets that nobody waits for and doubts that are settled at once."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.upstream_files.remote_files import PublicFileFetcher
from connector_gateway.kit.context import RemoteFile
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.upstream.budget import Budget
from harness.gateway_server import Gateway, run_gateway
from harness.operation_calls import Reading, VendorView, calls_of
from simulation.writes import KINDS, PublicFiles, World
from workspace_sandbox.sandbox import Sandbox

SETTLE_SECONDS = 0.06
GRACE_SECONDS = 0.03

UNHURRIED = {
    name: replace(room, budgets=dict.fromkeys(room.budgets, Budget(100_000, per_seconds=1)))
    for name, room in CONNECTORS.items()
}


def only(room: str) -> dict[str, AnyConnector]:
    """*room* alone, with budgets that nobody waits for."""
    return {room: UNHURRIED[room]}


class NoNetwork(PublicFileFetcher):
    """Files behind public links, without a network."""

    async def fetch(self, url: str, keep_bytes: int) -> RemoteFile:
        return await PublicFiles().fetch(url, keep_bytes)


@dataclass
class AllConnectors:
    """A gateway with all rooms, and the third parties behind it."""

    gateway: Gateway
    world: World

    def readings(self, room: str) -> Sequence[Reading]:
        """The calls of a room that change nothing; the first of them asks the third party each time."""
        readings: Sequence[Reading] = calls_of(room).readings(self.gateway.examples(room))
        return readings

    def newly_connected(self, room: str, **settings: Any) -> Gateway:
        """The caller with a connection that remembers nothing."""
        credentials = self.gateway.sandbox.emulators[room].credentials()
        workspace_id = WorkspaceId(self.gateway.workspace_id)
        made = self.gateway.run(self.gateway.app.connections.create(workspace_id, room, credentials, settings=settings))
        return replace(self.gateway, connections={room: made["connection_id"]})

    def prepare(self, name: str, content: str) -> None:
        """Make what a write works on."""

        async def prepare() -> None:
            await KINDS[name].prepare(self.world, content)

        self.gateway.run(prepare())


@contextmanager
def run_all_connectors(sandbox: Sandbox, folder: Path, **settings: Any) -> Iterator[AllConnectors]:
    """A started gateway with all rooms in front of *sandbox*; *settings* are those of ``serving``."""
    pace = {f"GATEWAY_{room.upper()}_SETTLE_SECONDS": str(SETTLE_SECONDS) for room in CONNECTORS}
    more: dict[str, Any] = pace | {"GATEWAY_GRACE_SECONDS": str(GRACE_SECONDS)} | settings
    with run_gateway(sandbox, folder, connectors=UNHURRIED, files=NoNetwork(2, 12_000_000), **more) as gateway:
        for room in CONNECTORS:
            gateway.clear(room)
        yield AllConnectors(gateway, World(VendorView(sandbox)))
