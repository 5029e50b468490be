"""The channel between a worker and its supervisor: heartbeats, readiness and the order to retire."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from connector_gateway.kit.task_cancellation import cancel_and_wait

HEARTBEAT_SECONDS = 1.0
HEARTBEAT_BYTE = b"."
READY_BYTE = b"r"
RETIRE_BYTE = b"x"


@dataclass(frozen=True)
class WorkerSpec:
    """The specification of a worker, which its supervisor passes as a command-line option."""

    number: int
    """The number of the worker, from 1. Its replacement has the same number."""

    count: int
    line: int
    """The descriptor of the socket to the supervisor."""

    listening: tuple[int, ...]
    """The descriptors of the listening sockets that all workers share."""

    folder: str
    """The folder with the sockets through which workers exchange metrics."""

    @classmethod
    def read(cls, text: str) -> "WorkerSpec":
        """Parse the value of the option."""
        fields = json.loads(text)
        return cls(**{**fields, "listening": tuple(fields["listening"])})

    def to_option(self) -> str:
        """Return the value of the option."""
        return json.dumps(asdict(self))

    @property
    def sockets(self) -> list[socket.socket]:
        """The listening sockets."""
        return [socket.socket(fileno=one) for one in self.listening]

    @property
    def home(self) -> Path:
        """The folder as a path."""
        return Path(self.folder)


class SupervisorChannel:
    """A worker's connection to its supervisor."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._socket.setblocking(False)

    @asynccontextmanager
    async def open(self, *, retire: Callable[[], None], on_supervisor_exit: Callable[[], None]) -> AsyncIterator[None]:
        """Send heartbeats while the context is open. *on_supervisor_exit* is called if the supervisor exits."""
        reader, writer = await asyncio.open_connection(sock=self._socket)
        tasks = [
            asyncio.create_task(self._heartbeat_loop(writer), name="line to the supervisor"),
            asyncio.create_task(self._listen(reader, retire, on_supervisor_exit), name="orders of the supervisor"),
        ]
        try:
            yield
        finally:
            for task in tasks:
                await cancel_and_wait(task)
            writer.close()

    def send_ready(self) -> None:
        """Report that this worker accepts calls."""
        # If the supervisor has exited, the listener detects it.
        with suppress(OSError):
            self._socket.send(READY_BYTE)

    @staticmethod
    async def _heartbeat_loop(writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while True:
                writer.write(HEARTBEAT_BYTE)
                await writer.drain()
                await asyncio.sleep(HEARTBEAT_SECONDS)

    @staticmethod
    async def _listen(
        reader: asyncio.StreamReader, retire: Callable[[], None], on_supervisor_exit: Callable[[], None]
    ) -> None:
        with suppress(ConnectionError):
            while order := await reader.read(1):
                if order == RETIRE_BYTE:
                    retire()
        on_supervisor_exit()
