"""Callers that write once per key through any gateway, and repeat until they know the outcome."""

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
from simulation.idempotency_key_forms import FORMS, Request, request
from simulation.killable_process import BROKEN, Reply
from simulation.scenarios import Write
from simulation.simulated_history import SimulatedCall, final
from simulation.writes import KINDS, World

Read = tuple[str, str, Mapping[str, Any]]
"""Method, path and parameters of a call."""

LEFT_OUT = {
    # Counted by their initial state, which other callers change here.
    "notes.create_vague_page",
    "tables.create_vague_record",
    # Needs a public link.
    "tables.attach_file",
    # Prepared by a request with the same token, which is subject to faults and limits.
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
"""The average number of seconds between two calls of a caller."""

LIKELY = {"notes": 0.5, "boards": 1.5, "mail": 0.7, "chat": 2.0, "crm": 6.0, "tables": 3.0}
"""The call rate of each connector: the total stays below its budget, even if only a local share is used."""

HISTORY_SHARE = 0.3
"""The share of responses whose run is looked up, at any gateway."""

SMALL_PAUSE_SECONDS = 0.3
"""The number of seconds between two calls with the small key: one and a half times its limit."""

BOUND_SECONDS = 60.0
"""The time within which a repeating caller gets a final response after the faults end."""


@dataclass
class Load:
    """The requests of the callers, and their responses."""

    installation: Installation
    random: Random
    world: World = field(init=False)
    calls: list[SimulatedCall] = field(default_factory=list)
    reads: Counter[str] = field(default_factory=Counter)
    """Responses to reads, by status and code."""

    unsettled: set[str] = field(default_factory=set)
    stopping: bool = False
    run_mismatches: list[str] = field(default_factory=list)
    """Runs whose response differs from the history, or that are missing in it."""

    unreadable: list[str] = field(default_factory=list)
    """Unreadable responses."""

    admitted: list[tuple[float, float]] = field(default_factory=list)
    """Send and response times of admitted calls with the small key."""

    durations: list[float] = field(default_factory=list)
    """The duration of each call in seconds."""

    def __post_init__(self) -> None:
        self.world = World(self.installation)

    async def run_caller(self, number: int) -> None:
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
                await self._check_run_stored(reply, way)

    async def run_small_caller(self) -> None:
        """Call with a key that has a low limit, about data that needs no vendor request."""
        while not self.stopping:
            await asyncio.sleep(SMALL_PAUSE_SECONDS)
            sent = time.monotonic()
            way = replace(self.installation.ways[-1], key=self.installation.small_key)
            reply = await self.request("boards", "GET", "/lists", {}, way=way)
            if reply.code == "invalid_parameters":
                self.admitted.append((sent, time.monotonic()))

    async def _check_run_stored(self, reply: Reply, way: Way) -> None:
        """Check that a run is in the history as soon as its response arrives, unless storage was unavailable."""
        if reply.run_id is None or reply.code == STORAGE:
            return
        request = Request("GET", f"/v1/runs/{reply.run_id}", {}, {})
        run = await self._request(self._node(), request, way)
        if run.status == 404 or (run.status == 200 and run.body["data"]["http_status"] != reply.status):
            self.run_mismatches.append(f"{reply.run_id} was answered {reply.status}, and its run is {run.body}")

    async def write(self, kind: str, content: str, way: Way) -> Reply:
        """Request one write. With a key, repeat in changing forms until there is a result or a definite error."""
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
        """Read once from a connector."""
        return await self.request(connector, *self._reads[connector], way=way)

    async def read_cheaply(self, connector: str, node: Node) -> Reply:
        """Perform a cheap read of a connector, which measures the load without adding to it."""
        return await self.request(connector, *self._cheap_reads[connector], node=node)

    async def request(
        self,
        connector: str,
        method: str,
        path: str,
        values: Mapping[str, Any],
        *,
        way: Way | None = None,
        node: Node | None = None,
    ) -> Reply:
        """Call without an idempotency key, through the first connection unless a *way* is given."""
        way = way or self.installation.ways[0]
        params = {"connection_id": way.connections[connector], **values}
        return await self.call(Request(method, f"/v1/connectors/{connector}{path}", {}, params), way, node)

    async def call(self, sent: Request, way: Way, node: Node | None = None) -> Reply:
        """Call a gateway, a random one unless *node* is given. The status is 0 if the connection broke."""
        began = time.monotonic()
        reply = await self._request(node or self._node(), sent, way)
        self.durations.append(time.monotonic() - began)
        return reply

    def _node(self) -> Node:
        return self.random.choice(self.installation.nodes)

    async def _request(self, node: Node, sent: Request, way: Way) -> Reply:
        content = {"params": sent.body} if sent.method == "GET" else {"json": sent.body}
        headers = {"Authorization": f"Bearer {way.key}", **sent.headers}
        encoded = [(name.encode(), value.encode()) for name, value in headers.items()]
        http = self.installation.http
        try:
            response = await http.request(sent.method, node.url + sent.path, headers=encoded, timeout=45, **content)
        except httpx.TransportError:
            return BROKEN
        try:
            return Reply(response.status_code, response.json())
        except ValueError:
            self.unreadable.append(
                f"{sent.method} {sent.path} was answered {response.status_code} {response.text[:80]!r}"
            )
            return BROKEN

    @property
    def _reads(self) -> Mapping[str, Read]:
        return {
            "notes": ("GET", "/databases", {}),
            "boards": ("GET", "/lists", {"board_id": self.world.example("boards", "board_id")}),
            "mail": ("GET", "/messages", {"q": "in:inbox", "limit": 2}),
            # Channels can be listed only twenty times a minute, and a local share of that is soon exhausted.
            "chat": ("GET", "/events", {}),
            "crm": ("GET", "/properties", {"object_type": "contacts"}),
            "tables": ("GET", "/tables", {"base_id": self.world.example("tables", "base_id")}),
        }

    @property
    def _cheap_reads(self) -> Mapping[str, Read]:
        # A list of databases takes four requests, and three are allowed per second.
        page = {"database_id": self.world.example("notes", "database_id"), "property": "Name", "value": "Nothing"}
        return {**self._reads, "notes": ("POST", "/pages/search", page)}
