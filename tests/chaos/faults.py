"""What goes wrong: gateways, the database, the store and the applications, one after the other and at once."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from chaos.installation import Installation, Node
from harness.postgres import stopped
from workspace_sandbox.kit.faults import Fault, fault_of

PAUSE_SECONDS = 1.5
"""Between two faults, on average."""

UPSTREAM: tuple[Mapping[str, Any], ...] = (
    {"fault": "drop_before"},
    {"fault": "drop_after"},
    {"fault": "delay", "seconds": 1.0},
    {"fault": "delay", "seconds": 3.0},
    {"fault": "status", "status": 503},
    {"fault": "garbage"},
    {"fault": "throttle", "seconds": 1},
)


@dataclass
class Faults:
    """Makes things go wrong, and puts them right again."""

    installation: Installation
    postgres_server: str
    random: Random
    tell: Callable[[str], object] = lambda _: None
    """Is told what happens, as it happens."""

    throttled: list[tuple[str, Fault]] = field(default_factory=list)
    store_lost: bool = False
    """Whether what was counted was lost at some time."""

    began: float = field(default_factory=time.monotonic)

    async def go_on(self, seconds: float) -> None:
        """Let faults happen for so long; all is whole again afterwards."""
        # Of each kind one at a time, since what is stopped twice is not started twice.
        kinds: dict[str, Callable[[], Awaitable[None]]] = {
            "gateway": self._gateway,
            "database": self._database,
            "store": self._store,
            "application": self._application,
        }
        deadline = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            busy: dict[str, asyncio.Task[None]] = {}
            while time.monotonic() < deadline:
                await asyncio.sleep(self.random.uniform(0.5, 1.5) * PAUSE_SECONDS)
                kind = self.random.choices(list(kinds), (4, 1, 2, 5))[0]
                if kind not in busy or busy[kind].done():
                    busy[kind] = group.create_task(_of(kinds[kind]))
        for emulator in self.installation.emulators.values():
            emulator.stage.forget_faults()
        await self.installation.all_ready()

    def note(self, what: str) -> None:
        """Add to what has happened."""
        self.tell(f"{time.monotonic() - self.began:7.2f} {what}")

    async def _gateway(self) -> None:
        number = self.random.randrange(len(self.installation.nodes))
        node = self.installation.nodes[number]
        if self.random.random() < 0.5:
            await self._killed(number, node)
        else:
            await self._frozen(number, node)

    async def _killed(self, number: int, node: Node) -> None:
        self.note(f"gateway {number} is killed")
        node.send(signal.SIGKILL)
        if node.process is not None:
            await asyncio.to_thread(node.process.wait)
        await asyncio.sleep(self.random.uniform(0, 2))
        # It does not start where the database is away, as a supervisor would see.
        while not await self.installation.ready(node):
            if node.ended:
                node.start()
            await asyncio.sleep(0.2)
        self.note(f"gateway {number} is back")

    async def _frozen(self, number: int, node: Node) -> None:
        seconds = self.random.choice((1, 4, 8, 13))
        self.note(f"gateway {number} is frozen for {seconds} s")
        node.send(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        node.send(signal.SIGCONT)

    async def _database(self) -> None:
        seconds = self.random.uniform(0, 3)
        self.note(f"PostgreSQL is restarted, {seconds:.1f} s away")

        def restart() -> None:
            with stopped(self.postgres_server):
                time.sleep(seconds)

        await asyncio.to_thread(restart)

    async def _store(self) -> None:
        store, seconds = self.installation.store, self.random.uniform(0.1, 4)
        act = self.random.choice(("restarted", "emptied", "frozen"))
        self.note(f"the store is {act}, {seconds:.1f} s")
        self.store_lost = self.store_lost or act != "frozen"
        if act == "emptied":
            await asyncio.to_thread(store.client.flushall)
        elif act == "frozen":
            store.signal(signal.SIGSTOP)
            await asyncio.sleep(seconds)
            store.signal(signal.SIGCONT)
        else:
            await asyncio.to_thread(store.stop)
            await asyncio.sleep(seconds)
            await asyncio.to_thread(store.start)

    async def _application(self) -> None:
        room = self.random.choice(list(self.installation.emulators))
        fault = fault_of({**self.random.choice(UPSTREAM), "times": self.random.randint(1, 5)})
        self.note(f"{room}: {fault.fault} for {fault.times} requests")
        if fault.fault == "throttle":
            self.throttled.append((room, fault))
        self.installation.emulators[room].stage.faults.append(fault)


async def _of(act: Callable[[], Awaitable[None]]) -> None:
    await act()
