"""Fixtures for tests of observed events: nodes on one database, and a small watched connector."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from connector_gateway.app import App
from connector_gateway.core.events.polling import PollScheduler
from connector_gateway.core.events.watches import WatchStore
from connector_gateway.kit.errors import InvalidSignature
from connector_gateway.kit.events import EventSource, HookRequest, HookResult, Observation, PollContext, Snapshot
from connector_gateway.kit.models import Result, UtcDatetime
from connector_gateway.kit.operation import Connector
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.settings import Settings
from harness.clocks import ManualClock

SECRET = "garden-secret"


class Sprouted(Result):
    """A plant grew."""

    event_id: str
    type: str
    plant: str
    observed_at: UtcDatetime


def sprouted(plant: str, bed: str | None = None, kind: str = "sprouted") -> Observation:
    """Return the observation that *plant* grew."""
    return Observation((plant, kind), kind, {"plant": plant}, bed)


class FakeConnector:
    """A fake connector whose polls follow a script of the test."""

    def __init__(self) -> None:
        self.polls: list[PollContext[Any]] = []
        self.script: list[Any] = []
        self.begun = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()

    async def poll(self, watch: PollContext[Any]) -> None:
        """Record the poll, wait at the gate, then perform the next step of the script."""
        self.polls.append(watch)
        self.begun.set()
        await self.gate.wait()
        await watch.commit(state={"seen": len(self.polls)}, account="garden-1")
        step = self.script.pop(0) if self.script else None
        if isinstance(step, BaseException):
            raise step
        if step is not None:
            await step(watch)

    @staticmethod
    def receive(delivery: HookRequest, secrets: Sequence[str]) -> HookResult:
        """Accept hooks signed with one of *secrets*, or a new secret while there are none."""
        signed_with = delivery.headers.get("x-secret")
        if signed_with is None and not secrets:
            return HookResult(secret=SECRET)
        if signed_with not in secrets:
            raise InvalidSignature("The delivery is not signed.")
        return RECEIPTS[delivery.body.decode()]

    @staticmethod
    def read(event: Mapping[str, Any], settings: Mapping[str, Any], state: Mapping[str, Any]) -> Sequence[Observation]:
        """Return the plant that grew, for the polled connections."""
        return [sprouted(event["plant"])] if state and not settings.get("deaf") else []


RECEIPTS = {
    "grew": HookResult(accounts=["garden-1"], event={"plant": "pushed"}),
    "poll": HookResult(accounts=["garden-1"], wakes=["bed 3", "bed 4"]),
    "gone": HookResult(accounts=["garden-1"], revoked=True),
    "lost": HookResult(accounts=["garden-1"], missed_since=1000.0),
    "whose": HookResult(about=("beds", "bed 7"), wakes=["bed 7"]),
    "hello": HookResult(reply={"challenge": "abc"}),
}


def connector(garden: FakeConnector, *, pushes: bool) -> Connector[Any]:
    """Return the fake connector as a declared connector."""
    return Connector(
        name="garden",
        summary="A garden.",
        base_urls={"base": "http://garden.invalid"},
        budgets={"all": Budget(1000, 1)},
        auth_headers=lambda credentials: credentials,
        client=lambda upstream: upstream,
        operations=(),
        event_source=EventSource(
            poll=garden.poll,
            poll_interval_seconds=60.0,
            signed_with="secret",
            vendor_issues_secret=True,
            receive=garden.receive,
            read=garden.read if pushes else None,
        ),
    )


@dataclass
class Node:
    """One process that observes changes. Its watchers are started explicitly."""

    app: App
    garden: FakeConnector
    clock: ManualClock
    tasks: list[PollScheduler] = field(default_factory=list)

    @property
    def watches(self) -> WatchStore:
        return self.app._watches

    async def connect(self, plan: Any = "paid", **settings: Any) -> Any:
        """Create a connection in its own workspace."""
        workspace = await self.app.workspaces.create("tests", plan)
        connection = await self.app.connections.create(
            workspace["workspace_id"], "garden", {"token": "garden-token"}, settings=settings or None
        )
        return connection["connection_id"]

    async def watch(self) -> PollScheduler:
        """Start this node's watchers."""
        poll_scheduler = self.app._new_poll_scheduler(self.app._new_call_executor())
        await poll_scheduler.__aenter__()
        self.tasks.append(poll_scheduler)
        return poll_scheduler

    async def see(self, connection_id: Any, *observations: Observation) -> None:
        """Add events to the feed."""
        await self.app._feed.add({connection_id: observations})

    async def list_plants(self, connection_id: Any, **filters: Any) -> list[str]:
        """Return the plants of a page of the feed."""
        page = await self.app._feed.page(connection_id, Sprouted, None, **{"limit": 100, **filters})
        return [event.plant for event in page.items]

    async def deliver(self, body: str, secret: str = SECRET) -> Mapping[str, Any]:
        """Deliver a hook."""
        headers = {"x-secret": secret}
        return await self.app.hooks.receive("garden", HookRequest(headers, body.encode(), self.clock.now()))

    async def deliver_secret(self) -> Mapping[str, Any]:
        """Deliver the connector's secret to the URL that the operator opened for it."""
        _, _, address = (await self.app.hooks.open("garden"))["url"].rpartition("/")
        return await self.app.hooks.receive("garden", HookRequest({}, b"", self.clock.now()), address)


@pytest.fixture
def garden() -> FakeConnector:
    return FakeConnector()


async def _node(database_url: str, garden: FakeConnector, clock: ManualClock, **settings: str) -> AsyncIterator[Node]:
    environment = {
        "GATEWAY_DATABASE_URL": database_url,
        "GATEWAY_SECRET_KEYS": "a secret that only tests know",
        "GATEWAY_OPERATOR_TOKEN": "op_0123456789abcdef",
    }
    connectors = {"garden": connector(garden, pushes="GATEWAY_GARDEN_HOOK_SECRET" in settings)}
    app = App(Settings.read(environment | settings, connectors), connectors=connectors, clock=clock)
    async with app.database, app._transport:
        await app._processes.heartbeat()
        node = Node(app, garden, clock)
        try:
            yield node
        finally:
            for poll_scheduler in node.tasks:
                await poll_scheduler.__aexit__()


@pytest.fixture
async def node(database_url: str, garden: FakeConnector, clock: ManualClock) -> AsyncIterator[Node]:
    """A process whose vendor only reports where to poll."""
    async for started in _node(database_url, garden, clock):
        yield started


@pytest.fixture
async def push_node(database_url: str, garden: FakeConnector, clock: ManualClock) -> AsyncIterator[Node]:
    """A process whose vendor delivers the changes themselves."""
    async for started in _node(database_url, garden, clock, GATEWAY_GARDEN_HOOK_SECRET=f"{SECRET},older"):
        yield started


def forget(name: str) -> Snapshot:
    """Return the end of a snapshot."""
    return Snapshot("beds", name, None)
