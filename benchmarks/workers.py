"""Two workers beside one process, on PostgreSQL and a shared store: what a call costs the machine.

Each process is given as many calls at a time: with half as many it would commit half as many together, which costs more
for each, however many processes there are.
"""

import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

from benchmarks import stub
from benchmarks.load import Load, loading
from benchmarks.overhead import CONCURRENCY, Calls, Running, gateway
from benchmarks.processes import Server, asgi
from benchmarks.stores import stores

CALLS = 500
ROUNDS = 15
WARM_UP = 600
LEAST = 0.9

PAGES = "/v1/connectors/notes/pages"


@dataclass(frozen=True)
class Family(Server):
    """A server whose processes count together."""

    @property
    def cpu_seconds(self) -> float:
        """Of the process and its children."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return sum(Server(pid, self.url).cpu_seconds for pid in (self.pid, *map(int, children)))


def rows() -> Iterator[tuple[str, str, str, bool]]:
    """What is measured, the figure, the bar, and whether it is reached."""
    with ExitStack() as stack:
        upstream = stack.enter_context(asgi("benchmarks.stub:app"))
        load = stack.enter_context(loading())
        runnings = [_running(stack, upstream, count) for count in (1, 2)]
        for name, keyed in (("reads", None), ("writes", False), ("writes with a key", True)):
            kinds = [_calls(load, running, keyed=keyed) for running in runnings]
            for calls in kinds:
                calls(WARM_UP, 2 * CONCURRENCY)
            spent = [[_cpu_us(calls, count) for count, calls in enumerate(kinds, 1)] for _ in range(ROUNDS)]
            one, two = (statistics.median(column) for column in zip(*spent, strict=True))
            ratio = statistics.median(alone / together for alone, together in spent)
            share = _busier_share(runnings[1])
            what = f"{name} per CPU second, two workers over one process"
            yield (
                what,
                f"{ratio:.2f}x ({two:.0f} µs / {one:.0f} µs; {share:.0%} by the busier)",
                f">= {LEAST:g}x",
                ratio >= LEAST,
            )


def _running(stack: ExitStack, upstream: Server, count: int) -> Running:
    """A gateway of so many workers on stores of its own."""
    settings = stack.enter_context(stores())
    running = stack.enter_context(gateway(upstream, GATEWAY_WORKERS=str(count), **settings))
    # The first of several answers before the others are there, and would keep all connections.
    while count > 1 and len(re.findall(r'worker_up\{worker="\d"\} 1', _metrics(running))) < count:
        time.sleep(0.1)
    return replace(running, server=Family(running.server.pid, running.server.url))


def _metrics(running: Running) -> str:
    return httpx.get(f"{running.server.url}/metrics").text


def _busier_share(running: Running) -> float:
    """How much of all calls so far the busier worker has answered."""
    counts: Counter[str] = Counter()
    for worker, count in re.findall(
        r'^gateway_calls_total\{.*worker="(\d)".*\} (\d+)', _metrics(running), re.MULTILINE
    ):
        counts[worker] += int(count)
    return max(counts.values()) / counts.total()


def _calls(load: Load, running: Running, *, keyed: bool | None) -> Calls:
    common = {"connection_id": running.connection_id, "database_id": stub.DATABASE_ID}
    if keyed is None:
        search = common | {"property": "Name", "value": "Acme"}
        return Calls(load, running.server, f"{PAGES}/search", search, running.headers)
    create = common | {"properties": {"Name": "Acme", "Value": 12.5}}
    return Calls(load, running.server, PAGES, create, running.headers, keyed=keyed)


def _cpu_us(calls: Calls, processes: int) -> float:
    """CPU of a call, where each of the processes has as many at a time."""
    before, count = calls.server.cpu_seconds, CALLS * processes
    calls(count, CONCURRENCY * processes)
    return (calls.server.cpu_seconds - before) / count * 1e6
