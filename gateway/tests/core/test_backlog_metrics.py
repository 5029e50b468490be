"""The waiting work in the database, as reported by metrics."""

from sqlalchemy import insert

from connector_gateway.core.backlog_metrics import CACHE_SECONDS, BacklogMonitor
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from harness.clocks import ManualClock
from harness.requirement import requirement

CLAIM = {
    "workspace_id": "ws_1",
    "connection_id": "conn_1",
    "operation": "create_page",
    "run_id": "run_1",
    "attempt": 1,
    "settle_seconds": 60.0,
    "expires_at": 0.0,
}
WATCH = {"connector": "notes", "state": {}, "failures": 0, "sequence": 0, "observed_at": 0.0}


@requirement("common-131")
async def test_in_doubt_claims_and_late_watches_are_reported(database: Database) -> None:
    now = database.time()
    claims = [
        CLAIM | {"idempotency_key": "late", "state": "doubtful", "settles_at": now - 100},
        CLAIM | {"idempotency_key": "soon", "state": "doubtful", "settles_at": now + 100},
        CLAIM | {"idempotency_key": "done", "state": "done", "settles_at": now - 500},
    ]
    watches = [
        WATCH | {"connection_id": "conn_1", "due_at": now - 30, "lease": None},
        WATCH | {"connection_id": "conn_2", "due_at": now - 900, "lease": "polled"},
    ]
    await database.write(lambda db: db.execute(insert(tables.claims), claims).rowcount)
    await database.write(lambda db: db.execute(insert(tables.watches), watches).rowcount)
    backlog = await BacklogMonitor(database, ManualClock(), 60).now()

    assert backlog is not None
    assert 2 == backlog.claims_in_doubt
    assert 100 <= backlog.unsettled_seconds < 130
    assert 30 <= backlog.watch_lag_seconds["notes"] < 60


async def test_the_backlog_is_cached_for_some_seconds(database: Database) -> None:
    clock = ManualClock()
    backlogs = BacklogMonitor(database, clock, 60)
    before = await backlogs.now()
    claim = CLAIM | {"idempotency_key": "k", "state": "doubtful", "settles_at": 0.0}
    await database.write(lambda db: db.execute(insert(tables.claims), [claim]).rowcount)
    soon = await backlogs.now()
    clock.at += CACHE_SECONDS
    later = await backlogs.now()

    assert before is soon
    assert later is not None
    assert 1 == later.claims_in_doubt
