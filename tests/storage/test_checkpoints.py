"""The log of an embedded database is moved into its file beside the writers."""

import asyncio
import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import insert

from connector_gateway.storage import checkpoints, tables
from connector_gateway.storage.checkpoints import LONG_BYTES
from connector_gateway.storage.database import Database

LETTERS = "x" * 50_000


async def written(database: Database, first: int, many: int = 100) -> None:
    """Write so many rows of 50 KB, each in a transaction of its own."""
    for number in range(first, first + many):
        row = {"workspace_id": f"ws {number}", "name": LETTERS, "plan": "free", "created_at": 1.0}
        await database.put(insert(tables.workspaces), row)


def size_of(log: Path) -> int:
    return log.stat().st_size


async def shortened(database: Database, log: Path) -> None:
    """Write a little again and again until the log has been made short."""
    numbers = count()
    async with asyncio.timeout(20):
        while size_of(log) > LONG_BYTES // 2:
            await asyncio.sleep(0.05)
            beat = {"process_id": str(next(numbers)), "started_at": 1.0, "seen_at": 1.0}
            await database.put(insert(tables.processes), beat)


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often."""
    monkeypatch.setattr(checkpoints, "LOOK_SECONDS", 0.02)


@pytest.mark.usefixtures("hurried")
async def test_a_long_log_is_moved_and_cut_while_the_database_is_open(tmp_path: Path) -> None:
    file = tmp_path / "gateway.db"
    async with Database(f"sqlite:///{file}") as database:
        await written(database, 0)
        await shortened(database, file.with_name("gateway.db-wal"))
        with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as other:
            (moved,) = other.execute("SELECT count(*) FROM workspaces").fetchone()
        size = size_of(file)

    assert 100 == moved
    assert size > LONG_BYTES


@pytest.mark.usefixtures("hurried")
async def test_a_reader_that_stays_keeps_nobody_waiting(tmp_path: Path) -> None:
    file = tmp_path / "gateway.db"
    async with Database(f"sqlite:///{file}") as database:
        await written(database, 0, 1)
        with closing(sqlite3.connect(file, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM workspaces").fetchone()
            async with asyncio.timeout(10):
                await written(database, 1)
            (seen,) = reader.execute("SELECT count(*) FROM workspaces").fetchone()
            reader.execute("COMMIT")
        await written(database, 101, 1)
        await shortened(database, file.with_name("gateway.db-wal"))

    assert 1 == seen


async def test_a_short_log_is_left_alone(tmp_path: Path) -> None:
    async with Database(f"sqlite:///{tmp_path / 'gateway.db'}") as database:
        await written(database, 0, 1)

        assert database._checkpoints is not None
        assert not database._checkpoints._is_long()
