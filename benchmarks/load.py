"""A load of calls from a process of its own: ``python -m benchmarks.load`` reads its order and prints latencies."""

import asyncio
import json
import sys
import time
from typing import Any

import aiohttp


async def main(order: dict[str, Any]) -> None:
    latencies: list[float] = []
    statuses: dict[str, int] = {}
    left = iter(range(order["calls"]))
    sent = {"params": order["body"]} if order.get("method") == "GET" else {"data": json.dumps(order["body"]).encode()}
    headers = {"Content-Type": "application/json", **order["headers"]}
    timeout = aiohttp.ClientTimeout(total=1200)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as session:

        async def work() -> None:
            for _ in left:
                began = time.perf_counter()
                async with session.request(
                    order.get("method", "POST"), order["url"], headers=headers, **sent
                ) as response:
                    await response.read()
                latencies.append(time.perf_counter() - began)
                statuses[str(response.status)] = statuses.get(str(response.status), 0) + 1

        began = time.perf_counter()
        await asyncio.gather(*(work() for _ in range(order["concurrency"])))
        print(json.dumps({"seconds": time.perf_counter() - began, "latencies": latencies, "statuses": statuses}))


asyncio.run(main(json.load(sys.stdin)))
