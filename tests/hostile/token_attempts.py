"""``python -m hostile.token_attempts URL TOKENS RATE ADDRESSES``: send wrong tokens steadily and count the responses.

In a separate process, so that the cost of the attack delays no measurement. ``compare`` measures the effects on
requests of the operator and of a key.
"""

import asyncio
import http.client
import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from harness.gateway_process import Installation
from harness.gateway_server import OPERATOR

TESTS = Path(__file__).parent.parent
RATE = 200
"""Wrong tokens per second."""

MAX_FLYING = 300
"""Wrong tokens with pending responses: fewer than the permitted connections of one address."""

ROUNDS = 3
ROUND_SECONDS = 1.5
"""Idle and under attack in turns, so that other load of the machine affects both."""

PATHS = ("/v1/workspaces", "/v1/runs?limit=1", "/v1/connections?limit=1", "/metrics")


async def guess(url: str, tokens: int, rate: float, addresses: int) -> Counter[int]:
    """Send wrong tokens as if from that many addresses, few of them concurrently, and return the responses."""
    target, began, flying = urlsplit(url), time.monotonic(), asyncio.Semaphore(MAX_FLYING)

    async def knock(number: int) -> int:
        async with flying:
            path, address = PATHS[number % len(PATHS)], f"198.51.100.{number % addresses}"
            return await _knock(target.hostname or "", target.port or 0, path, address, number)

    sent = []
    for number in range(tokens):
        await asyncio.sleep(began + number / rate - time.monotonic())
        sent.append(asyncio.create_task(knock(number)))
    return Counter(await asyncio.gather(*sent))


async def _knock(host: str, port: int, path: str, address: str, number: int) -> int:
    reader, writer = await asyncio.open_connection(host, port)
    writer.write(
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nX-Forwarded-For: {address}\r\n"
        f"Authorization: Bearer guess-{number}\r\n\r\n".encode()
    )
    status = int((await reader.readline()).split()[1])
    await reader.read()
    writer.close()
    return status


@contextmanager
def guess_tokens(installation: Installation, tokens: int, rate: float, addresses: int = 1) -> Iterator[Counter[str]]:
    """Send wrong tokens during the block; the responses are available afterwards."""
    command = [
        sys.executable,
        "-m",
        "hostile.token_attempts",
        installation.base_url,
        *map(str, (tokens, rate, addresses)),
    ]
    statuses: Counter[str] = Counter()
    process = subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    yield statuses
    output, _ = process.communicate()
    statuses.update(json.loads(output))


@dataclass
class Noticed:
    """The responses to the operator and a key, and their durations."""

    idle: Mapping[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    attacked: Mapping[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    statuses: Counter[int] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)

    def medians_ms(self) -> Mapping[str, tuple[float, float]]:
        """Return the median duration of each request, idle and under attack."""
        return {name: (median(self.idle[name]) * 1000, median(self.attacked[name]) * 1000) for name in self.idle}


def compare(installation: Installation, rounds: int = ROUNDS) -> Noticed:
    """Measure the requests of the operator and a key, idle and with ``RATE`` wrong tokens per second."""
    workspace, *_ = installation.manage("GET", "/v1/workspaces")
    wide = {"workspace_id": workspace["workspace_id"], "scope": "read", "calls_per_minute": 1_000_000}
    key, noticed = installation.manage("POST", "/v1/keys", **wide)["key"], Noticed()
    tokens = {"/v1/workspaces": OPERATOR, "/v1/runs?limit=1": key, "/v1/connections?limit=1": key}
    _measure(installation, tokens, Noticed().idle, Counter())
    for _ in range(rounds):
        _measure(installation, tokens, noticed.idle, noticed.statuses)
        with guess_tokens(installation, int(ROUND_SECONDS * RATE), RATE) as wrong:
            _measure(installation, tokens, noticed.attacked, noticed.statuses)
        noticed.wrong.update(wrong)
    return noticed


def _measure(
    installation: Installation, tokens: Mapping[str, str], delays: Mapping[str, list[float]], statuses: Counter[int]
) -> None:
    """Send each request with its token repeatedly."""
    target = urlsplit(installation.base_url)
    connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=60)
    ends = time.monotonic() + ROUND_SECONDS
    while time.monotonic() < ends:
        for path, token in tokens.items():
            began = time.perf_counter()
            connection.request(
                "GET", path, headers={"Authorization": f"Bearer {token}", "X-Forwarded-For": "198.51.100.0"}
            )
            response = connection.getresponse()
            response.read()
            delays[path].append(time.perf_counter() - began)
            statuses[response.status] += 1
            time.sleep(0.002)
    connection.close()


if __name__ == "__main__":
    sys.stdout.write("begin\n")
    sys.stdout.flush()
    url, tokens, rate, addresses = sys.argv[1:]
    json.dump(asyncio.run(guess(url, int(tokens), float(rate), int(addresses))), sys.stdout)
