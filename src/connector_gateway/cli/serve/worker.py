"""What a worker and its supervisor tell each other: that it lives, that it takes calls, that it should make room."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from connector_gateway.kit.tasks import cancel_and_wait

BEAT_SECONDS = 1.0
ALIVE = b"."
READY = b"r"
RETIRE = b"x"


@dataclass(frozen=True)
class WorkerSpec:
    """What a worker is given by its supervisor, as an option of its command line."""

    number: int
    """Its own, from 1; the one that takes its place has the same."""

    count: int
    line: int
    """The descriptor of the socket to the supervisor."""

    listening: tuple[int, ...]
    """The descriptors of the sockets that all workers take connections from."""

    folder: str
    """Where the workers find each other."""

    @classmethod
    def read(cls, text: str) -> "WorkerSpec":
        """The place that was written as *text*."""
        fields = json.loads(text)
        return cls(**{**fields, "listening": tuple(fields["listening"])})

    def to_option(self) -> str:
        """As an option has it."""
        return json.dumps(asdict(self))

    @property
    def sockets(self) -> list[socket.socket]:
        """The sockets to take connections from."""
        return [socket.socket(fileno=one) for one in self.listening]

    @property
    def home(self) -> Path:
        """Where the workers find each other."""
        return Path(self.folder)


class SupervisorChannel:
    """A worker's connection to its supervisor."""

    def __init__(self, descriptor: int) -> None:
        self._socket = socket.socket(fileno=descriptor)
        self._socket.setblocking(False)

    @asynccontextmanager
    async def open(self, *, retire: Callable[[], None], left_alone: Callable[[], None]) -> AsyncIterator[None]:
        """Tell that this worker lives while inside; *left_alone* is called where the supervisor has ended."""
        reader, writer = await asyncio.open_connection(sock=self._socket)
        tasks = [
            asyncio.create_task(self._beat(writer), name="line to the supervisor"),
            asyncio.create_task(self._listen(reader, retire, left_alone), name="orders of the supervisor"),
        ]
        try:
            yield
        finally:
            for task in tasks:
                await cancel_and_wait(task)
            writer.close()

    def send_ready(self) -> None:
        """Tell that calls are taken."""
        # Where the supervisor has ended, the listener finds out.
        with suppress(OSError):
            self._socket.send(READY)

    @staticmethod
    async def _beat(writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while True:
                writer.write(ALIVE)
                await writer.drain()
                await asyncio.sleep(BEAT_SECONDS)

    @staticmethod
    async def _listen(reader: asyncio.StreamReader, retire: Callable[[], None], left_alone: Callable[[], None]) -> None:
        with suppress(ConnectionError):
            while order := await reader.read(1):
                if order == RETIRE:
                    retire()
        left_alone()
