"""Checkpoints: the log of an embedded database is copied into its file concurrently with writers."""

import asyncio
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import insert

from connector_gateway.storage.sql import sqlite_checkpoints, tables
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.sqlite_checkpoints import (
    CALM_PAGES,
    LONG_BYTES,
    LONG_PAGES,
    MAX_ROUNDS,
    WalCheckpointer,
)
from harness.requirement import requirement

LETTERS = "x" * 50_000


async def write_rows(database: Database, first: int, many: int = 100) -> None:
    """Write *many* rows of 50 KB, each in its own transaction."""
    for number in range(first, first + many):
        row = {"workspace_id": f"ws {number}", "name": LETTERS, "plan": "free", "created_at": 1.0}
        await database.put(insert(tables.workspaces), row)


def get_size(log: Path) -> int:
    return log.stat().st_size


async def wait_until_truncated(database: Database, log: Path) -> None:
    """Write small rows until the log was truncated."""
    numbers = count()
    async with asyncio.timeout(20):
        while get_size(log) > LONG_BYTES // 2:
            await asyncio.sleep(0.05)
            beat = {"process_id": str(next(numbers)), "started_at": 1.0, "seen_at": 1.0}
            await database.put(insert(tables.processes), beat)


@pytest.fixture
def frequent_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the log often."""
    monkeypatch.setattr(sqlite_checkpoints, "POLL_SECONDS", 0.02)


@pytest.mark.usefixtures("frequent_checks")
async def test_a_long_log_is_checkpointed_and_truncated_while_the_database_is_open(tmp_path: Path) -> None:
    file = tmp_path / "gateway.db"
    async with Database(f"sqlite:///{file}") as database:
        await write_rows(database, 0)
        await wait_until_truncated(database, file.with_name("gateway.db-wal"))
        with closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as other:
            (count,) = other.execute("SELECT count(*) FROM workspaces").fetchone()
        size = get_size(file)

    assert 100 == count
    assert size > LONG_BYTES


@pytest.mark.usefixtures("frequent_checks")
async def test_a_long_reader_does_not_block_writers(tmp_path: Path) -> None:
    file = tmp_path / "gateway.db"
    async with Database(f"sqlite:///{file}") as database:
        await write_rows(database, 0, 1)
        with closing(sqlite3.connect(file, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM workspaces").fetchone()
            async with asyncio.timeout(10):
                await write_rows(database, 1)
            (seen,) = reader.execute("SELECT count(*) FROM workspaces").fetchone()
            reader.execute("COMMIT")
        await write_rows(database, 101, 1)
        await wait_until_truncated(database, file.with_name("gateway.db-wal"))

    assert 1 == seen


@dataclass
class FakeLog:
    """Replaces the log, with scripted lengths and checkpointed pages."""

    checkpoints: WalCheckpointer
    sizes: list[tuple[int, int]]
    steps: list[tuple[str, bool]] = field(default_factory=list)
    """The steps so far, and whether background writes were allowed at each."""

    def __call__(self, how: str) -> tuple[int, int]:
        """Record the step and return the next scripted sizes."""
        self.steps.append((how, self.checkpoints.is_idle.is_set()))
        return self.sizes.pop(0)


async def run_checkpoints(database: Database, *sizes: tuple[int, int]) -> list[tuple[str, bool]]:
    """Return the checkpoint steps for a log with these lengths and checkpointed pages."""
    assert database._checkpoints is not None
    fake_log = FakeLog(database._checkpoints, [*sizes, (0, 0)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(database._checkpoints, "_checkpoint", fake_log)
        await database._checkpoints._move()
    return fake_log.steps


@requirement("common-155")
async def test_a_log_restarts_once_little_was_written_during_a_checkpoint(tmp_path: Path) -> None:
    much, more, little = LONG_PAGES, LONG_PAGES + 900, LONG_PAGES + 920
    async with Database(f"sqlite:///{tmp_path / 'gateway.db'}") as database:
        steps = await run_checkpoints(database, (much, much), (more, more), (little, little))

    assert [*[("PASSIVE", True)] * 3, ("RESTART", False)] == steps


@requirement("common-155")
async def test_background_work_waits_until_little_of_the_log_is_left(tmp_path: Path) -> None:
    growing = [(LONG_PAGES + 400 * step,) * 2 for step in range(MAX_ROUNDS + 2)]
    async with Database(f"sqlite:///{tmp_path / 'gateway.db'}") as database:
        steps = await run_checkpoints(database, *growing, growing[-1])
        async with asyncio.timeout(1):
            await database.wait_until_idle()

    assert [*[("PASSIVE", True)] * MAX_ROUNDS, *[("PASSIVE", False)] * 3, ("RESTART", False)] == steps


@requirement("common-155")
async def test_a_log_with_faster_writers_is_left_to_the_next_check(tmp_path: Path) -> None:
    growing = [(LONG_PAGES + 400 * step,) * 2 for step in range(2 * MAX_ROUNDS)]
    async with Database(f"sqlite:///{tmp_path / 'gateway.db'}") as database:
        steps = await run_checkpoints(database, *growing)

    assert [*[("PASSIVE", True)] * MAX_ROUNDS, *[("PASSIVE", False)] * MAX_ROUNDS] == steps


async def test_a_log_is_truncated_only_when_idle(tmp_path: Path) -> None:
    calm, busy = [(CALM_PAGES, CALM_PAGES)] * 2, [(9 * CALM_PAGES,) * 2] * 2
    async with Database(f"sqlite:///{tmp_path / 'gateway.db'}") as database:
        checks = [await run_checkpoints(database, *sizes) for sizes in (calm, busy, calm, calm, calm)]

    assert [2, 2, 2, 2, 3] == [len(steps) for steps in checks]
    assert ("TRUNCATE", True) == checks[-1][-1]


async def test_a_short_log_is_not_checkpointed(tmp_path: Path) -> None:
    async with Database(f"sqlite:///{tmp_path / 'gateway.db'}") as database:
        await write_rows(database, 0, 1)

        assert database._checkpoints is not None
        assert not database._checkpoints._is_long()
