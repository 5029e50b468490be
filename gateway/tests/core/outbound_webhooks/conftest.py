"""A workspace with a watched connection and a receiver of its events; on both databases."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import pytest
from sqlalchemy import Connection, delete

from connector_gateway.app import App
from connector_gateway.core.outbound_webhooks.delivery_worker import DeliveryWorker
from connector_gateway.kit.context import OperationContext
from connector_gateway.kit.models import Page, Params
from connector_gateway.kit.operation import reads
from connector_gateway.settings import Settings
from connector_gateway.storage.sql import tables
from gateway.tests.core.events.conftest import FakeConnector, Sprouted, connector, sprouted
from harness.clocks import ManualClock
from harness.webhook_receiver import Inbox, run_receiver


class ReadGrowth(Params):
    """A plant grew or withered."""

    type: Literal["sprouted", "withered"] | None = None


@reads("GET /events")
async def read_events(call: OperationContext[Any], params: ReadGrowth) -> Page[Sprouted]:
    """Read the plants."""
    raise NotImplementedError


@dataclass
class DeliveryNode:
    """A process that delivers when the test requests it."""

    app: App
    clock: ManualClock
    workspace_id: Any
    connection_id: Any

    @property
    def deliverer(self) -> DeliveryWorker:
        return self.app.delivery_worker

    async def connect(self) -> Any:
        """Create another connection in the workspace."""
        return (await self.app.connections.create(self.workspace_id, "garden", {"token": "garden-token"}))[
            "connection_id"
        ]

    async def webhook(self, url: str, **more: Any) -> dict[str, Any]:
        """Create a webhook in the workspace."""
        return await self.app.webhooks.create(self.workspace_id, url, **more)

    async def see(self, *list_plants: str, connection_id: Any = None, kind: str = "sprouted") -> None:
        """Record that plants grew or withered."""
        seen = [replace(sprouted(plant), type=kind) for plant in list_plants]
        await self.app._feed.add({connection_id or self.connection_id: seen})

    async def expire(self) -> None:
        """Delete the events of the connection, as if they had expired."""
        expired = delete(tables.events).where(tables.events.c.connection_id == self.connection_id)
        await self.app.database.write(lambda db: db.execute(expired).rowcount)

    async def deliver(self) -> int:
        """Deliver due events until all deliveries have ended. Returns the number of positions."""
        begun = await self.deliverer.deliver()
        await self.deliverer.join()
        return begun

    async def runs(self) -> list[tuple[str, int | None]]:
        """Return code and status of the deliveries in the history, oldest first."""
        rows = await self.app.runs.list(self.workspace_id, operation="deliver_events")
        return [(row["code"], row["http_status"]) for row in reversed(rows)]


def _forget(db: Connection) -> None:
    db.execute(delete(tables.webhook_positions))
    db.execute(delete(tables.webhooks))


def settings(database_url: str, **more: str) -> dict[str, str]:
    return {
        "GATEWAY_DATABASE_URL": database_url,
        "GATEWAY_SECRET_KEYS": "a secret that only tests know",
        "GATEWAY_OPERATOR_TOKEN": "op_0123456789abcdef",
    } | more


async def open_node(database_url: str, clock: ManualClock, **more: str) -> AsyncIterator[DeliveryNode]:
    """Yield a process on a database with a new workspace and connection."""
    deliverer = {"garden": replace(connector(FakeConnector(), pushes=False), operations=(read_events,))}
    app = App(Settings.read(settings(database_url, **more), deliverer), connectors=deliverer, clock=clock)
    async with app.database, app._sender:
        workspace_id = (await app.workspaces.create("tests"))["workspace_id"]
        node = DeliveryNode(app, clock, workspace_id, None)
        node.connection_id = await node.connect()
        yield node


@pytest.fixture
async def node(common_database_url: str, clock: ManualClock) -> AsyncIterator[DeliveryNode]:
    """A process that can deliver to this machine. It leaves no webhooks to later tests."""
    async for deliverer in open_node(common_database_url, clock, GATEWAY_PRIVATE_WEBHOOKS="on"):
        yield deliverer
        await deliverer.app.database.write(_forget)


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    with run_receiver() as receiver:
        yield receiver
