"""Which database errors mean that storage is away, and not that a statement is wrong."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, exc
from sqlalchemy.engine.interfaces import DBAPIModule

from connector_gateway.kit.errors import StorageUnavailable

READ_ONLY = "25006"

RETRY_AFTER_SECONDS = 2
"""Most often storage is back as soon as another process has ended its transaction, or a server has restarted."""

SQLITE_AWAY = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOTADB,
}
"""Primary result codes. Source: sqlite.org/rescode.html."""

POSTGRES_AWAY = ("08", "25006", "40", "53", "55P03", "57", "58", "XX")
"""What their codes begin with: connection lost, read-only, rolled back by the server, out of resources, lock not to be
had, stopped by an operator or a time-out, system error, internal error.
Source: postgresql.org/docs/current/errcodes-appendix.html.
"""


def storage_unavailable(private: str) -> StorageUnavailable:
    """The error for callers; *private* is for the log."""
    return StorageUnavailable(
        "The service's database cannot be reached or written to just now.",
        private=private,
        retry_after=RETRY_AFTER_SECONDS,
    )


def to_storage_error(fault: Exception, driver: DBAPIModule) -> Exception:
    """``StorageUnavailable`` if *fault*, raised by *driver* or SQLAlchemy, means that; otherwise *fault* itself.

    An ``IntegrityError`` of the driver becomes SQLAlchemy's.
    """
    if isinstance(fault, driver.IntegrityError):
        return exc.IntegrityError(None, None, fault)
    if not _away(fault, driver):
        return fault
    error = storage_unavailable(f"{type(fault).__name__}: {fault}")
    error.__cause__ = fault
    return error


def _away(fault: Exception, driver: DBAPIModule) -> bool:
    if isinstance(fault, exc.TimeoutError):
        return True
    said = fault.orig if isinstance(fault, exc.DBAPIError) else fault
    if not isinstance(said, driver.Error):
        return False
    if isinstance(fault, exc.DBAPIError) and fault.connection_invalidated:
        return True
    result_code, state = getattr(said, "sqlite_errorcode", None), getattr(said, "sqlstate", None)
    if result_code is not None:
        return (int(result_code) & 0xFF) in SQLITE_AWAY
    if state is not None:
        return str(state).startswith(POSTGRES_AWAY)
    return isinstance(said, (driver.OperationalError, driver.InterfaceError))


class CommitOutcomeUnknown(Exception):
    """A commit failed in such a way that it may have been carried out."""


@contextmanager
def detect_unconfirmed_commit(connection: Connection) -> Iterator[None]:
    """Around a commit, which may have been carried out though storage is away; its connection is used no more."""
    driver = connection.dialect.loaded_dbapi
    try:
        yield
    except Exception as fault:
        refused = _refused_by_server(connection, fault)
        # The driver may believe itself still inside the transaction, and the next user would write into it.
        connection.invalidate()
        if not refused and isinstance(to_storage_error(fault, driver), StorageUnavailable):
            raise CommitOutcomeUnknown(repr(fault)) from fault
        raise


@contextmanager
def drop_read_only_connection(connection: Connection) -> Iterator[None]:
    """Uses a connection no more whose server takes no writes: another one of its address may be the primary by now."""
    try:
        yield
    except Exception as fault:
        if _state_of(fault) == READ_ONLY:
            connection.invalidate()
        raise


def _state_of(fault: Exception) -> str | None:
    said = fault.orig if isinstance(fault, exc.DBAPIError) else fault
    return getattr(said, "sqlstate", None)


def _refused_by_server(connection: Connection, fault: Exception) -> bool:
    """Whether a server refused a statement or the commit itself, over a connection that lives: it is not committed."""
    driver = connection.connection.driver_connection
    return bool(_state_of(fault)) and not getattr(driver, "closed", True)
