"""A client that sends HTTP byte by byte, with arbitrary delays and errors."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from connector_gateway.http.server.http11 import ClientProtocol
from harness.gateway_server import Gateway


class RawHttpClient:
    """One connection to a server."""

    def __init__(self, connection: socket.socket, host: str) -> None:
        self.connection = connection
        self._host = host

    def say(self, text: str | bytes) -> None:
        """Send *text*. The server may have disconnected, which is not an error of the test."""
        self.connection.sendall(text.encode() if isinstance(text, str) else text)

    def send_request(self, method: str, path: str, *headers: str, body: bytes = b"") -> None:
        """Send a request with complete headers."""
        self.say("\r\n".join([f"{method} {path} HTTP/1.1", f"Host: {self._host}", *headers, "", ""]))
        self.say(body)

    def hear(self) -> bytes:
        """Return all data until the server disconnects."""
        heard = bytearray()
        try:
            while piece := self.connection.recv(1 << 16):
                heard += piece
        except ConnectionResetError:
            pass
        return bytes(heard)

    def headers(self) -> dict[str, str]:
        """Return the headers of a response whose body is not read."""
        head = bytearray()
        while not head.endswith(b"\r\n\r\n"):
            head += self.connection.recv(1)
        lines = [line.partition(": ") for line in head.decode("latin-1").splitlines()[1:-1]]
        return {name.lower(): value for name, _, value in lines}

    def answer(self) -> tuple[int, Any]:
        """Return status and body of one response, whose length is in its headers."""
        reader = self.connection.makefile("rb")
        status = int(reader.readline().split()[1])
        lengths = [int(line.split(b":")[1]) for line in iter(reader.readline, b"\r\n") if line.startswith(b"content-l")]
        return status, json.loads(reader.read(lengths[0]))


@contextmanager
def open_raw_connection(base_url: str, *, buffer_bytes: int = 0) -> Iterator[RawHttpClient]:
    """Open a connection to *base_url*. With a small buffer, the server soon detects an unread response."""
    url = urlsplit(base_url)
    with socket.socket() as connection:
        connection.settimeout(20)
        if buffer_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
        connection.connect((url.hostname, url.port))
        yield RawHttpClient(connection, url.netloc)


def passing(gateway: Gateway, seconds: float) -> None:
    """Advance the server's clock for its timeouts."""

    async def sweep() -> None:
        gateway.app.clients.check_timeouts(asyncio.get_running_loop().time() + seconds)

    gateway.run(sweep())


def peers(gateway: Gateway) -> list[ClientProtocol]:
    """Return the connections that the server counts."""
    return cast(list[ClientProtocol], list(gateway.app.clients._peers))


def unread(gateway: Gateway) -> int:
    """Return the number of connections with unread data."""
    return sum(peer.transport.get_write_buffer_size() > 0 for peer in peers(gateway))
