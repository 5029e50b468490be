"""CPU of a complete call over a bare pass-through with the same vendor response."""

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from benchmarks import stub_vendor
from benchmarks.load_generator import Load, loading
from benchmarks.processes import Server, asgi, environment_of, free_port, started
from benchmarks.stores import stores

CALLS = 250
ROUNDS = 40
"""Short loads alternate, each is compared with its neighbour, and the median counts, because other load on the machine
affects both, or sometimes one of them."""

WARM_UP = 300
CONCURRENCY = 48


@dataclass(frozen=True)
class Measured:
    """The cost of one load, per call."""

    cpu_us: float
    calls_per_second: float
    median_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Running:
    """A gateway in front of the stub vendor, with a key and a connection."""

    server: Server
    headers: dict[str, str]
    connection_id: str


@dataclass(frozen=True)
class Calls:
    """Equal calls to one server."""

    load: Load
    server: Server
    path: str
    arguments: Any
    headers: dict[str, str]
    keyed: bool = False
    concurrency: int = CONCURRENCY

    def __call__(self, count: int) -> dict[str, Any]:
        result = self.load(
            self.server.url + self.path,
            self.arguments,
            self.headers,
            calls=count,
            concurrency=self.concurrency,
            keyed=self.keyed,
        )
        if result["statuses"] != {"200": count}:
            raise RuntimeError(f"not every call succeeded: {result['statuses']}")
        return result


def measure(calls: Calls) -> Measured:
    """Return the cost of one load on its server."""
    before = calls.server.cpu_seconds
    result = calls(CALLS)
    spent = calls.server.cpu_seconds - before
    latencies = sorted(result["latencies"])
    return Measured(
        spent / CALLS * 1e6,
        CALLS / result["seconds"],
        statistics.median(latencies) * 1e3,
        latencies[int(len(latencies) * 0.99)] * 1e3,
    )


def alternate(*kinds: Calls) -> list[list[Measured]]:
    """Run several rounds of each of *kinds*, alternating."""
    rounds = [[measure(calls) for calls in kinds] for _ in range(ROUNDS)]
    return [list(column) for column in zip(*rounds, strict=True)]


@contextmanager
def gateway(upstream: Server, **more: str) -> Iterator[Running]:
    """Run the gateway for production in front of *upstream*, with large budgets and *more* settings."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        settings = {"GATEWAY_NOTES_BASE_URL": upstream.url, "GATEWAY_NOTES_BUDGET": "1000000/1", **more}
        environment = environment_of(settings, Path(folder))
        command = ("connector_gateway", "serve", "--port", str(port))
        with started(*command, port=port, ready="/readyz", **environment) as server:
            yield _prepared(server, environment["GATEWAY_OPERATOR_TOKEN"])


def _prepared(server: Server, operator_token: str) -> Running:
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {operator_token}"}) as operator:

        def make(path: str, **body: Any) -> Any:
            return operator.post(path, json=body).raise_for_status().json()["data"]

        workspace_id = make("/v1/workspaces", name="bench")["workspace_id"]
        key = make("/v1/keys", workspace_id=workspace_id, scope="read_write", calls_per_minute=1_000_000)["key"]
        connection = make(
            "/v1/connections", workspace_id=workspace_id, connector="notes", credentials={"token": "ntn_bench"}
        )
    return Running(server, {"Authorization": f"Bearer {key}"}, connection["connection_id"])


def rows() -> Iterator[tuple[str, str, str, bool]]:
    """Yield each measurement: label, figure, bar, and whether the bar is reached."""
    query = {"sorts": [{"timestamp": "created_time", "direction": "ascending"}], "page_size": 100}
    with (
        asgi("benchmarks.stub_vendor:app") as upstream,
        asgi("benchmarks.bare_passthrough:app", UPSTREAM=upstream.url) as bare,
        gateway(upstream) as running,
        loading() as load,
    ):
        create = _common(running) | {"properties": {"Name": "Acme", "Value": 12.5}}
        kinds = [
            Calls(load, bare, f"/v1/data_sources/{stub_vendor.SOURCE_ID}/query", query, {}),
            Calls(load, running.server, "/v1/connectors/notes/pages/search", _search(running), running.headers),
            Calls(load, bare, "/v1/pages", query, {}),
            Calls(load, running.server, "/v1/connectors/notes/pages", create, running.headers),
            Calls(load, running.server, "/v1/connectors/notes/pages", create, running.headers, keyed=True),
        ]
        for calls in kinds:
            calls(WARM_UP)
        bar_reads, reads, bar_writes, writes, keyed = alternate(*kinds)
    yield _ratio("CPU of a whole read over the bare pass-through", reads, bar_reads, 1.45)
    yield _ratio("CPU of a whole write (two commits) over the same", writes, bar_writes, 1.65)
    yield _ratio("CPU of a write with a key (two commits) over the same", keyed, bar_writes, 1.9)
    spread = statistics.median(read.p99_ms / read.median_ms for read in reads)
    yield "worker at saturation: 99th percentile over median", f"{spread:.2f}x", "<= 3x", spread <= 3


def rows_workers() -> Iterator[tuple[str, str, str, bool]]:
    """Yield the calls per CPU second of two workers over those of one, on one PostgreSQL and one Valkey each."""
    with ExitStack() as stack:
        upstream = stack.enter_context(asgi("benchmarks.stub_vendor:app"))
        load = stack.enter_context(loading())
        kinds = []
        for workers in (2, 1):
            shared = stack.enter_context(stores())
            running = stack.enter_context(gateway(upstream, GATEWAY_WORKERS=str(workers), **shared))
            path, concurrency = "/v1/connectors/notes/pages/search", workers * CONCURRENCY
            kinds.append(Calls(load, running.server, path, _search(running), running.headers, concurrency=concurrency))
        for calls in kinds:
            calls(WARM_UP)
        two, one = alternate(*kinds)
    ratio = statistics.median(single.cpu_us / both.cpu_us for both, single in zip(two, one, strict=True))
    yield "calls per CPU second of two workers over one", f"{ratio:.2f}x", ">= 0.9x", ratio >= 0.9


def rows_agent_oauth() -> Iterator[tuple[str, str, str, bool]]:
    """Yield the cost of OAuth for agents to a plain call, which runs none of its code."""
    with (
        asgi("benchmarks.stub_vendor:app") as upstream,
        gateway(upstream) as without,
        gateway(upstream, GATEWAY_AGENT_OAUTH="on") as with_oauth,
        loading() as load,
    ):
        kinds = [
            Calls(load, running.server, "/v1/connectors/notes/pages/search", _search(running), running.headers)
            for running in (without, with_oauth)
        ]
        for calls in kinds:
            calls(WARM_UP)
        bars, reads = alternate(*kinds)
    yield _ratio("CPU of a read with OAuth for agents over one without", reads, bars, 1.05)


def _search(running: Running) -> dict[str, Any]:
    return _common(running) | {"property": "Name", "value": "Acme"}


def _common(running: Running) -> dict[str, Any]:
    return {"connection_id": running.connection_id, "database_id": stub_vendor.DATABASE_ID}


def _ratio(name: str, measured: list[Measured], bars: list[Measured], most: float) -> tuple[str, str, str, bool]:
    ratio = statistics.median(one.cpu_us / bar.cpu_us for one, bar in zip(measured, bars, strict=True))
    usual, bar = (statistics.median(one.cpu_us for one in column) for column in (measured, bars))
    rate = statistics.median(one.calls_per_second for one in measured)
    figures = f"{usual:.0f} µs / {bar:.0f} µs; {rate:.0f} calls/s"
    return name, f"{ratio:.2f}x ({figures})", f"<= {most:g}x", ratio <= most
