"""Loads of calls from a separate process: ``python -m benchmarks.load_generator`` reads one order per line."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import aiohttp


class Load:
    """The load process, which reuses its connections for all loads."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def __call__(
        self,
        url: str,
        arguments: Any,
        headers: dict[str, str],
        *,
        calls: int,
        concurrency: int,
        method: str = "POST",
        keyed: bool = False,
    ) -> dict[str, Any]:
        """Return ``{seconds, latencies, statuses}`` of a load. With *keyed*, every call has its own key."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        order = {
            "method": method,
            "url": url,
            "arguments": arguments,
            "headers": headers,
            "calls": calls,
            "concurrency": concurrency,
            "keyed": keyed,
        }
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        result: dict[str, Any] = json.loads(self._process.stdout.readline())
        return result


@contextmanager
def loading() -> Iterator[Load]:
    """Run a process that produces loads."""
    command = [sys.executable, "-m", "benchmarks.load_generator"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Load(process)


async def carry_out(session: aiohttp.ClientSession, order: dict[str, Any]) -> dict[str, Any]:
    """Run one load."""
    latencies: list[float] = []
    statuses: dict[str, int] = {}
    left, load = iter(range(order["calls"])), time.time_ns()
    method, arguments = order["method"], order["arguments"]
    sent = {"params": arguments} if method == "GET" else {"data": json.dumps(arguments).encode()}
    headers = {"Content-Type": "application/json", **order["headers"]}

    async def work() -> None:
        for number in left:
            key = {"Idempotency-Key": f"{load}-{number}"} if order["keyed"] else {}
            began = time.perf_counter()
            async with session.request(method, order["url"], headers=headers | key, **sent) as response:
                await response.read()
            latencies.append(time.perf_counter() - began)
            statuses[str(response.status)] = statuses.get(str(response.status), 0) + 1

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(order["concurrency"])))
    return {"seconds": time.perf_counter() - began, "latencies": latencies, "statuses": statuses}


async def main() -> None:
    timeout = aiohttp.ClientTimeout(total=1200)
    connections = aiohttp.TCPConnector(limit=0, keepalive_timeout=3)
    async with aiohttp.ClientSession(connector=connections, timeout=timeout) as session:
        while line := await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(await carry_out(session, json.loads(line))), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
