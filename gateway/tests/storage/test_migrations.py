"""Upgrades of the schema that are rejected, and those that wait for a lock."""

import asyncio
import shutil
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, select, text

from connector_gateway.storage import migration_runner
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.sqlite_files import UnusableDatabase
from harness.requirement import requirement

NEXT = """
from alembic import op

revision = "9999"
down_revision = "{newest}"


def upgrade():
    op.execute("ALTER TABLE runs ADD COLUMN added INTEGER")
"""


WRITTEN_BEFORE = """
INSERT INTO owned VALUES ('row 1', 'conn_1', 'page', 'page 1', 'print', 'run_1', TRUE, NULL, 9e9, 'notes');
INSERT INTO owned VALUES ('row 2', 'conn_1', 'page', NULL, 'print', 'run_2', TRUE, 'process', 9e9, 'notes');
INSERT INTO claims (workspace_id, connection_id, operation, idempotency_key, target, parameters, run_id, attempt,
 state, settle_seconds, status, expires_at)
VALUES ('ws_1', 'conn_1', 'create_page', 'key', 'digest', 'digest', 'run_1', 1, 'done', 0, 'ok', 9e9)
"""
"""Insert rows as the previous release wrote them."""


async def test_a_database_older_than_the_first_release_is_rejected(database: Database) -> None:
    await database.write(lambda db: db.execute(text("UPDATE alembic_version SET version_num = '0027'")))

    with pytest.raises(UnusableDatabase, match=r"^The database has schema 0027, from .*an empty database\.$"):
        await asyncio.to_thread(database.migrate)


@requirement("keys-8")
async def test_an_upgrade_preserves_owners_and_claims(empty_database_url: str) -> None:
    database = Database(empty_database_url)
    await asyncio.to_thread(migration_runner._upgrade, database._engine, migration_runner._configuration(), "0028")
    with database._engine.connect().execution_options(writes=True) as connection:
        for statement in WRITTEN_BEFORE.split(";"):
            connection.execute(text(statement))
        connection.commit()
    await asyncio.to_thread(database.migrate)
    async with database:
        owned = await database.read(lambda db: db.execute(select(tables.owned.c.upstream_id)).scalars().all())
        claim = await database.read(lambda db: db.execute(select(tables.claims)).one())

    assert ["page 1", None] == owned
    assert ("digest", "done") == (claim.target, claim.state)


async def test_a_migration_without_a_lock_is_retried(
    empty_postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(empty_postgres)
    await asyncio.to_thread(database.migrate)
    migrations = shutil.copytree(migration_runner.MIGRATIONS, tmp_path / "migrations")
    (migrations / "versions/9999_next.py").write_text(NEXT.format(newest=migration_runner.newest_version()))
    monkeypatch.setattr(migration_runner, "MIGRATIONS", migrations)
    monkeypatch.setattr(migration_runner, "LOCK_MILLISECONDS", 50)
    monkeypatch.setattr(migration_runner, "MAX_ATTEMPTS", 1_000)
    engine = create_engine(make_url(empty_postgres).set(drivername="postgresql+psycopg"))
    with engine.connect() as other:
        other.execute(text("SELECT 1 FROM runs"))
        migrating = asyncio.create_task(asyncio.to_thread(database.migrate))
        done, _ = await asyncio.wait([migrating], timeout=0.5)
    engine.dispose()
    await migrating
    version = await asyncio.to_thread(migration_runner._version, database._engine)
    database._engine.dispose()

    assert set() == done
    assert "9999" == version
