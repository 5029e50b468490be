"""The SQLAlchemy engine for PostgreSQL, with its connection settings and timeouts.

Only what connects to a server imports this module, because its driver is slow to import.
"""

import select
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy import URL, Connection, Engine, create_engine, event, exc

from connector_gateway.kit.clock import monotonic_seconds

IDLE_SECONDS = 2.0
"""A connection that has been idle for longer is checked before it is used."""

IDLE_TRANSACTION_SECONDS = 10
"""Idle transactions are ended after this time, which frees the locks of a process that is frozen."""

UNSUPPORTED_OPTIONS = "unsupported startup parameter"
"""The error message of PgBouncer. Source: its src/client.c."""

BEGIN, USED_AT, PREPARED = "begin", "used_at", "prepared"
"""The keys of the pool's notes about each connection."""

KEEPALIVE_SECONDS = 5


def build_postgres_engine(url: URL, connections: int, seconds: float) -> Engine:
    """Create an engine with up to *connections*, and a limit of *seconds* for each statement."""
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
