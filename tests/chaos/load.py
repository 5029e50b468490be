"""Callers: each writes once under a key of its own, from whichever gateway answers, and repeats until it is told."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

import httpx

from chaos.installation import Installation
from simulation.history import Asked, final
from simulation.process import BROKEN, Reply
from simulation.story import Write
from simulation.writes import KINDS, World

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
READ_SHARE = 0.5
PAUSE_SECONDS = 0.3
THINKING_SECONDS = 1.5
"""Between two calls of a caller: all together ask for less than applications allow, also where only a share is used."""

BOUND_SECONDS = 60.0
"""Within which a caller who keeps repeating is told, once faults have stopped."""


@dataclass
class Load:
    """What callers ask for, and what they are told."""

    installation: Installation
    random: Random
    world: World = field(init=False)
    asked: list[Asked] = field(default_factory=list)
    reads: Counter[str] = field(default_factory=Counter)
    """Answers to reads, by status and code."""

    unsettled: set[str] = field(default_factory=set)
    stopping: bool = False

    def __post_init__(self) -> None:
        self.world = World(self.installation)

    async def caller(self, number: int) -> None:
        """Read and write until told to stop."""
        turn = 0
        while not self.stopping:
            turn += 1
            await asyncio.sleep(self.random.uniform(0, 2 * THINKING_SECONDS))
            if self.random.random() < READ_SHARE:
                reply = await self.read(self.random.choice(list(self.installation.connections)))
                self.reads["200" if reply.status == 200 else f"{reply.status} {reply.code}"] += 1
            else:
                await self.write(self.random.choice(WRITES), f"Chaos {number} {turn}")

    async def write(self, kind: str, content: str) -> None:
        """Ask for one write; with a key, until there is a result or a definite refusal."""
        keyed = self.random.random() >= UNKEYED_SHARE
        write = Write(0.0, kind, content, f"{kind} {content}".replace(" ", "-") if keyed else None)
        await KINDS[kind].prepare(self.world, content)
        method, path, body = KINDS[kind].request(self.world, content)
        room = kind.partition(".")[0]
        name = write.key or content
        self.unsettled.add(name)
        while True:
            reply = await self.call(room, method, path, body, {"Idempotency-Key": write.key} if write.key else {})
            self.asked.append(Asked(f"call {len(self.asked)}", write, reply))
            if final(reply) or not keyed:
                break
            await asyncio.sleep(PAUSE_SECONDS)
        self.unsettled.discard(name)

    async def read(self, room: str) -> Reply:
        """One read of a room."""
        path, query = self._read(room)
        return await self.call(room, "GET", path, query)

    async def call(
        self, room: str, method: str, path: str, values: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> Reply:
        """One call of any gateway; status 0 where the connection broke."""
        node = self.random.choice(self.installation.nodes)
        given = {"connection_id": self.installation.connections[room], **values}
        as_query = {"params": given} if method == "GET" else {"json": given}
        sent = {"Authorization": f"Bearer {self.installation.key}", **(headers or {})}
        url = f"{node.url}/v1/connectors/{room}{path}"
        try:
            answer = await self.installation.http.request(method, url, headers=sent, timeout=45, **as_query)  # type: ignore[arg-type]
        except httpx.TransportError:
            return BROKEN
        return Reply(answer.status_code, answer.json())

    def _read(self, room: str) -> tuple[str, Mapping[str, Any]]:
        reads: Mapping[str, tuple[str, Mapping[str, Any]]] = {
            "notes": ("/databases", {}),
            "boards": ("/lists", {"board_id": self.world.example("boards", "board_id")}),
            "mail": ("/messages", {"q": "in:inbox", "limit": 2}),
            "chat": ("/channels", {}),
            "crm": ("/properties", {"object_type": "contacts"}),
            "tables": ("/tables", {"base_id": self.world.example("tables", "base_id")}),
        }
        return reads[room]
