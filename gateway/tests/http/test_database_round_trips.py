"""Round trips of a call to a PostgreSQL server, as documented in docs/explanation/performance.md."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from connector_gateway.connectors.notes import NOTES
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.postgres_proxy import PostgresProxy, run_postgres_proxy
from harness.sandbox_server import run_emulators
from workspace_sandbox.notes import NotesEmulator


def measure_round_trips(relay: PostgresProxy, call: Callable[[], Reply]) -> int:
    """Return the minimum number of round trips of several runs of *call*, since background work adds some."""
    return min(_count_round_trips(relay, call) for _ in range(5))


def _count_round_trips(relay: PostgresProxy, call: Callable[[], Reply]) -> int:
    relay.round_trips = 0
    assert 200 == call().status
    return relay.round_trips


def figures(relay: PostgresProxy, gateway: Gateway) -> dict[str, int]:
    """The round trips of each kind of call."""
    page = {"database_id": gateway.examples("notes")["database_id"], "properties": {"Name": "Acme"}}

    def write(key: str | None = None) -> Reply:
        return gateway.post("/notes/pages", headers={"Idempotency-Key": key} if key else {}, **page)

    write("repeated")
    return {
        "read": measure_round_trips(relay, lambda: gateway.get("/notes/databases", limit=1)),
        "write": measure_round_trips(relay, write),
        "write with a key": measure_round_trips(relay, lambda: write(uuid4().hex)),
        "repeat of a key": measure_round_trips(relay, lambda: write("repeated")),
    }


async def test_a_read_takes_one_round_trip_and_a_keyed_write_two(new_postgres: str, tmp_path: Path) -> None:
    def count(relay: PostgresProxy, address: str) -> dict[str, int]:
        connectors = {"notes": NOTES}
        with (
            run_emulators(notes=NotesEmulator) as sandbox,
            run_gateway(sandbox, tmp_path, connectors=connectors, database_url=address, GATEWAY_WATCH="off") as gateway,
        ):
            return figures(relay, gateway)

    async with run_postgres_proxy(new_postgres) as (relay, address):
        counts = await asyncio.to_thread(count, relay, address)

    assert {"read": 1, "write": 2, "write with a key": 2, "repeat of a key": 3} == counts
