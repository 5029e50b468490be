"""A load balancer like nginx with deploy/balancer.conf: it retries only requests that cannot have arrived."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import monotonic

IDLE_SECONDS = 4.0
UNAVAILABLE_SECONDS = 2.0
CONNECT_SECONDS = 2.0
TRIES = 2
REPEATABLE = {b"GET", b"HEAD", b"PUT", b"DELETE", b"OPTIONS"}
FAILED = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter, float]
"""A connection, with the time at which it became idle."""


class Lost(Exception):
    """The connection ended before a response."""


@dataclass
class Backend:
    """One gateway, and the idle connections to it."""

    port: int
    idle: list[Connection] = field(default_factory=list)
    unavailable_until: float = 0.0
    under_way: int = 0

    async def connect(self) -> Connection:
        """Return an idle or a new connection. Raises ``OSError`` if there is none."""
        while self.idle:
            reader, writer, since = self.idle.pop()
            if not reader.at_eof() and monotonic() - since < IDLE_SECONDS:
                return reader, writer, since
            writer.close()
        async with asyncio.timeout(CONNECT_SECONDS):
            return *await asyncio.open_connection("127.0.0.1", self.port), 0.0

    async def forward(self, connection: Connection, request: bytes) -> bytes:
        """Return the response to *request*. Raises ``Lost`` if there is none."""
        reader, writer, _ = connection
        try:
            writer.write(request)
            response = await message(reader, bodiless=request.startswith(b"HEAD "))
        except OSError:
            response = b""
        if not response:
            writer.close()
            raise Lost
        if b"\r\nconnection: close\r\n" in response:
            writer.close()
        else:
            self.idle.append((reader, writer, monotonic()))
        return response.replace(b"\r\nconnection: close\r\n", b"\r\n", 1)


@dataclass
class Balancer:
    """The gateways behind the balancer."""

    backends: Sequence[Backend]
    clients: set[asyncio.StreamWriter] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward the requests of one client."""
        self.clients.add(writer)
        with suppress(OSError):
            while request := await message(reader):
                writer.write(await self._passed_on(request))
        self.clients.discard(writer)
        writer.close()

    async def close(self) -> None:
        """Close every connection."""
        idle = (writer for backend in self.backends for _, writer, _ in backend.idle)
        for writer in [*idle, *self.clients]:
            writer.transport.abort()
            with suppress(OSError):
                await writer.wait_closed()

    async def _passed_on(self, request: bytes) -> bytes:
        now = monotonic()
        candidates = [backend for backend in self.backends if backend.unavailable_until < now]
        for backend in sorted(candidates, key=lambda one: one.under_way)[:TRIES]:
            try:
                connection = await backend.connect()
            except OSError:
                # Nothing has been sent yet.
                backend.unavailable_until = monotonic() + UNAVAILABLE_SECONDS
                continue
            backend.under_way += 1
            try:
                return await backend.forward(connection, request)
            except Lost:
                backend.unavailable_until = monotonic() + UNAVAILABLE_SECONDS
                if request.partition(b" ")[0] not in REPEATABLE:
                    break
            finally:
                backend.under_way -= 1
        return FAILED


async def message(reader: asyncio.StreamReader, *, bodiless: bool = False) -> bytes:
    """Return the next message, whose length is in its head unless it has no body. Empty at the end."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        if bodiless:
            return head
        fields = {name: value.strip() for name, _, value in (one.partition(b":") for one in head.lower().splitlines())}
        if fields.get(b"transfer-encoding") == b"chunked":
            return head + await _chunks(reader)
        return head + await reader.readexactly(int(fields.get(b"content-length", 0)))
    except asyncio.IncompleteReadError:
        return b""


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    read, line = b"", b""
    while line != b"0\r\n":
        line = await reader.readuntil(b"\r\n")
        read += line + await reader.readexactly(int(line, 16) + 2)
    return read


@contextmanager
def run_balancer(ports: Sequence[int], port: int) -> Iterator[None]:
    """Run a balancer at *port* for the gateways at *ports*, on a separate thread."""
    started, ending = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> None:
        balancer = Balancer([Backend(one) for one in ports])
        async with await asyncio.start_server(balancer.serve, "127.0.0.1", port):
            started.set()
            await ending.wait()
            await balancer.close()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, name="balancer")
    thread.start()
    try:
        assert started.wait(30)
        yield
    finally:
        loop.call_soon_threadsafe(ending.set)
        thread.join(30)
