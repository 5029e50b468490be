"""Databases that have their tables already: copied, since making them step by step costs 45 ms of CPU each."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.tables import metadata
from harness.postgres import drop_database, execute, new_database

OTHERS = "datname = current_database() AND pid <> pg_backend_pid()"
EMPTYING = (
    f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {OTHERS}",
    *(f"DELETE FROM {table.name}" for table in reversed(metadata.sorted_tables)),
)
"""Ends what is still connected to a database, and takes all rows out of it."""


def sqlite_in(folder: Path) -> str:
    """The address of the database in *folder*, where one is put unless there is one."""
    file = folder / "gateway.db"
    if not file.exists():
        shutil.copy(Path(_sqlite_folder().name, file.name), file)
    return f"sqlite:///{file}"


def postgres_on(server: str) -> str:
    """The address of a new database of *server*."""
    return new_database(server, like=_postgres_name(server))


@contextmanager
def temporary_postgres(server: str) -> Iterator[str]:
    """The address of a new database of *server*, which is dropped at the end: each takes 10 MB of memory."""
    address = postgres_on(server)
    try:
        yield address
    finally:
        drop_database(server, address)


@contextmanager
def emptied_postgres(server: str) -> Iterator[str]:
    """The address of a database of *server*, which is emptied at the end for who asks next.

    To make one and to drop it takes 30 ms of CPU. Only for tests that change nothing but rows.
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
