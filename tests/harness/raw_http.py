"""A client that speaks HTTP byte by byte, as slowly and as wrongly as a test wants."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from connector_gateway.http.server.http11_protocol import ClientProtocol
from harness.gateway_server import Gateway


class RawHttpClient:
    """One connection to a server."""

    def __init__(self, connection: socket.socket, host: str) -> None:
        self.connection = connection
        self._host = host

    def say(self, text: str | bytes) -> None:
        """Send *text*; that the server has hung up meanwhile is no fault of the test."""
        self.connection.sendall(text.encode() if isinstance(text, str) else text)

    def ask(self, method: str, path: str, *headers: str, body: bytes = b"") -> None:
        """Send a request whose headers are whole."""
        self.say("\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {self._host}", *headers, "", ""]))
        self.say(body)

    def hear(self) -> bytes:
        """Everything that the server says until it hangs up."""
        heard = bytearray()
        try:
            while piece := self.connection.recv(1 << 16):
                heard += piece
        except ConnectionResetError:
            pass
        return bytes(heard)

    def headers(self) -> dict[str, str]:
        """The headers of an answer whose body is left where it is."""
        head = bytearray()
        while not head.endswith(b"\r\n\r\n"):
            head += self.connection.recv(1)
        lines = [line.partition(": ") for line in head.decode("latin-1").splitlines()[1:-1]]
        return {name.lower(): value for name, _, value in lines}

    def answer(self) -> tuple[int, Any]:
        """Status and body of one answer, whose length the server tells."""
        reader = self.connection.makefile("rb")
        status = int(reader.readline().split()[1])
        lengths = [int(line.split(b":")[1]) for line in iter(reader.readline, b"\r\n") if line.startswith(b"content-l")]
        return status, json.loads(reader.read(lengths[0]))


@contextmanager
def open_raw_connection(base_url: str, *, buffer_bytes: int = 0) -> Iterator[RawHttpClient]:
    """A connection to *base_url*; with a small buffer, the server soon notices that nothing is read."""
    url = urlsplit(base_url)
    with socket.socket() as connection:
        connection.settimeout(20)
        if buffer_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        connection.connect((url.hostname, url.port))
        yield RawHttpClient(connection, url.netloc)


def passing(gateway: Gateway, seconds: float) -> None:
    """Let the server believe that so much time has passed."""

    async def sweep() -> None:
        gateway.app.clients.check_timeouts(asyncio.get_running_loop().time() + seconds)

    gateway.run(sweep())


def peers(gateway: Gateway) -> list[ClientProtocol]:
    """The connections that the server counts."""
    return cast(list[ClientProtocol], list(gateway.app.clients._peers))


def unread(gateway: Gateway) -> int:
    """The number of connections with data that their clients do not read."""
    return sum(peer.transport.get_write_buffer_size() > 0 for peer in peers(gateway))
