"""All connectors behind one gateway, with budgets without waits, and writes that settle immediately."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from connector_gateway.connectors import CONNECTORS
from connector_gateway.core.public_urls.file_fetcher import PublicFileFetcher
from connector_gateway.kit.context import RemoteFile
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.upstream.budget import Budget
from harness.gateway_server import Gateway, run_gateway
from harness.operation_calls import ReadCall, VendorView, calls_of
from simulation.writes import KINDS, PublicFiles, World
from workspace_sandbox.sandbox import Sandbox

SETTLE_SECONDS = 0.06
GRACE_SECONDS = 0.03

UNTHROTTLED = {
    name: replace(connector, budgets=dict.fromkeys(connector.budgets, Budget(100_000, per_seconds=1)))
    for name, connector in CONNECTORS.items()
}


def only(connector: str) -> dict[str, AnyConnector]:
    """Return only *connector*, with budgets without waits."""
    return {connector: UNTHROTTLED[connector]}


class NoNetwork(PublicFileFetcher):
    """Files behind public links, without a network."""

    async def fetch(self, url: str, keep_bytes: int) -> RemoteFile:
        return await PublicFiles().fetch(url, keep_bytes)


@dataclass
class AllConnectors:
    """A gateway with all connectors, and the vendors behind it."""

    gateway: Gateway
    world: World

    def read_calls(self, connector: str) -> Sequence[ReadCall]:
        """Return the calls of a connector that change nothing. The first one sends a vendor request each time."""
        readings: Sequence[ReadCall] = calls_of(connector).list_reads(self.gateway.examples(connector))
        return readings

    def with_new_connection(self, connector: str, **settings: Any) -> Gateway:
        """Return the caller with a connection that has an empty cache."""
        credentials = self.gateway.sandbox.emulators[connector].credentials()
        workspace_id = WorkspaceId(self.gateway.workspace_id)
        connection = self.gateway.run(
            self.gateway.app.connections.create(workspace_id, connector, credentials, settings=settings)
        )
        return replace(self.gateway, connections={connector: connection["connection_id"]})

    def prepare(self, name: str, content: str) -> None:
        """Create the target object of a write."""

        async def prepare() -> None:
            await KINDS[name].prepare(self.world, content)

        self.gateway.run(prepare())


@contextmanager
def run_all_connectors(sandbox: Sandbox, folder: Path, **settings: Any) -> Iterator[AllConnectors]:
    """Run a gateway with all connectors in front of *sandbox*; *settings* are those of ``run_gateway``."""
    pace = {f"GATEWAY_{connector.upper()}_SETTLE_SECONDS": str(SETTLE_SECONDS) for connector in CONNECTORS}
    more: dict[str, Any] = pace | {"GATEWAY_GRACE_SECONDS": str(GRACE_SECONDS)} | settings
    with run_gateway(sandbox, folder, connectors=UNTHROTTLED, files=NoNetwork(2, 12_000_000), **more) as gateway:
        for connector in CONNECTORS:
            gateway.clear(connector)
        yield AllConnectors(gateway, World(VendorView(sandbox)))
