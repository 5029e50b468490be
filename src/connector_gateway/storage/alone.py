"""Being the only process that serves on a database.

Pacing and key windows are counted in one process's memory, and an embedded database has one owner:
a second gateway is refused before it has changed anything.
Management commands need no such right; they open the database beside the gateway.
"""

import asyncio
import os
import socket
from contextlib import suppress
from typing import Protocol, Self

from sqlalchemy import URL, Connection, NullPool, create_engine, event, exc, text

from connector_gateway.storage.engines import connecting, database_file, postgres_arguments
from connector_gateway.storage.faults import unavailable
from connector_gateway.storage.files import AlreadyServed, FileLock

ADVISORY_KEY = 0x636F6E6E65637400
"""A number of our own, since advisory locks of one database are told apart by number only."""

TERMINATE_MILLISECONDS = 1000
OPENING_SECONDS = 10.0

STAY_OPEN = text(
    "SELECT set_config(name, '0', true) FROM pg_settings"
    " WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')"
)
"""Lets a transaction last, whatever the server's settings are; older servers do not have the second."""

HOLDER = text(
    "SELECT locks.pid, activity.application_name FROM pg_locks locks JOIN pg_stat_activity activity USING (pid)"
    " WHERE locks.locktype = 'advisory' AND locks.granted AND locks.objsubid = 1"
    " AND (locks.classid::bigint << 32 | locks.objid::bigint) = :key"
    " AND locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)


class Alone(Protocol):
    """The right to serve, held while inside."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(self, *_: object) -> None: ...

    async def keep(self) -> None:
        """Make sure that the right is still held; ``AlreadyServed`` when another process has it now."""
        ...


def alone_on(url: URL, seconds: float = OPENING_SECONDS) -> Alone:
    """The right to serve on the database at *url*; waits for a server no longer than *seconds*."""
    if url.get_backend_name() != "sqlite":
        return TransactionLock(url, seconds)
    path = database_file(url)
    return Unshared() if path is None else FileLock(path)


class Unshared:
    """A database in memory, which nobody else can open."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def keep(self) -> None:
        """Nobody can take it."""


class TransactionLock:
    """An advisory lock of a transaction that stays open, on a connection of its own; it ends with the connection.

    A pooler may hand a session to somebody else between two transactions, with all locks of that session, and keep it
    when its client is gone. What is in a transaction it leaves alone (decision 75). An open transaction in which
    nothing was read or written keeps no old rows.
    """

    def __init__(self, url: URL, seconds: float) -> None:
        self._name = f"connector-gateway {os.urandom(4).hex()}: process {os.getpid()} on {socket.gethostname()}"[:63]
        self._engine = create_engine(
            url.set(drivername="postgresql+psycopg"),
            poolclass=NullPool,
            connect_args=postgres_arguments(url, seconds) | {"application_name": self._name},
        )
        event.listen(self._engine, "do_connect", connecting(url, seconds))
        self._connection: Connection | None = None

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self._take)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._release)

    async def keep(self) -> None:
        """Take the lock again if its connection was lost; ``AlreadyServed`` when another process has it by now."""
        await asyncio.to_thread(self._keep)

    def _keep(self) -> None:
        if self._connection is not None:
            try:
                self._connection.execute(text("SELECT 1"))
            except exc.DBAPIError:
                self._close()
        if self._connection is None:
            self._take()

    def _take(self) -> None:
        try:
            self._connection = self._engine.connect()
            self._lock(self._connection)
        except exc.DBAPIError as fault:
            self._close()
            raise unavailable(f"{fault.orig}") from fault
        except AlreadyServed:
            self._close()
            raise

    def _lock(self, connection: Connection) -> None:
        connection.execute(STAY_OPEN)
        while not connection.execute(text("SELECT pg_try_advisory_xact_lock(:key)"), {"key": ADVISORY_KEY}).scalar():
            holder = connection.execute(HOLDER, {"key": ADVISORY_KEY}).first()
            if holder is None:
                continue
            if holder.application_name != self._name:
                raise AlreadyServed(
                    f"The database {self._engine.url.database} is being served by another process, "
                    f"{holder.application_name.partition(': ')[2] or holder.application_name}; stop that one first."
                )
            # Our own earlier connection, whose end the server has not noticed yet.
            connection.execute(
                text("SELECT pg_terminate_backend(:pid, :wait)"), {"pid": holder.pid, "wait": TERMINATE_MILLISECONDS}
            )

    def _release(self) -> None:
        """Give the lock back now, since the server may take a moment to notice that the connection has ended."""
        if self._connection is not None:
            with suppress(exc.DBAPIError):
                self._connection.rollback()
        self._close()

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except exc.DBAPIError:
                connection.invalidate()
