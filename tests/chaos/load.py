"""Callers: each writes once under a key of its own, from whichever gateway answers, and repeats until it is told."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import httpx

from chaos.installation import Installation, Node
from simulation.accounts import Way
from simulation.checks import STORAGE
from simulation.history import SimulatedCall, final
from simulation.key_forms import FORMS, Request, request
from simulation.process import BROKEN, Reply
from simulation.story import Write
from simulation.writes import KINDS, World

Read = tuple[str, str, Mapping[str, Any]]
"""Method, path and values of a call."""

LEFT_OUT = {
    # Counted by what was there before, which other callers change here.
    "notes.create_vague_page",
    "tables.create_vague_record",
    # Needs a public link.
    "tables.attach_file",
    # Prepared by a request with the same token, which faults meet and limits count.
    "chat.edit_message",
    "chat.add_reaction",
}

WRITES = [name for name in KINDS if name not in LEFT_OUT]
UNKEYED_SHARE = 0.1
TWIN_SHARE = 0.15
"""The share of writes that go through both connections at once."""

READ_SHARE = 0.5
PAUSE_SECONDS = 0.3
THINKING_SECONDS = 1.0
"""Between two calls of a caller, on average."""

LIKELY = {"notes": 0.5, "boards": 1.5, "mail": 0.7, "chat": 2.0, "crm": 6.0, "tables": 3.0}
"""How often each room is called: all together ask for less than it allows, also where only a share is used."""

HISTORY_SHARE = 0.3
"""The share of responses whose run is looked up, at any gateway."""

SMALL_PAUSE_SECONDS = 0.3
"""Between two calls with the small key: half as much again as it may."""

BOUND_SECONDS = 60.0
"""Within which a caller who keeps repeating is told, once faults have stopped."""


@dataclass
class Load:
    """What callers ask for, and what they are told."""

    installation: Installation
    random: Random
    world: World = field(init=False)
    calls: list[SimulatedCall] = field(default_factory=list)
    reads: Counter[str] = field(default_factory=Counter)
    """Answers to reads, by status and code."""

    unsettled: set[str] = field(default_factory=set)
    stopping: bool = False
    hidden: list[str] = field(default_factory=list)
    """Runs that were answered, and not found or found otherwise at once."""

    garbled: list[str] = field(default_factory=list)
    """Answers that nobody can read."""

    admitted: list[tuple[float, float]] = field(default_factory=list)
    """When calls with the small key were sent and answered, of those that were let through."""

    took: list[float] = field(default_factory=list)
    """Seconds of each call."""

    def __post_init__(self) -> None:
        self.world = World(self.installation)

    async def caller(self, number: int) -> None:
        """Read and write until stopped."""
        iteration = 0
        while not self.stopping:
            iteration += 1
            await asyncio.sleep(self.random.uniform(0, 2 * THINKING_SECONDS))
            connector = self.random.choices(list(LIKELY), list(LIKELY.values()))[0]
            way, other = self.random.sample(self.installation.ways, 2)
            if self.random.random() < READ_SHARE:
                reply = await self.read(connector, way)
                self.reads[reply.summary] += 1
            else:
                kind = self.random.choice([kind for kind in WRITES if kind.startswith(connector)])
                content = f"Chaos {number:03} {iteration:05}"
                await KINDS[kind].prepare(self.world, content)
                twice = KINDS[kind].twins and self.random.random() < TWIN_SHARE
                twins = [self.write(kind, content, other)] if twice else []
                reply, *_ = await asyncio.gather(self.write(kind, content, way), *twins)
            if reply.status and self.random.random() < HISTORY_SHARE:
                await self._look_up(reply, way)

    async def small_caller(self) -> None:
        """Call with a key that may call less than that, about something that no application is asked for."""
        while not self.stopping:
            await asyncio.sleep(SMALL_PAUSE_SECONDS)
            sent = time.monotonic()
            way = replace(self.installation.ways[-1], key=self.installation.small_key)
            reply = await self.ask("boards", "GET", "/lists", {}, way=way)
            if reply.code == "invalid_parameters":
                self.admitted.append((sent, time.monotonic()))

    async def _look_up(self, reply: Reply, way: Way) -> None:
        """The run of an answer is in the history when the answer has come; not where storage was away."""
        if reply.run_id is None or reply.code == STORAGE:
            return
        request = Request("GET", f"/v1/runs/{reply.run_id}", {}, {})
        run = await self._ask(self._node(), request, way)
        if run.status == 404 or (run.status == 200 and run.body["data"]["http_status"] != reply.status):
            self.hidden.append(f"{reply.run_id} was answered {reply.status}, and its run is {run.body}")

    async def write(self, kind: str, content: str, way: Way) -> Reply:
        """Ask for one write; with a key, in changing forms, until there is a result or a definite error."""
        keyed = self.random.random() >= UNKEYED_SHARE
        name = f"{kind} {content} {self.installation.ways.index(way)}".replace(" ", "-")
        write = Write(0.0, kind, content, name if keyed else None)
        method, path, body = KINDS[kind].request(self.world, content)
        connector = KINDS[kind].connector
        params = {"connection_id": way.connections[connector], **body}
        self.unsettled.add(name)
        while True:
            sent = request(connector, (method, path, params), write.key, self.random.choice(FORMS))
            reply = sent.reply(await self.call(sent, way))
            self.calls.append(SimulatedCall(f"call {len(self.calls)}", write, reply))
            if final(reply) or not keyed:
                break
            await asyncio.sleep(PAUSE_SECONDS)
        self.unsettled.discard(name)
        return reply

    async def read(self, connector: str, way: Way) -> Reply:
        """One read of a connector."""
        return await self.ask(connector, *self._reads[connector], way=way)

    async def glance(self, connector: str, node: Node) -> Reply:
        """The read of a room that asks little of the application, so that it tells of the load without adding to it."""
        return await self.ask(connector, *self._glances[connector], node=node)

    async def ask(
        self,
        connector: str,
        method: str,
        path: str,
        values: Mapping[str, Any],
        *,
        way: Way | None = None,
        node: Node | None = None,
    ) -> Reply:
        """A call without a key of its own, through the first connection unless a *way* is given."""
        way = way or self.installation.ways[0]
        params = {"connection_id": way.connections[connector], **values}
        return await self.call(Request(method, f"/v1/connectors/{connector}{path}", {}, params), way, node)

    async def call(self, sent: Request, way: Way, node: Node | None = None) -> Reply:
        """One call of a gateway, any unless a *node* is given; status 0 where the connection broke."""
        began = time.monotonic()
        reply = await self._ask(node or self._node(), sent, way)
        self.took.append(time.monotonic() - began)
        return reply

    def _node(self) -> Node:
        return self.random.choice(self.installation.nodes)

    async def _ask(self, node: Node, sent: Request, way: Way) -> Reply:
        content = {"params": sent.body} if sent.method == "GET" else {"json": sent.body}
        headers = {"Authorization": f"Bearer {way.key}", **sent.headers}
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        http = self.installation.http
        try:
            answer = await http.request(sent.method, node.url + sent.path, headers=encoded, timeout=45, **content)
        except httpx.TransportError:
            return BROKEN
        try:
            return Reply(answer.status_code, answer.json())
        except ValueError:
            self.garbled.append(f"{sent.method} {sent.path} was answered {answer.status_code} {answer.text[:80]!r}")
            return BROKEN

    @property
    def _reads(self) -> Mapping[str, Read]:
        return {
            "notes": ("GET", "/databases", {}),
            "boards": ("GET", "/lists", {"board_id": self.world.example("boards", "board_id")}),
            "mail": ("GET", "/messages", {"q": "in:inbox", "limit": 2}),
            # Channels may be listed twenty times a minute only, and a share of that is soon used up.
            "chat": ("GET", "/events", {}),
            "crm": ("GET", "/properties", {"object_type": "contacts"}),
            "tables": ("GET", "/tables", {"base_id": self.world.example("tables", "base_id")}),
        }

    @property
    def _glances(self) -> Mapping[str, Read]:
        # A list of databases is four requests, of which three fit into a second.
        page = {"database_id": self.world.example("notes", "database_id"), "property": "Name", "value": "Nothing"}
        return {**self._reads, "notes": ("POST", "/pages/search", page)}
