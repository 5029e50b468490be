"""A shared store as the witness of the database's age."""

from collections.abc import AsyncIterator

import pytest

from connector_gateway.core.writes.backup_restore_detection import BackupRestoreDetector, LostPeriod
from connector_gateway.kit.clock import SystemClock
from connector_gateway.storage.shared.interface import StoreUnavailable
from connector_gateway.storage.shared.local_counters import LocalCounters
from connector_gateway.storage.shared.unavailable_store import FallbackCounters
from connector_gateway.storage.sql.backup_restore_witness import Epoch
from connector_gateway.storage.sql.database import Database
from harness.clocks import ManualClock
from harness.databases import postgres_on
from harness.postgres import drop_database, new_database
from harness.requirement import requirement
from harness.valkey import Server, store_of

HERE = "01HERE"


@pytest.fixture
async def shared(valkey_of_tests: Server) -> AsyncIterator[FallbackCounters]:
    clock = SystemClock()
    async with store_of(valkey_of_tests, ManualClock(), by_hand=False) as store:
        yield FallbackCounters(store, LocalCounters(clock), clock, lambda: 1)


async def test_the_store_returns_the_last_epoch(shared: FallbackCounters) -> None:
    before = await shared.read(HERE)
    await shared.write(Epoch(HERE, 7))

    assert [Epoch(HERE, 0), Epoch(HERE, 7)] == [before, await shared.read(HERE)]


async def test_an_unavailable_store_has_no_epoch_and_is_not_overwritten(shared: FallbackCounters) -> None:
    await shared.write(Epoch(HERE, 7))
    shared.enter_degraded_mode(StoreUnavailable("for a test"))
    await shared.write(Epoch(HERE, 1))
    epoch, stored = await shared.read(HERE), await shared.store.epoch()

    assert (None, 7) == (epoch, stored)


@requirement("keys-14")
async def test_a_database_older_than_the_store_was_restored(shared: FallbackCounters, postgres_server: str) -> None:
    url = postgres_on(postgres_server)
    gaps: list[LostPeriod] = []

    async def record(lost: LostPeriod) -> None:
        gaps.append(lost)

    async with Database(url) as database, BackupRestoreDetector(database, [shared], record):
        pass
    backup = new_database(postgres_server, like=url.rpartition("/")[2].partition("?")[0])
    async with Database(url) as database, BackupRestoreDetector(database, [shared], record) as original:
        await original.count_epoch()
    async with Database(backup) as database, BackupRestoreDetector(database, [shared], record) as restored:
        pass
    for one in (url, backup):
        drop_database(postgres_server, one)

    assert original.lost is None
    assert restored.lost is not None
    assert [restored.lost] == gaps
