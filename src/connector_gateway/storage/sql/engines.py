"""Engines: how the two kinds of database are connected to, and how long they may take."""

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
"""Tells the time, in seconds since the epoch."""

WRITERS = 3
"""Transactions that may be on their way to a server at a time."""

IDLE_SECONDS = 2.0
"""A connection that was not used for longer is tried before it is used."""

STANDING_STILL_SECONDS = 10
"""A transaction in which nothing happens for longer is ended; what a process that stands still had locked is free."""

REFUSED_OPTIONS = "unsupported startup parameter"
"""What PgBouncer says. Source: its src/client.c."""

BEGIN, USED_AT, PREPARED = "begin", "used_at", "prepared"
"""What is noted with each connection of the pool."""

KEEPALIVE_SECONDS = 5
MAX_PORT = 65_535
KINDS = frozenset({"sqlite", "sqlite+pysqlite", "postgres", "postgresql", "postgresql+psycopg"})
WRITTEN = "write it as sqlite:////folder/gateway.db or postgresql://user:password@host/database"


# The same objects for every database, so that statements made of them are compiled once.
EMBEDDED_NOW: ColumnElement[float] = func.gateway_now(type_=Double())
SERVER_NOW: ColumnElement[float] = cast(extract("epoch", func.clock_timestamp()), Double())


def parse_url(text: str) -> URL:
    """The address of a database; ``ValueError`` continues a sentence about what is wrong with it."""
    try:
        url = make_url(text)
    except (exc.ArgumentError, ValueError) as fault:
        raise ValueError(f"is no address of a database; {WRITTEN}.") from fault
    if url.drivername not in KINDS:
        raise ValueError(f"names {url.drivername}, which is not supported; {WRITTEN}.")
    if url.port is not None and not 0 < url.port <= MAX_PORT:
        raise ValueError(f"has no port between 1 and {MAX_PORT}; {WRITTEN}.")
    if url.get_backend_name() == "sqlite" and url.database in {None, "", ":memory:"}:
        raise ValueError(f"names no file; {WRITTEN}.")
    return url


def database_file(url: URL) -> Path | None:
    """The file of an embedded database, by its one real name; None if it lives in memory."""
    name = url.database or ""
    if name.startswith("file:"):
        name = urlsplit(name).path
    return None if name in {"", ":memory:"} else Path(os.path.realpath(name))


def build_engine(url: URL, readers: int, seconds: float, clock: Now | None) -> Engine:
    """An engine for *readers* and one writer, none of whose statements takes longer than *seconds*."""
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
    event.listen(engine, "do_connect", connecting(url, seconds))
    event.listen(engine, "connect", _configure)
    event.listen(engine, "checkin", _note_use)
    event.listen(engine, "checkout", _check_life)
    event.listen(engine, "begin", _begin)
    return engine


def connecting(url: URL, seconds: float) -> Callable[..., Any]:
    """What connects, also through a pooler, and notes how transactions begin on the connection."""
    local = tuple(f"SET LOCAL {name} = {milliseconds}" for name, milliseconds in _timeouts(seconds).items())

    def connect(_: object, record: Any, arguments: Any, named: dict[str, Any]) -> Any:
        record.info[BEGIN], record.info[PREPARED] = ("BEGIN",), set()
        try:
            connection = psycopg.connect(*arguments, **named)
        except psycopg.OperationalError as fault:
            if REFUSED_OPTIONS not in str(fault):
                raise
            connection = psycopg.connect(*arguments, **(named | {"options": _options(url)}))
        if not _are_set(connection, _timeouts(seconds)):
            # A pooler in between: what is set in a session does not last, so it is set in each transaction.
            # Nor does what is prepared in it.
            record.info[BEGIN], record.info[PREPARED] = ("BEGIN", *local), None
        return connection

    return connect


def _are_set(connection: "psycopg.Connection[Any]", timeouts: Mapping[str, int]) -> bool:
    """Whether the server knows of *timeouts*: a pooler may refuse options, or take them and say nothing."""
    connection.autocommit = True
    asked = "SELECT name, setting::int FROM pg_settings WHERE name = ANY(%s)"
    told = dict(connection.execute(asked, [list(timeouts)]).fetchall())
    connection.autocommit = False
    return told == timeouts


def _configure(connection: Any, _: object) -> None:
    # The driver would wait for the answer to each BEGIN; and what only reads needs no transaction.
    connection.autocommit = True


def _note_use(_: object, record: Any) -> None:
    record.info[USED_AT] = monotonic_seconds()


def _check_life(connection: Any, record: Any, _: object) -> None:
    used_at = record.info.get(USED_AT)
    if used_at is not None and not _is_alive(connection, monotonic_seconds() - used_at):
        raise exc.DisconnectionError


def _begin(connection: Connection) -> None:
    driver: Any = connection.connection.driver_connection
    writes = connection.get_execution_options().get("writes")
    if (writes or len(begin_statements(connection)) > 1) and driver.pgconn.transaction_status == TransactionStatus.IDLE:
        driver.execute("; ".join(begin_statements(connection)))


def begin_statements(connection: Connection) -> Sequence[str]:
    """The statements that begin a transaction on PostgreSQL, and bound how long it may take."""
    statements: Sequence[str] = connection.info[BEGIN]
    return statements


def _is_alive(connection: Any, idle_seconds: float) -> bool:
    """Whether a connection that was not used for so long can be used again; the server is asked only after a pause."""
    readable, _, _ = select.select([connection.pgconn.socket], [], [], 0)
    # Nothing was asked, so what can be read is that the server has closed the connection, or is about to.
    if not readable and idle_seconds < IDLE_SECONDS:
        return True
    try:
        connection.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def postgres_arguments(url: URL, seconds: float) -> dict[str, Any]:
    """What bounds every wait for a server: for its first answer, for a statement, and for a network that is gone."""
    return _of_several(url) | {
        # What is sent in ``round_trips.py`` is encoded so, whatever the database's own encoding is.
        "client_encoding": "utf8",
        "connect_timeout": max(2, round(seconds)),
        "tcp_user_timeout": round(seconds * 1000),
        "keepalives_idle": KEEPALIVE_SECONDS,
        "keepalives_interval": KEEPALIVE_SECONDS,
        "keepalives_count": 2,
        # A pooler may give each transaction to another session, where a statement that was prepared is not known.
        "prepare_threshold": None,
        "options": " ".join(
            [_options(url), *(f"-c {name}={most}" for name, most in _timeouts(seconds).items())]
        ).strip(),
    }


def _of_several(url: URL) -> dict[str, Any]:
    """Of several servers the one that takes writes: after a failover the former one may come back as a standby."""
    hosts = url.query.get("host", "")
    several = not isinstance(hosts, str) or "," in hosts
    return {"target_session_attrs": "read-write"} if several and "target_session_attrs" not in url.query else {}


def _timeouts(seconds: float) -> dict[str, int]:
    return {
        "statement_timeout": round(seconds * 1000),
        "idle_in_transaction_session_timeout": STANDING_STILL_SECONDS * 1000,
    }


def _options(url: URL) -> str:
    """What the address itself asks of each session."""
    given = url.query.get("options", "")
    return given if isinstance(given, str) else " ".join(given)


def database_clock(url: URL, clock: Now | None) -> ColumnElement[float]:
    """The database's own time in seconds since the epoch, for statements; told by *clock* where one is given."""
    if url.get_backend_name() == "sqlite":
        return EMBEDDED_NOW
    if clock is not None:
        return bindparam("gateway_now", callable_=clock, type_=Double())
    return SERVER_NOW


def _as_it_is(value: None) -> None:
    """*value*, as an adapter of Python's driver gives it on."""
    return value


def _sqlite(url: URL, seconds: float, now: Now) -> Engine:
    # For each None that it is given, the driver asks two objects for an attribute that they lack, unless it knows an
    # adapter. That was an eighth of what SQLite takes to write a record (decision 45).
    sqlite3.register_adapter(type(None), _as_it_is)
    engine = create_engine(url, pool_timeout=seconds, connect_args={"timeout": seconds, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _: object) -> None:
        # The driver of Python begins transactions by itself, and too late: a read would not be in the transaction.
        connection.isolation_level = None
        connection.create_function("gateway_now", 0, now)
        connection.execute("PRAGMA journal_mode=WAL")
        # A committed row survives the end of the process, though not always a loss of power (decision 1).
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute("PRAGMA foreign_keys=ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        driver: Any = connection.connection
        if driver.in_transaction:
            return
        writes = connection.get_execution_options().get("writes")
        # A transaction that reads and writes later cannot wait for its turn then: SQLite refuses it at once.
        driver.cursor().execute("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine
