"""Databases with tables, copied from a template because creating the tables takes 45 ms of CPU."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.tables import metadata
from harness.postgres import drop_database, execute, new_database

OTHERS = "datname = current_database() AND pid <> pg_backend_pid()"
EMPTYING = (
    f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {OTHERS}",
    *(f"DELETE FROM {table.name}" for table in reversed(metadata.sorted_tables)),
)
"""Closes connections to a database, and deletes all its rows."""


def sqlite_in(folder: Path) -> str:
    """Return the URL of the database in *folder*, which is created if missing."""
    file = folder / "gateway.db"
    if not file.exists():
        shutil.copy(Path(_sqlite_folder().name, file.name), file)
    return f"sqlite:///{file}"


def postgres_on(server: str) -> str:
    """Return the URL of a new database of *server*."""
    return new_database(server, like=_postgres_name(server))


@contextmanager
def temporary_postgres(server: str) -> Iterator[str]:
    """Run with a new database of *server*, which is dropped afterwards: each uses 10 MB of memory."""
    address = postgres_on(server)
    try:
        yield address
    finally:
        drop_database(server, address)


@contextmanager
def emptied_postgres(server: str) -> Iterator[str]:
    """Run with a database of *server* that is emptied afterwards for the next test.

    Creating and dropping a database takes 30 ms of CPU. Only for tests that change nothing but rows.
    """
    spare = _spare_postgres(server)
    address = spare.pop() if spare else postgres_on(server)
    yield address
    execute(address, *EMPTYING)
    spare.append(address)


@cache
def _spare_postgres(_server: str) -> list[str]:
    return []


@cache
def _sqlite_folder() -> "TemporaryDirectory[str]":
    folder: TemporaryDirectory[str] = TemporaryDirectory(prefix="database-")
    _make_tables(f"sqlite:///{folder.name}/gateway.db")
    return folder


@cache
def _postgres_name(server: str) -> str:
    address = new_database(server)
    _make_tables(address)
    return address.rpartition("/")[2].partition("?")[0]


def _make_tables(address: str) -> None:
    database = Database(address)
    database.migrate()
    database._engine.dispose()
