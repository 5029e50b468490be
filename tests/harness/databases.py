"""Databases that have their tables already: copied, since making them step by step costs 45 ms of CPU each."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from connector_gateway.storage.database import Database
from harness.postgres import drop_database, new_database


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
