"""SQLAlchemy engines for SQLite and PostgreSQL, with their connection settings and timeouts."""

import os
import select
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
from psycopg.pq import TransactionStatus
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

from connector_gateway.kit.clock import MonotonicClock, monotonic_seconds

Now = Callable[[], float]
"""A function that returns the time, in seconds since the epoch."""

WRITERS = 3
"""The maximum number of concurrent write transactions on a server."""

IDLE_SECONDS = 2.0
"""A connection that has been idle for longer is checked before it is used."""

IDLE_TRANSACTION_SECONDS = 10
"""Idle transactions are ended after this time, which frees the locks of a process that is frozen."""

UNSUPPORTED_OPTIONS = "unsupported startup parameter"
"""The error message of PgBouncer. Source: its src/client.c."""

BEGIN, USED_AT, PREPARED = "begin", "used_at", "prepared"
"""The keys of the pool's notes about each connection."""

KEEPALIVE_SECONDS = 5
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
    return _postgresql(url, readers + WRITERS, seconds)


def _postgresql(url: URL, connections: int, seconds: float) -> Engine:
    engine = create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=connections,
        pool_timeout=seconds,
        connect_args=postgres_arguments(url, seconds),
    )
    event.listen(engine, "do_connect", create_connect(url, seconds))
    event.listen(engine, "connect", _configure)
    event.listen(engine, "checkin", _record_use)
    event.listen(engine, "checkout", _check_alive)
    event.listen(engine, "begin", _begin)
    return engine


def create_connect(url: URL, seconds: float) -> Callable[..., Any]:
    """Return a function that connects, also through a pooler, and notes how transactions begin on the connection."""
    timeout_statements = tuple(
        f"SET LOCAL {name} = {milliseconds}" for name, milliseconds in _timeouts(seconds).items()
    )

    def connect(_: object, record: Any, arguments: Any, options: dict[str, Any]) -> Any:
        record.info[BEGIN], record.info[PREPARED] = ("BEGIN",), set()
        try:
            connection = psycopg.connect(*arguments, **options)
        except psycopg.OperationalError as error:
            if UNSUPPORTED_OPTIONS not in str(error):
                raise
            connection = psycopg.connect(*arguments, **(options | {"options": _options(url)}))
        if not _has_timeouts(connection, _timeouts(seconds)):
            # A pooler does not preserve session settings, so they are set in each transaction. Nor does it preserve
            # prepared statements.
            record.info[BEGIN], record.info[PREPARED] = ("BEGIN", *timeout_statements), None
        return connection

    return connect


def _has_timeouts(connection: "psycopg.Connection[Any]", timeouts: Mapping[str, int]) -> bool:
    """Return True if the server has *timeouts*. A pooler may reject options, or ignore them silently."""
    connection.autocommit = True
    query = "SELECT name, setting::int FROM pg_settings WHERE name = ANY(%s)"
    actual = dict(connection.execute(query, [list(timeouts)]).fetchall())
    connection.autocommit = False
    return actual == timeouts


def _configure(connection: Any, _: object) -> None:
    # The driver would wait for the response to each BEGIN, and reads need no transaction.
    connection.autocommit = True


def _record_use(_: object, record: Any) -> None:
    record.info[USED_AT] = monotonic_seconds()


def _check_alive(connection: Any, record: Any, _: object) -> None:
    used_at = record.info.get(USED_AT)
    if used_at is not None and not _is_alive(connection, monotonic_seconds() - used_at):
        raise exc.DisconnectionError


def _begin(connection: Connection) -> None:
    driver: Any = connection.connection.driver_connection
    writes = connection.get_execution_options().get("writes")
    if (writes or len(begin_statements(connection)) > 1) and driver.pgconn.transaction_status == TransactionStatus.IDLE:
        driver.execute("; ".join(begin_statements(connection)))


def begin_statements(connection: Connection) -> Sequence[str]:
    """Return the statements that begin a transaction on PostgreSQL and limit its duration."""
    statements: Sequence[str] = connection.info[BEGIN]
    return statements


def _is_alive(connection: Any, idle_seconds: float) -> bool:
    """Return True if an idle connection is still usable. It queries the server only after a pause."""
    readable, _, _ = select.select([connection.pgconn.socket], [], [], 0)
    # No query is pending, so readable data means that the server has closed the connection or is about to.
    if not readable and idle_seconds < IDLE_SECONDS:
        return True
    try:
        connection.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def postgres_arguments(url: URL, seconds: float) -> dict[str, Any]:
    """Return arguments that limit all waits for a server: for a connection, a statement and the network."""
    return _require_writable(url) | {
        # ``pipelined_transactions`` encodes texts this way, whatever the database's encoding.
        "client_encoding": "utf8",
        "connect_timeout": max(2, round(seconds)),
        "tcp_user_timeout": round(seconds * 1000),
        "keepalives_idle": KEEPALIVE_SECONDS,
        "keepalives_interval": KEEPALIVE_SECONDS,
        "keepalives_count": 2,
        # A pooler may assign each transaction to another session, in which a prepared statement is unknown.
        "prepare_threshold": None,
        "options": " ".join(
            [_options(url), *(f"-c {name}={milliseconds}" for name, milliseconds in _timeouts(seconds).items())]
        ).strip(),
    }


def _require_writable(url: URL) -> dict[str, Any]:
    """Return arguments to connect only to a writable server.

    After a failover the old primary may return as a standby.
    """
    hosts = url.query.get("host", "")
    has_several_hosts = not isinstance(hosts, str) or "," in hosts
    return (
        {"target_session_attrs": "read-write"} if has_several_hosts and "target_session_attrs" not in url.query else {}
    )


def _timeouts(seconds: float) -> dict[str, int]:
    return {
        "statement_timeout": round(seconds * 1000),
        "idle_in_transaction_session_timeout": IDLE_TRANSACTION_SECONDS * 1000,
    }


def _options(url: URL) -> str:
    """Return the session options in the URL."""
    options = url.query.get("options", "")
    return options if isinstance(options, str) else " ".join(options)


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
