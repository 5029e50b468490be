"""URLs, clocks and SQLAlchemy engines of databases."""

import os
import sqlite3
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import (
    URL,
    ColumnElement,
    Connection,
    Double,
    Engine,
    bindparam,
    cast,
    create_engine,
    event,
    exc,
    extract,
    func,
    make_url,
)

from connector_gateway.kit.clock import MonotonicClock

Now = Callable[[], float]
"""A function that returns the time, in seconds since the epoch."""

WRITERS = 3
"""The maximum number of concurrent write transactions on a server."""

MAX_PORT = 65_535
KINDS = frozenset({"sqlite", "sqlite+pysqlite", "postgres", "postgresql", "postgresql+psycopg"})
URL_FORMS = "write it as sqlite:////folder/gateway.db or postgresql://user:password@host/database"


# Shared by all databases, so that statements that use them are compiled once.
EMBEDDED_NOW: ColumnElement[float] = func.gateway_now(type_=Double())
SERVER_NOW: ColumnElement[float] = cast(extract("epoch", func.clock_timestamp()), Double())


def parse_url(text: str) -> URL:
    """Parse the URL of a database. The message of ``ValueError`` completes a sentence about the URL."""
    try:
        url = make_url(text)
    except (exc.ArgumentError, ValueError) as error:
        raise ValueError(f"is not the URL of a database; {URL_FORMS}.") from error
    if url.drivername not in KINDS:
        raise ValueError(f"names {url.drivername}, which is not supported; {URL_FORMS}.")
    if url.port is not None and not 0 < url.port <= MAX_PORT:
        raise ValueError(f"has no port between 1 and {MAX_PORT}; {URL_FORMS}.")
    if url.get_backend_name() == "sqlite" and url.database in {None, "", ":memory:"}:
        raise ValueError(f"has no file; {URL_FORMS}.")
    return url


def database_file(url: URL) -> Path | None:
    """Return the resolved path of an embedded database's file, or None if it is in memory."""
    name = url.database or ""
    if name.startswith("file:"):
        name = urlsplit(name).path
    return None if name in {"", ":memory:"} else Path(os.path.realpath(name))


def build_engine(url: URL, readers: int, seconds: float, clock: Now | None) -> Engine:
    """Create an engine for *readers* and writers, with a limit of *seconds* for each statement."""
    if url.get_backend_name() == "sqlite":
        return _sqlite(url, seconds, clock or MonotonicClock().now)
    # The driver for servers is slow to import.
    server = import_module("connector_gateway.storage.sql.postgres_engine")
    engine: Engine = server.build_postgres_engine(url, readers + WRITERS, seconds)
    return engine


def database_clock(url: URL, clock: Now | None) -> ColumnElement[float]:
    """Return the database's own time in seconds since the epoch, for statements, or that of *clock* if there is one."""
    if url.get_backend_name() == "sqlite":
        return EMBEDDED_NOW
    if clock is not None:
        return bindparam("gateway_now", callable_=clock, type_=Double())
    return SERVER_NOW


def _adapt_none(value: None) -> None:
    """Return *value* unchanged, as an adapter for Python's driver."""
    return value


def _sqlite(url: URL, seconds: float, now: Now) -> Engine:
    # For each None, the driver looks for an attribute on two objects that lack it, unless an adapter is registered.
    # That was an eighth of SQLite's time to write a record.
    sqlite3.register_adapter(type(None), _adapt_none)
    engine = create_engine(url, pool_timeout=seconds, connect_args={"timeout": seconds, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: object) -> None:
        # Python's driver begins transactions implicitly, and too late: a read would not be part of the transaction.
        connection.isolation_level = None
        connection.create_function("gateway_now", 0, now)
        connection.execute("PRAGMA journal_mode=WAL")
        # A committed row survives a crash of the process, though not always a power failure.
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        driver: Any = connection.connection
        if driver.in_transaction:
            return
        writes = connection.get_execution_options().get("writes")
        # A transaction that reads first and writes later could not wait for the lock: SQLite would fail it immediately.
        driver.cursor().execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
