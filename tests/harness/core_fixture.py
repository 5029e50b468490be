"""The gateway's core without HTTP, in front of a scripted vendor."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json, to_json

from connector_gateway.app import App
from connector_gateway.core.access.keys import Caller
from connector_gateway.core.calls.arguments import Arguments, Body
from connector_gateway.core.calls.idempotency_key_format import NormalizedKey
from connector_gateway.core.calls.response_envelope import Envelope
from connector_gateway.core.history.runs import Run
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.context import OperationContext
from connector_gateway.kit.errors import GatewayError, InDoubtReason, OutcomeUnknown, UpstreamRefused
from connector_gateway.kit.errors.vendor_error_table import ErrorTable, Reason, VendorRejection
from connector_gateway.kit.identifiers import ulid
from connector_gateway.kit.models import Cursor, IdempotencyKey, Page, Params, Result
from connector_gateway.kit.operation import Connector, reads, writes
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.kit.upstream.client import UpstreamClient
from connector_gateway.kit.upstream.pool import UpstreamResponse
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep
from connector_gateway.settings import Settings

SETTLE_SECONDS = 60.0


@dataclass(frozen=True)
class Failure:
    """The outcome of one attempt, and whether the thing is created nevertheless."""

    error: BaseException
    done: bool = False


def in_doubt(doubt: InDoubtReason, *, done: bool = False) -> Failure:
    """Return an attempt with an unknown outcome."""
    return Failure(OutcomeUnknown("The outcome is unknown.", doubt=doubt), done)


REJECTED = Failure(UpstreamRefused("No."))


@dataclass
class FakeUpstream:
    """The vendor, which stores things and finds them again."""

    things: list[str] = field(default_factory=list)
    troubles: list[Failure | None] = field(default_factory=list)
    """The failures of the next attempts, in order."""

    searches: list[SentStep] = field(default_factory=list)
    """The searches so far."""

    searched_at: list[float] = field(default_factory=list)
    """The times of the searches by the gateway's clock."""

    created_at: dict[str, float] = field(default_factory=dict)
    """The times at which others created things."""

    name: str = field(default_factory=ulid)
    """The account that numbers the things."""

    labels: dict[str, str] = field(default_factory=dict)
    """The current names of the things."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    visited: asyncio.Event = field(default_factory=asyncio.Event)
    request_count: int = 0

    def __post_init__(self) -> None:
        self.gate.set()

    async def wait_for_request(self) -> None:
        """Wait until a request waits at the gate."""
        await self.visited.wait()

    async def put(self, name: str) -> str:
        self.request_count += 1
        self.visited.set()
        await self.gate.wait()
        trouble = self.troubles.pop(0) if self.troubles else None
        if trouble is None or trouble.done:
            self.things.append(name)
        if trouble is not None:
            raise trouble.error
        return f"thing {len(self.things)}"

    def label(self, thing_id: str, label: str) -> None:
        trouble = self.troubles.pop(0) if self.troubles else None
        if trouble is None or trouble.done:
            self.labels[thing_id] = label
        if trouble is not None:
            raise trouble.error


class PutThing(Params):
    """A thing to create."""

    name: str
    colour: str | None = None
    idempotency_key: IdempotencyKey | None = None


class PlaceThing(Params):
    """A thing to create on a board."""

    board: str
    building: str
    name: str


class ListThings(Params):
    """Parameters of a list of things."""

    colour: str | None = None
    limit: int = 2
    cursor: Cursor | None = None


class Thing(Result):
    """A created thing."""

    thing_id: str


class ShelfClient:
    """A client of the vendor, for one run."""

    def __init__(self, shelf: FakeUpstream, upstream: UpstreamClient) -> None:
        self.shelf = shelf
        self._upstream = upstream

    async def put(self, name: str) -> str:
        self._upstream.written_at, self._upstream.write_response = self._upstream.service.clock.now(), None
        try:
            return await self.shelf.put(name)
        except GatewayError as error:
            # An error in doubt has no response, unless the vendor itself has failed.
            if error.doubt in {None, "failed"}:
                self._upstream.write_response = UpstreamResponse(500 if error.doubt else 400, {}, b"")
            raise

    async def label(self, thing_id: str, label: str) -> None:
        if self._upstream.before_write is not None:
            await self._upstream.before_write()
        self._upstream.written_at = self._upstream.service.clock.now()
        self.shelf.label(thing_id, label)


async def _put(call: OperationContext[ShelfClient], intent: StepInput, _: str) -> StepResult:
    return {"id": await call.upstream.put(intent["name"])}


async def _find(call: OperationContext[ShelfClient], intent: StepInput, sent: SentStep) -> list[Match]:
    shelf = call.upstream.shelf
    shelf.searches.append(sent)
    shelf.searched_at.append(call.clock.now())
    return [
        Match({"id": f"thing {number}"}, f"thing {number}", shelf.created_at.get(f"thing {number}"))
        for number, name in enumerate(shelf.things, 1)
        if name == intent["name"]
    ]


async def _label(call: OperationContext[ShelfClient], intent: StepInput, _: str) -> StepResult:
    await call.upstream.label("thing 1", intent["name"])
    return {}


async def _find_label(call: OperationContext[ShelfClient], intent: StepInput, _: SentStep) -> list[Match]:
    return [Match({})] if call.upstream.shelf.labels.get("thing 1") == intent["name"] else []


async def _find_nothing(call: OperationContext[ShelfClient], intent: StepInput, sent: SentStep) -> list[Match]:
    return []


PUT = WriteStep("put the thing", _put, _find)
"""Conclusive evidence."""

MAKE = WriteStep("make the thing", _put, _find, object_kind="thing", account_scope=lambda intent: str(intent["shelf"]))
"""Circumstantial evidence."""

LABEL = WriteStep(
    "label the thing",
    _label,
    _find_label,
    account_scope=lambda intent: str(intent["account"]),
    changes=lambda intent: [f"thing 1 of {intent['shelf']}"],
)
"""A change that a later one can overwrite."""

BLIND = WriteStep("put the thing", _put, _find_nothing)

UNPROVABLE = WriteStep[OperationContext[ShelfClient]]("put the thing", _put, None)


@writes("POST /things")
async def put_thing(call: OperationContext[ShelfClient], params: PutThing) -> Thing:
    """Create a thing."""
    return Thing(thing_id=(await call.step(PUT, {"name": params.name}))["id"])


@writes("POST /boards/{board}/things", targets=["building"])
async def place_thing(call: OperationContext[ShelfClient], params: PlaceThing) -> Thing:
    """Create a thing on a board."""
    return Thing(thing_id=(await call.step(PUT, {"name": params.name}))["id"])


@writes("POST /made")
async def make_thing(call: OperationContext[ShelfClient], params: PutThing) -> Thing:
    """Create a thing that cannot be distinguished from others of its name."""
    return Thing(thing_id=(await call.step(MAKE, on_shelf(call, params)))["id"])


@writes("POST /labelled")
async def label_thing(call: OperationContext[ShelfClient], params: PutThing) -> Thing:
    """Change the name of the first thing."""
    account = call.account_id or call.upstream.shelf.name
    await call.step(LABEL, {**on_shelf(call, params), "account": account})
    return Thing(thing_id="thing 1")


def on_shelf(call: OperationContext[ShelfClient], params: PutThing) -> StepInput:
    """Create a thing whose number the vendor assigns."""
    return {"name": params.name, "shelf": call.upstream.shelf.name}


@writes("POST /left")
async def cover_thing(call: OperationContext[ShelfClient], params: PutThing) -> Thing:
    """Put a lid on the first thing if an interrupted call left it without one, else on a new one."""
    intent = on_shelf(call, params)
    left = await call.plan(lambda: call.adopt(MAKE, intent, "thing 1"))
    thing_id = "thing 1" if left else (await call.step(MAKE, intent))["id"]
    await call.step(PUT, {"name": f"lid of {thing_id}"})
    return Thing(thing_id=thing_id)


@writes("POST /blind")
async def put_blindly(call: OperationContext[ShelfClient], params: PutThing) -> Thing:
    """Create a thing that cannot be searched."""
    return Thing(thing_id=(await call.step(BLIND, {"name": params.name}))["id"])


@writes("POST /unprovable")
async def put_unprovably(call: OperationContext[ShelfClient], params: PutThing) -> Thing:
    """Create a thing for which there is no search."""
    return Thing(thing_id=(await call.step(UNPROVABLE, {"name": params.name}))["id"])


@writes("POST /pairs")
async def put_pair(call: OperationContext[ShelfClient], params: PutThing) -> Thing:
    """Create two things."""
    await call.step(PUT, {"name": params.name})
    return Thing(thing_id=(await call.step(PUT, {"name": params.name + " too"}))["id"])


@reads("GET /things")
async def list_things(call: OperationContext[ShelfClient], params: ListThings) -> Page[Thing]:
    """List the things."""
    shelf = call.upstream.shelf
    start = call.position["start"] if call.position else 0
    names = shelf.things[start : start + params.limit]
    more = start + params.limit < len(shelf.things)
    return Page[Thing](
        items=[Thing(thing_id=name) for name in names], position={"start": start + params.limit} if more else None
    )


class CoreFixture:
    """The core with one workspace, one caller and one connection."""

    def __init__(self, app: App, shelf: FakeUpstream) -> None:
        self.app = app
        self.shelf = shelf
        self.clock = app.clock
        self.gateway = app._new_call_executor()

    async def prepare(self) -> None:
        """Create the objects that a call requires."""
        self.workspace_id = (await self.app.workspaces.create("tests"))["workspace_id"]
        self.caller = await self.new_caller(calls_per_minute=100_000)
        self.connection_id = await self.new_connection()

    async def new_caller(self, **more: Any) -> Caller:
        created = await self.app.keys.create(self.workspace_id, "read_write", **more)
        return await self.app.keys.authenticate(f"Bearer {created['key']}")

    async def new_connection(self) -> str:
        created = await self.app.connections.create(self.workspace_id, "shelf", {"token": "rehearsed-secret"})
        return str(created["connection_id"])

    async def put(
        self,
        name: str = "cup",
        key: str | None = "key-1",
        *,
        operation: Any = put_thing,
        header: str | None = None,
        **more: Any,
    ) -> Envelope:
        """Create a thing as a caller."""
        body = {"connection_id": self.connection_id, "name": name} | ({"idempotency_key": key} if key else {}) | more
        arguments = Arguments(
            path={},
            body=Body(to_json(body)),
            key=None if header is None else NormalizedKey.parse_header(header.encode()),
        )
        return await self.gateway.call(Run("test"), self.caller, "shelf", operation, arguments)

    async def list(self, caller: Caller | None = None, **query: str) -> Envelope:
        """List the things as a caller."""
        arguments = Arguments(path={}, query=list(({"connection_id": self.connection_id} | query).items()))
        return await self.gateway.call(Run("test"), caller or self.caller, "shelf", list_things, arguments)


def data(envelope: Envelope) -> Any:
    """Return the data of an envelope."""
    return from_json(b"".join(map(bytes, envelope.data)))


def connectors(shelf: FakeUpstream) -> Mapping[str, Connector[Any]]:
    """Return the connector of the vendor."""
    connector: Connector[Any] = Connector(
        name="shelf",
        summary="A shelf.",
        base_urls={"base": "http://shelf.invalid"},
        budgets={"all": Budget(1000, 1)},
        auth_headers=lambda credentials: credentials,
        client=lambda upstream: ShelfClient(shelf, upstream),
        operations=(put_thing, place_thing, make_thing, label_thing, cover_thing, put_blindly, put_pair, list_things),
        settle_seconds=SETTLE_SECONDS,
        error_table=ErrorTable(
            lambda answer: Reason(str(answer.status)),
            rejections=(VendorRejection({400}, "here"), VendorRejection({500}, "here", only_ended=True)),
        ),
    )
    return {"shelf": connector}


@asynccontextmanager
async def run_core(
    database_url: str, clock: Clock, shelf: FakeUpstream | None = None, *, before: CoreFixture | None = None
) -> AsyncIterator[CoreFixture]:
    """Run the core of one process on *database_url*, with vendor and caller of a process *before*."""
    shelf = shelf or (before.shelf if before else FakeUpstream())
    environment = {
        "GATEWAY_DATABASE_URL": database_url,
        "GATEWAY_SECRET_KEYS": "a secret that only tests know",
        "GATEWAY_OPERATOR_TOKEN": "op_0123456789abcdef",
    }
    shelf_connectors = connectors(shelf)
    app = App(Settings.read(environment, shelf_connectors), connectors=shelf_connectors, clock=clock)
    async with app.database, app.restores:
        stage = CoreFixture(app, shelf)
        if before is None:
            await stage.prepare()
        else:
            stage.workspace_id, stage.caller = before.workspace_id, before.caller
            stage.connection_id = before.connection_id
        yield stage
