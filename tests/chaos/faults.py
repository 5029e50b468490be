"""Failures of gateways, the database, the store and the vendors, sequential and concurrent."""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from random import Random
from typing import Any

from chaos.installation import Installation, Node
from harness.postgres import stopped
from workspace_sandbox.kit.faults import Fault, parse_fault

KINDS: Mapping[str, tuple[str, int]] = {
    "kill": ("gateway", 2),
    "freeze": ("gateway", 2),
    "clock": ("clock", 1),
    "postgres": ("database", 1),
    "restart": ("store", 1),
    "empty": ("store", 1),
    "hang": ("store", 1),
    "application": ("application", 5),
}
"""The kinds of faults by target, with their relative frequency."""

PAUSE_SECONDS = 1.5
"""The average number of seconds between two faults."""

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
    """Injects faults, and ends them."""

    installation: Installation
    postgres_server: str
    random: Random
    kinds: Collection[str] = tuple(KINDS)
    report: Callable[[str], object] = lambda _: None
    """Called with the description of each event."""

    throttled: list[tuple[str, Fault]] = field(default_factory=list)
    is_store_faulty: bool = False
    """Whether a fault of the store is active."""

    store_restored_at: float = -inf
    """The end of the last fault of the store."""

    resumed_at: dict[int, float] = field(default_factory=dict)
    """The time at which each gateway was last resumed."""

    done: Counter[str] = field(default_factory=Counter)
    """The number of faults of each kind."""

    began: float = field(default_factory=time.monotonic)
    last: Collection[str] = ()
    """Kinds that are injected once more at the end, one after the other."""

    data_lost_at: float = -inf
    """The time at which the store last lost its data."""

    ended_at: float = -inf
    """The end of the last fault."""

    async def inject(self, seconds: float) -> None:
        """Inject faults for *seconds*; everything works again afterwards."""
        # One fault per target at a time, since a stopped process is not restarted twice.
        deadline = time.monotonic() + seconds
        async with asyncio.TaskGroup() as group:
            busy: dict[str, asyncio.Task[None]] = {}
            while time.monotonic() < deadline:
                await asyncio.sleep(self.random.uniform(0.5, 1.5) * PAUSE_SECONDS)
                kind = self._choose()
                target = KINDS[kind][0] if kind else ""
                if kind and (target not in busy or busy[target].done()):
                    busy[target] = group.create_task(self._inject(kind))
        for kind in self.last:
            await self._inject(kind)
        for emulator in self.installation.emulators.values():
            emulator.context.clear_faults()
        self.ended_at = time.monotonic()
        await self.installation.wait_until_ready()

    def _choose(self) -> str:
        if not self.kinds:
            return ""
        return self.random.choices(list(self.kinds), [KINDS[kind][1] for kind in self.kinds])[0]

    async def _inject(self, kind: str) -> None:
        self.done[kind] += 1
        await getattr(self, f"_{kind}")()

    def log(self, what: str) -> None:
        """Add an event to the log."""
        self.report(f"{time.monotonic() - self.began:7.2f} {what}")

    def _node(self) -> tuple[int, Node]:
        number = self.random.randrange(len(self.installation.nodes))
        return number, self.installation.nodes[number]

    async def _kill(self) -> None:
        number, node = self._node()
        self.log(f"gateway {number} is killed")
        node.send(signal.SIGKILL)
        if node.process is not None:
            await asyncio.to_thread(node.process.wait)
        await asyncio.sleep(self.random.uniform(0, 2))
        # It does not start while the database is unavailable, as with a supervisor.
        while not await self.installation.ready(node):
            if node.ended:
                node.start()
            await asyncio.sleep(0.2)
        self.log(f"gateway {number} is back")

    async def _freeze(self) -> None:
        number, node = self._node()
        seconds = self.random.choice((1, 4, 8, 13))
        self.log(f"gateway {number} is frozen for {seconds} s")
        node.send(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        node.send(signal.SIGCONT)
        self.resumed_at[number] = time.monotonic()

    async def _clock(self) -> None:
        number, node = self._node()
        node.clock.ahead = self.random.choice((-3600.0, -90.0, 0.0, 90.0, 3600.0))
        self.log(f"the clock of gateway {number} is set to {node.clock.ahead:+.0f} s")

    async def _postgres(self) -> None:
        seconds = self.random.uniform(0, 3)
        self.log(f"PostgreSQL is restarted, {seconds:.1f} s away")

        def restart() -> None:
            with stopped(self.postgres_server):
                time.sleep(seconds)

        await asyncio.to_thread(restart)

    async def _restart(self) -> None:
        store, seconds = self.installation.store, self.random.uniform(0.1, 4)
        with self._trouble(f"the store is restarted, {seconds:.1f} s"):
            await asyncio.to_thread(store.stop)
            await asyncio.sleep(seconds)
            await asyncio.to_thread(store.start)
        self.data_lost_at = time.monotonic()

    async def _empty(self) -> None:
        with self._trouble("the store is emptied"):
            await asyncio.to_thread(self.installation.store.client.flushall)
        self.data_lost_at = time.monotonic()

    async def _hang(self) -> None:
        store, seconds = self.installation.store, self.random.uniform(0.1, 4)
        with self._trouble(f"the store hangs for {seconds:.1f} s"):
            store.signal(signal.SIGSTOP)
            await asyncio.sleep(seconds)
            store.signal(signal.SIGCONT)

    @contextmanager
    def _trouble(self, what: str) -> Iterator[None]:
        self.log(what)
        self.is_store_faulty = True
        try:
            yield
        finally:
            self.is_store_faulty, self.store_restored_at = False, time.monotonic()

    async def _application(self) -> None:
        connector = self.random.choice(list(self.installation.emulators))
        fault = parse_fault({**self.random.choice(UPSTREAM), "times": self.random.randint(1, 5)})
        self.log(f"{connector}: {fault.fault} for {fault.times} requests")
        if fault.fault == "throttle":
            self.throttled.append((connector, fault))
        self.installation.emulators[connector].context.faults.append(fault)
