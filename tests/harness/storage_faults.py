"""Storage failures."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event

from connector_gateway.storage.sql.database import Database


@contextmanager
def read_only(database: Database) -> Iterator[None]:
    """Make *database* read-only during the block, like a disk that was remounted."""
    modes = ["ON"] if database.embedded else ["ONLY"]
    words = "PRAGMA query_only=" if database.embedded else "SET SESSION CHARACTERISTICS AS TRANSACTION READ "

    def change(connection: Any, *_: object) -> None:
        connection.cursor().execute(words + modes[-1])
        connection.commit()

    event.listen(database._engine, "checkout", change)
    database._transactions.close()
    try:
        yield
    finally:
        # Changed connections are restored on their next use.
        modes.append("OFF" if database.embedded else "WRITE")


def lose_acknowledgements(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, commit and then break the connection."""
    dialect = database._engine.dialect
    commit = dialect.do_commit

    def commit_and_fail(connection: Any) -> None:
        commit(connection)
        raise dialect.loaded_dbapi.OperationalError("the connection is lost")

    monkeypatch.setattr(dialect, "do_commit", commit_and_fail)


class Stuck:
    """Work that hangs, as on an unresponsive disk, until it is released."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()

    def __call__(self, _: Connection) -> None:
        self.begun.set()
        self.go.wait(10)


class Attempts:
    """Counts the connections that were requested."""

    def __init__(self, database: Database) -> None:
        self.count = 0
        database._transactions.close()
        event.listen(database._engine, "checkout", self._counted)

    def _counted(self, *_: object) -> None:
        self.count += 1
