"""A third party that notes what it is sent."""

import asyncio

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Third:
    """A third party that notes what it is sent, and answers with what it was given, one answer for each request."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self.answers: list[bytes] = []
        self.closes = False
        self.address = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                await self._answer(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length: ")]
        body = await reader.readexactly(int(lengths[0].split()[1])) if lengths else b""
        self.requests.append(head + body)
        writer.write(self.answers.pop(0) if self.answers else OK)
        if self.closes:
            raise ConnectionError


class Door:
    """Credentials that last."""

    async def credentials(self) -> dict[str, str]:
        return {"token": "token"}

    async def refresh(self, _: object) -> bool:
        return False


def address_of(server: asyncio.Server) -> str:
    return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
