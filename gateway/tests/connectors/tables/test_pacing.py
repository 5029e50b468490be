"""Bursts, and the vendor's throttling."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from connector_gateway.connectors.tables import TABLES
from connector_gateway.connectors.tables.client import BASE_BUDGET
from harness.gateway_server import Gateway, Reply, run_gateway
from harness.requirement import requirement
from harness.sandbox_server import run_emulators
from workspace_sandbox.tables import TablesEmulator

BUDGET = f"{BASE_BUDGET.limit}/{BASE_BUDGET.per_seconds}"
THROTTLED = {"errors": [{"error": "RATE_LIMIT_REACHED", "message": "Rate limit exceeded."}]}


@pytest.fixture
def paced_gateway(tmp_path: Path) -> Iterator[Gateway]:
    """A gateway that respects the vendor's limits with a queue timeout of a few seconds."""
    with (
        run_emulators(tables=TablesEmulator) as sandbox,
        run_gateway(
            sandbox,
            tmp_path,
            connectors={"tables": TABLES},
            GATEWAY_TABLES_BUDGET=BUDGET,
            GATEWAY_QUEUE_SECONDS="5",
            GATEWAY_RUN_SECONDS="5",
        ) as gateway,
    ):
        yield gateway


def read(gateway: Gateway, base_id: str, table: str) -> Reply:
    return gateway.get("/tables/records", base_id=base_id, table=table, limit=1)


@requirement("common-76")
def test_a_burst_is_spread_over_time_without_rejections(paced_gateway: Gateway) -> None:
    examples = paced_gateway.examples("tables")
    tables = [(examples["base_id"], "Leads"), (examples["other_base_id"], "Inventory")] * 8
    replies = paced_gateway.together(*[partial(read, paced_gateway, *table) for table in tables])
    seen = [exchange.at for exchange in paced_gateway.sandbox.emulators["tables"].context.request_log]

    assert [200] * 16 == [reply.status for reply in replies]
    assert 2 + 16 == len(seen)
    assert 1 <= seen[-1] - seen[0] <= 2


def test_a_lockout_blocks_one_base_for_thirty_seconds(paced_gateway: Gateway) -> None:
    paced_gateway.fault("tables", path="/v0/meta/bases/appLocked", fault="status", status=429, body=THROTTLED)
    first, second = (paced_gateway.get("/tables/tables", base_id="appLocked") for _ in range(2))
    other = paced_gateway.get("/tables/tables", base_id=paced_gateway.examples("tables")["base_id"])

    assert [429, 429, 200] == [first.status, second.status, other.status]
    assert ["upstream_rate_limited"] * 2 == [first.code, second.code]
    assert (30, "30") == (first.body["retry_after"], first.headers["retry-after"])
    assert second.body["retry_after"] in {29, 30}
    assert 1 == len([path for _, path, _ in paced_gateway.journal("tables") if "appLocked" in path])
