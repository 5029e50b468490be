"""A vendor's server that records its requests."""

import asyncio

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class VendorServer:
    """Records its requests, and returns one of ``responses`` for each of them."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self.responses: list[bytes] = []
        self.closes_after_response = False
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                await self._respond(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _respond(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length: ")]
        body = await reader.readexactly(int(lengths[0].split()[1])) if lengths else b""
        self.requests.append(head + body)
        writer.write(self.responses.pop(0) if self.responses else OK)
        if self.closes_after_response:
            raise ConnectionError


class StaticCredentials:
    """Credentials that never change."""

    async def credentials(self) -> dict[str, str]:
        return {"token": "token"}

    async def refresh(self, _: object) -> bool:
        return False


def server_url(server: asyncio.Server) -> str:
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
