"""A proxy in front of a PostgreSQL server, like poolers and networks: it counts, rejects and disconnects."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from sqlalchemy import URL, make_url

PIECE = 65_536
OPTIONS_ERROR = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0"
"""The rejection of PgBouncer."""


@dataclass
class PostgresProxy:
    """The connections between a gateway and its server."""

    path: str
    refuses_options: bool = False
    cut_after: bytes | None = None
    """The message that still reaches the server, after which the gateway receives nothing."""

    server: asyncio.Server | None = None
    round_trips: int = 0
    """The number of round trips of the gateway."""

    _answered: bool = True
    _writers: list[asyncio.StreamWriter] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Forward one connection."""
        greeting = await reader.read(PIECE)
        if self.refuses_options and b"\0options\0" in greeting:
            writer.write(b"E" + (len(OPTIONS_ERROR) + 4).to_bytes(4, "big") + OPTIONS_ERROR)
            writer.close()
            return
        server_reader, server_writer = await asyncio.open_unix_connection(self.path)
        self._writers += [writer, server_writer]
        server_writer.write(greeting)
        await asyncio.gather(
            self._ask(reader, server_writer, writer), self._answer(server_reader, writer), return_exceptions=True
        )
        server_writer.close()
        writer.close()

    async def _ask(
        self, reader: asyncio.StreamReader, server_writer: asyncio.StreamWriter, writer: asyncio.StreamWriter
    ) -> None:
        while piece := await reader.read(PIECE):
            self.round_trips += self._answered
            self._answered = False
            server_writer.write(piece)
            if self.cut_after is not None and self.cut_after in piece:
                self.cut_after = None
                await server_writer.drain()
                writer.transport.abort()
        server_writer.close()

    async def _answer(self, answers: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await answers.read(PIECE):
            self._answered = True
            writer.write(piece)
        writer.close()

    def close(self) -> None:
        """Accept no more connections, and close the existing ones."""
        if self.server is not None:
            self.server.close()
        self.cut()

    def cut(self) -> None:
        """Disconnect every connection immediately."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()


@asynccontextmanager
async def run_postgres_proxy(
    address: str, *, refuses_options: bool = False
) -> AsyncIterator[tuple[PostgresProxy, str]]:
    """Run a proxy in front of the server at *address*, and yield it with its URL."""
    url = make_url(address)
    relay = PostgresProxy(f"{url.query['host']}/.s.PGSQL.5432", refuses_options)
    async with await asyncio.start_server(relay.serve, "127.0.0.1", 0) as server:
        relay.server = server
        port = server.sockets[0].getsockname()[1]
        yield relay, _through(url, port)
        relay.close()


def _through(url: URL, port: int) -> str:
    plainly = {"sslmode": "disable", "gssencmode": "disable"}
    return url.set(host="127.0.0.1", port=port, query=plainly).render_as_string(hide_password=False)
