"""Classification of database errors: those that mean that the database is unavailable."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, exc
from sqlalchemy.engine.interfaces import DBAPIModule

from connector_gateway.kit.errors import StorageUnavailable

READ_ONLY = "25006"

RETRY_AFTER_SECONDS = 2
"""Seconds. Usually the database is available again once another process has committed or the server has restarted."""

SQLITE_UNAVAILABLE = {
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

POSTGRES_UNAVAILABLE = ("08", "25006", "40", "53", "55P03", "57", "58", "XX")
"""Prefixes of SQLSTATE codes: connection lost, read-only, rolled back by the server, out of resources, lock not
available, stopped by an operator or a timeout, system error, internal error. Source:
postgresql.org/docs/current/errcodes-appendix.html.
"""


def storage_unavailable(private: str) -> StorageUnavailable:
    """Return the error for callers. *private* is for the log."""
    return StorageUnavailable(
        "The service's database cannot be reached or written to at the moment.",
        private=private,
        retry_after=RETRY_AFTER_SECONDS,
    )


def to_storage_error(error: Exception, driver: DBAPIModule) -> Exception:
    """Return ``StorageUnavailable`` if *error*, raised by *driver* or SQLAlchemy, means that, otherwise *error* itself.

    An ``IntegrityError`` of the driver is converted to SQLAlchemy's.
    """
    if isinstance(error, driver.IntegrityError):
        return exc.IntegrityError(None, None, error)
    if not _is_unavailable(error, driver):
        return error
    unavailable = storage_unavailable(f"{type(error).__name__}: {error}")
    unavailable.__cause__ = error
    return unavailable


def _is_unavailable(error: Exception, driver: DBAPIModule) -> bool:
    if isinstance(error, exc.TimeoutError):
        return True
    driver_error = error.orig if isinstance(error, exc.DBAPIError) else error
    if not isinstance(driver_error, driver.Error):
        return False
    if isinstance(error, exc.DBAPIError) and error.connection_invalidated:
        return True
    result_code, state = getattr(driver_error, "sqlite_errorcode", None), getattr(driver_error, "sqlstate", None)
    if result_code is not None:
        return (int(result_code) & 0xFF) in SQLITE_UNAVAILABLE
    if state is not None:
        return str(state).startswith(POSTGRES_UNAVAILABLE)
    return isinstance(driver_error, (driver.OperationalError, driver.InterfaceError))


class CommitOutcomeUnknown(Exception):
    """A commit failed and may still have been carried out."""


@contextmanager
def detect_unconfirmed_commit(connection: Connection) -> Iterator[None]:
    """Raise ``CommitOutcomeUnknown`` if the commit inside fails and may have been carried out.

    The connection is not used again.
    """
    driver = connection.dialect.loaded_dbapi
    try:
        yield
    except Exception as error:
        is_rejected = _is_rejected_by_server(connection, error)
        # The driver may still assume an open transaction, and the next user would write into it.
        connection.invalidate()
        if not is_rejected and isinstance(to_storage_error(error, driver), StorageUnavailable):
            raise CommitOutcomeUnknown(repr(error)) from error
        raise


@contextmanager
def drop_read_only_connection(connection: Connection) -> Iterator[None]:
    """Discard connections to a read-only server. The host may resolve to a new primary by now."""
    try:
        yield
    except Exception as error:
        if _sqlstate(error) == READ_ONLY:
            connection.invalidate()
        raise


def _sqlstate(error: Exception) -> str | None:
    driver_error = error.orig if isinstance(error, exc.DBAPIError) else error
    return getattr(driver_error, "sqlstate", None)


def _is_rejected_by_server(connection: Connection, error: Exception) -> bool:
    """Return True if a server rejected a statement or the commit over a live connection. Nothing is committed then."""
    driver = connection.connection.driver_connection
    return bool(_sqlstate(error)) and not getattr(driver, "closed", True)
