"""A large installation: what is done with one connection costs the same among 1,000 and among 100,000."""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import insert, update

from benchmarks.idle import Quiet, connection_row, settings_of, watch_row
from connector_gateway.app import App
from connector_gateway.core.connections import Connections, IdleRenewals, Renewals, Tokens
from connector_gateway.core.connections.idle import MAX_RENEWALS
from connector_gateway.core.events.changes import WatchChanges
from connector_gateway.core.events.watches import Watches
from connector_gateway.kit.clock import SystemClock
from connector_gateway.kit.identifiers import ConnectionId, ProcessId, WorkspaceId, ulid
from connector_gateway.kit.oauth import Endpoint, Grant, OAuth
from connector_gateway.storage import tables

FEW, MANY = 1_000, 100_000
BATCH = 2_000
WORKSPACES = 5
RARE = 13
"""Of so many connections, one is of the rarer connector."""

REVOKED = 5
"""Of so many connections, one was revoked."""

IDLE_SECONDS = 60 * 86_400.0
"""How long an application lets refresh tokens live that nobody uses."""

REMOVED = 7
"""Of so many connections, one was removed."""

DUE = 100
"""Connections that a step of scheduling finds due, of however many."""

ROUNDS = 100
BAR = 2.0
BAR_BYTES = 1024
SETTLING_SECONDS = 3.0
CONNECTORS = {"quiet": Quiet().connector(pushed=False)}

Row = tuple[str, str, str, bool]
Work = Callable[[], Awaitable[object]]


def rows() -> Iterator[Row]:
    """What is measured, the figure, the bar, and whether it is reached."""
    with tempfile.TemporaryDirectory() as folder:
        files = {count: Path(folder) / f"{count}.db" for count in (FEW, MANY)}
        yield from asyncio.run(_compared(files))
        yield _memory(files)


class Issuing(Tokens):
    """A third party that renews whatever it is asked to."""

    def __init__(self) -> None:
        end = Endpoint("base", "/authorize"), Endpoint("base", "/token")
        self._oauth = OAuth("Quiet", *end, idle_seconds=IDLE_SECONDS)

    def oauth(self, connector: str) -> OAuth:  # noqa: ARG002  # the signature of Tokens
        """The same for all."""
        return self._oauth

    async def refresh(self, connector: str, refresh_token: str) -> Grant:  # noqa: ARG002  # the same
        """New tokens at once."""
        return Grant(f"token {ulid()}", refresh_token, 3600.0)


class Installation:
    """So many connections, and what is done with some of them."""

    def __init__(self, count: int, file: Path) -> None:
        self._count = count
        self._random = Random(count)  # chooses what is measured
        self.app = App(settings_of(file, CONNECTORS), connectors=CONNECTORS)
        self._watches = Watches(self.app.database, ProcessId("proc_bench"))
        self._renewals = self._renewing()
        self._connections = self._renewed()
        self._idle = IdleRenewals(self.app.database, self.app._vault, self._renewals, SystemClock())  # noqa: SLF001
        self._workspaces: list[WorkspaceId] = []
        self._kept: list[ConnectionId] = []
        self._due = 0

    def _renewing(self) -> Renewals:
        clock, vault = SystemClock(), self.app._vault  # noqa: SLF001
        return Renewals(self.app.database, vault, Issuing(), WatchChanges(CONNECTORS, clock), clock)

    def _renewed(self) -> Connections:
        """Connections whose tokens have ended, and are renewed."""
        clock, vault, changes = SystemClock(), self.app._vault, WatchChanges(CONNECTORS, SystemClock())  # noqa: SLF001
        return Connections(self.app.database, vault, CONNECTORS, clock, changes, renewals=self._renewals)

    async def furnish(self) -> None:
        """Make the connections; some are due to be polled, the others will not be for a while."""
        made = [await self.app.workspaces.create(f"bench {number}") for number in range(WORKSPACES)]
        self._workspaces = [WorkspaceId(workspace["workspace_id"]) for workspace in made]
        for start in range(0, self._count, BATCH):
            numbers = range(start, min(start + BATCH, self._count))
            await self._insert([(f"conn_{ulid()}", number) for number in numbers])

    async def _insert(self, named: Sequence[tuple[str, int]]) -> None:
        now = time.time()
        connections = [self._connection(name, number, now) for name, number in named]
        watches = [self._watch(row, now) for row in connections if not row["deleted"]]
        await self.app.database.write(lambda writing: writing.execute(insert(tables.connections), connections))
        await self.app.database.write(lambda writing: writing.execute(insert(tables.watches), watches))
        self._kept += [
            ConnectionId(row["connection_id"])
            for row in connections
            if not row["deleted"] and row["status"] == "active"
        ]

    def _watch(self, row: Mapping[str, Any], now: float) -> dict[str, Any]:
        due = row["connector"] == "quiet" and self._due < DUE
        self._due += due
        due_at = now if due else now + self._random.uniform(300, 800)
        return {**watch_row(row["connection_id"], due_at), "connector": row["connector"]}

    def _connection(self, name: str, number: int, now: float) -> dict[str, Any]:
        workspace_id = self._workspaces[number % WORKSPACES]
        return {
            **connection_row(self.app, name, workspace_id, now),
            "connector": "quiet" if number % RARE else "rare",
            "deleted": number % REMOVED == 0,
            "sealed": self.app._vault.seal({"token": "t", "refresh_token": "r"}, name),  # noqa: SLF001
            "expires_at": now,
            # A part was revoked, and is not looked at although it is due; the others become due one after the other.
            "status": "active" if number % REVOKED else "revoked",
            "refresh_due_at": now - 1 if not number % REVOKED else now + self._random.uniform(1, 2) * IDLE_SECONDS,
        }

    @property
    def works(self) -> Mapping[str, Work]:
        """What is measured."""
        connections, workspace = self._connections, self._workspaces[1]
        return {
            "the first page": connections.page,
            "the first page of a workspace": lambda: connections.page(workspace),
            "the first page of a connector": lambda: connections.page(connector="rare"),
            "a page in the middle of a workspace and connector": lambda: connections.page(
                workspace, connector="quiet", before=self._any()
            ),
            "the page of a key limited to three": lambda: connections.page(
                None, [self._any(), self._any(), self._any()]
            ),
            "one by its identifier, cold": lambda: connections.find(self._any()),
            "renewing the tokens of one": self._renew,
            "no idle token is due": self._idle.renew_idle_tokens,
            f"{MAX_RENEWALS} idle tokens are due: found and renewed": self._renew_idle,
            "nothing is due": lambda: self._watches.claim("rare", DUE),
            f"{DUE} are due: claimed and given back": self._poll,
        }

    def _any(self) -> ConnectionId:
        return self._random.choice(self._kept)

    async def _renew(self) -> None:
        connection = await self._connections.find(self._any())
        if connection is None:
            raise RuntimeError("a connection is missing")
        await connection.credentials()

    async def _renew_idle(self) -> None:
        """Make as many due as a step takes, and take it."""
        chosen = self._random.sample(self._kept, MAX_RENEWALS)
        due = update(tables.connections).where(tables.connections.c.connection_id.in_(chosen))
        await self.app.database.write(lambda writing: writing.execute(due.values(refresh_due_at=time.time() - 1)))
        if await self._idle.renew_idle_tokens() != MAX_RENEWALS:
            raise RuntimeError("a token was not found")

    async def _poll(self) -> None:
        claimed = await self._watches.claim("quiet", DUE)
        if len(claimed) != DUE:
            raise RuntimeError(f"{len(claimed)} were due")
        await asyncio.gather(
            *(self._watches.give_back(one, whole_at=time.time() - 1, behind_since=None, failures=0) for one in claimed)
        )


async def _compared(files: Mapping[int, Path]) -> Sequence[Row]:
    """Both installations in turn, so that what else happens on the machine meets both."""
    async with AsyncExitStack() as stack:
        few, many = [Installation(count, file) for count, file in files.items()]
        for installation in (few, many):
            await stack.enter_async_context(installation.app.opened())
            await installation.furnish()
        return [await _row(name, few.works[name], many.works[name]) for name in few.works]


async def _row(name: str, few: Work, many: Work) -> Row:
    timed = [(await _timed(few), await _timed(many)) for _ in range(ROUNDS)]
    short, long = (statistics.median(times) for times in zip(*timed, strict=True))
    figure = f"{long / short:.2f}x ({long * 1e6:.0f} us / {short * 1e6:.0f} us)"
    return f"{MANY:,} connections over {FEW:,}: {name}", figure, f"<= {BAR:.0f}x", long <= BAR * short


async def _timed(work: Work) -> float:
    began = time.perf_counter()
    await work()
    return time.perf_counter() - began


def _memory(files: Mapping[int, Path]) -> Row:
    """What each further connection takes in the memory of a process that serves."""
    few, many = (_resident(file) for file in files.values())
    each = (many - few) / (MANY - FEW)
    figure = f"{each:.0f} bytes ({many / 2**20:.0f} MiB / {few / 2**20:.0f} MiB)"
    return f"{MANY:,} connections over {FEW:,}: memory of an idle one", figure, f"<= {BAR_BYTES}", each <= BAR_BYTES


def _resident(file: Path) -> int:
    done = subprocess.run([sys.executable, "-m", "benchmarks.connections", str(file)], capture_output=True, check=True)
    return int(done.stdout)


async def _serve(file: Path) -> int:
    """Bytes of memory of a process that serves the installation in *file*, once it has settled."""
    served = App(settings_of(file, CONNECTORS), connectors=CONNECTORS).http()
    async with served.lifespan():
        await asyncio.sleep(SETTLING_SECONDS)
        return _resident_now()


def _resident_now() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    sys.stdout.write(str(asyncio.run(_serve(Path(sys.argv[1])))))
    sys.stdout.flush()
    os._exit(0)
