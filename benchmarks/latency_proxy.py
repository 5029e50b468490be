"""A distant server: ``python -m benchmarks.latency_proxy PORT SOCKET MILLISECONDS`` delays each round trip."""

import asyncio
import sys
from collections import deque

PIECE = 65_536


async def forward_delayed(source: asyncio.StreamReader, sink: asyncio.StreamWriter, seconds: float) -> None:
    """Forward the data of *source*, each piece *seconds* after it arrived, any number of them in parallel."""
    loop, on_their_way, came = asyncio.get_running_loop(), deque[tuple[float, bytes]](), asyncio.Event()

    async def deliver() -> None:
        while True:
            await came.wait()
            at, piece = on_their_way.popleft()
            if not on_their_way:
                came.clear()
            await asyncio.sleep(at - loop.time())
            sink.write(piece)

    delivering = asyncio.create_task(deliver())
    try:
        while piece := await source.read(PIECE):
            on_their_way.append((loop.time() + seconds, piece))
            came.set()
    finally:
        delivering.cancel()
        sink.close()


async def carry(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Forward the data of *source*."""
    try:
        while piece := await source.read(PIECE):
            sink.write(piece)
    finally:
        sink.close()


async def main(port: int, path: str, milliseconds: float) -> None:
    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_unix_connection(path)
        # The total delay on the way back: loop timers are exact to a millisecond, so two halves would add up to two.
        ways = carry(reader, server_writer), forward_delayed(server_reader, writer, milliseconds / 1000)
        await asyncio.gather(*ways, return_exceptions=True)

    async with await asyncio.start_server(pass_on, "127.0.0.1", port) as server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], float(sys.argv[3])))
