"""Upgrades of the schema that are refused, and those that wait for a lock."""

import asyncio
import shutil
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

from connector_gateway.storage import schema
from connector_gateway.storage.database import Database
from connector_gateway.storage.files import Unusable

NEXT = """
from alembic import op

revision = "9999"
down_revision = "{newest}"


def upgrade():
    op.execute("ALTER TABLE runs ADD COLUMN added INTEGER")
"""


async def test_a_database_from_before_the_first_release_is_refused_in_one_sentence(database: Database) -> None:
    await database.write(lambda writing: writing.execute(text("UPDATE alembic_version SET version_num = '0027'")))

    with pytest.raises(Unusable, match=r"^The database has schema 0027, from .*an empty database\.$"):
        await asyncio.to_thread(database.migrate)


async def test_a_migration_that_gets_no_lock_is_tried_again(
    empty_postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(empty_postgres)
    await asyncio.to_thread(database.migrate)
    migrations = shutil.copytree(schema.MIGRATIONS, tmp_path / "migrations")
    (migrations / "versions/9999_next.py").write_text(NEXT.format(newest=schema.newest()))
    monkeypatch.setattr(schema, "MIGRATIONS", migrations)
    monkeypatch.setattr(schema, "LOCK_MILLISECONDS", 50)
    monkeypatch.setattr(schema, "TRIES", 1_000)
    engine = create_engine(make_url(empty_postgres).set(drivername="postgresql+psycopg"))
    with engine.connect() as other:
        other.execute(text("SELECT 1 FROM runs"))
        migrating = asyncio.create_task(asyncio.to_thread(database.migrate))
        done, _ = await asyncio.wait([migrating], timeout=0.5)
    engine.dispose()
    await migrating
    version = await asyncio.to_thread(schema._version, database._engine)
    database._engine.dispose()

    assert set() == done
    assert "9999" == version
