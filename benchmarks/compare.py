"""``python -m benchmarks.compare TREE …``: what a call costs by the sources of each tree, over the bare pass-through.

It counts instructions, which hardly depend on what else the machine does, and CPU time, which does. It needs ``perf``.
"""

import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import stub
from benchmarks.load import Load, loading
from benchmarks.overhead import CALLS, Calls, gateway
from benchmarks.processes import Server, asgi

ROUNDS = 5
WARM_UP = 500
PAGES = "/v1/connectors/notes/pages"
QUERY = {"sorts": [{"timestamp": "created_time", "direction": "ascending"}], "page_size": 100}

Cost = tuple[float, float, float]
"""Thousand instructions of the event loop's thread and of all others, and microseconds of CPU, per call."""


def cost(calls: Calls) -> Cost:
    pid, before = calls.server.pid, calls.server.cpu_seconds
    command = ["perf", "stat", "--per-thread", "-x", ",", "-e", "instructions:u", "-p", str(pid)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as counting:
        time.sleep(0.2)
        calls(CALLS)
        counting.send_signal(signal.SIGINT)
        told = [line.split(",") for line in counting.communicate()[1].splitlines()]
    spent = calls.server.cpu_seconds - before
    if any("not supported" in field for line in told for field in line):
        raise SystemExit("perf counts no instructions on this machine: it has no hardware counters to offer.")
    counts = {fields[0].rpartition("-")[2]: float(fields[1]) for fields in told if fields[1:2] and fields[1].isdigit()}
    own = counts.pop(str(pid), 0.0)
    return own / CALLS / 1e3, sum(counts.values()) / CALLS / 1e3, spent / CALLS * 1e6


@contextmanager
def sources(tree: str) -> Iterator[None]:
    """Servers that are started inside run the sources of *tree*."""
    os.environ["PYTHONPATH"] = str(Path(tree, "src").resolve())
    yield
    del os.environ["PYTHONPATH"]


def kinds(label: str, load: Load, upstream: Server, stack: ExitStack) -> Iterator[tuple[str, str, Calls]]:
    with sources(label):
        running = stack.enter_context(gateway(upstream))
    common = {"connection_id": running.connection_id, "database_id": stub.DATABASE_ID}
    search, create = (
        common | {"property": "Name", "value": "Acme"},
        common | {"properties": {"Name": "A", "Value": 12.5}},
    )
    yield label, "read", Calls(load, running.server, f"{PAGES}/search", search, running.headers)
    yield label, "write", Calls(load, running.server, PAGES, create, running.headers)
    yield label, "write with a key", Calls(load, running.server, PAGES, create, running.headers, keyed=True)


def main(trees: list[str]) -> None:
    with ExitStack() as stack:
        upstream = stack.enter_context(asgi("benchmarks.stub:app"))
        bare = stack.enter_context(asgi("benchmarks.passthrough:app", UPSTREAM=upstream.url))
        load = stack.enter_context(loading())
        bars = [
            ("pass-through", "read", Calls(load, bare, f"/v1/data_sources/{stub.SOURCE_ID}/query", QUERY, {})),
            ("pass-through", "write", Calls(load, bare, "/v1/pages", QUERY, {})),
        ]
        measured = bars + [kind for tree in trees for kind in kinds(tree, load, upstream, stack)]
        for _, _, calls in measured:
            calls(WARM_UP)
        rounds = [[cost(calls) for _, _, calls in measured] for _ in range(ROUNDS)]
    medians = [
        [statistics.median(figure) for figure in zip(*column, strict=True)] for column in zip(*rounds, strict=True)
    ]
    show([(tree, kind) for tree, kind, _ in measured], medians)


def show(named: list[tuple[str, str]], medians: list[list[float]]) -> None:
    table = Table(
        "sources", "call", "k instr., loop", "k instr., others", "over the bar", "CPU µs", "over the bar", box=None
    )
    for (tree, kind), (own, others, spent) in zip(named, medians, strict=True):
        bar_own, bar_others, bar_spent = medians[0 if kind == "read" else 1]
        ratio = (own + others) / (bar_own + bar_others)
        table.add_row(
            tree, kind, f"{own:.0f}", f"{others:.0f}", f"{ratio:.2f}x", f"{spent:.0f}", f"{spent / bar_spent:.2f}x"
        )
    Console(highlight=False, width=140).print(table)


if __name__ == "__main__":
    main(sys.argv[1:] or ["."])
