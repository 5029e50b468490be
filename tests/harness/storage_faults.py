"""Storage that fails in the ways in which storage does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import Connection, event

from connector_gateway.storage.sql.database import Database


@contextmanager
def read_only(database: Database) -> Iterator[None]:
    """While inside, *database* takes no writes, as when its disk was mounted again for reading only."""
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
        # Connections that have been changed are changed back when they are used next.
        modes.append("OFF" if database.embedded else "WRITE")


def lose_acknowledgements(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on commits are carried out, and then the connection is gone."""
    dialect = database._engine.dialect
    commit = dialect.do_commit

    def commit_and_fail(connection: Any) -> None:
        commit(connection)
        raise dialect.loaded_dbapi.OperationalError("the connection is lost")

    monkeypatch.setattr(dialect, "do_commit", commit_and_fail)


class Stuck:
    """Work that hangs, as on a disk that does not answer, until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.go = threading.Event()

    def __call__(self, _: Connection) -> None:
        self.begun.set()
        self.go.wait(10)


class Attempts:
    """Counts how often a connection was asked for."""

    def __init__(self, database: Database) -> None:
        self.count = 0
        database._transactions.close()
        event.listen(database._engine, "checkout", self._counted)

    def _counted(self, *_: object) -> None:
        self.count += 1
