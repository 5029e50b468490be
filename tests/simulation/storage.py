"""Storage that fails: real SQLite, with faults between its driver and the gateway."""

import asyncio
import shutil
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import event

from connector_gateway.storage.sql.database import Database
from simulation.loop import HOST

UNAVAILABLE = "the database is away"
COMMIT_FAILED = "the commit was refused"
UNACKNOWLEDGED = "the connection broke during the commit"


@dataclass
class Storage:
    """The failures of one database, for everybody who uses it."""

    path: Path
    unavailable_until: float = 0.0
    slow_until: float = 0.0
    slow_seconds: float = 0.0
    fail_commits: int = 0
    """The number of next commits that fail."""

    unacknowledge: int = 0
    """The number of next commits that succeed but seem to fail."""

    log: list[tuple[float, str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    def heal(self) -> None:
        """From now on nothing goes wrong."""
        self.unavailable_until = self.slow_until = 0.0
        self.fail_commits = self.unacknowledge = 0

    def delay(self) -> float:
        """The time that the next piece of work waits."""
        return self.slow_seconds if _now() < self.slow_until else 0.0

    def reached(self) -> None:
        """Raise while the database is away."""
        if _now() < self.unavailable_until:
            self.log.append((_now(), UNAVAILABLE))
            raise sqlite3.OperationalError(UNAVAILABLE)

    def commits(self) -> None:
        """Raise if this commit is rejected."""
        self.reached()
        if self.fail_commits > 0:
            self.fail_commits -= 1
            self.log.append((_now(), COMMIT_FAILED))
            raise sqlite3.OperationalError(COMMIT_FAILED)

    def committed(self) -> None:
        """Raise if nobody is told of this commit."""
        if self.unacknowledge > 0:
            self.unacknowledge -= 1
            self.log.append((_now(), UNACKNOWLEDGED))
            raise sqlite3.OperationalError(UNACKNOWLEDGED)


def _now() -> float:
    return asyncio.get_running_loop().time()


class FaultyCursor(sqlite3.Cursor):
    """Executes while the database can be reached."""

    connection: "FaultyConnection"

    def execute(self, *arguments: Any) -> Any:
        self.connection.storage.reached()
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        self.connection.storage.reached()
        return super().executemany(*arguments)


class FaultyConnection(sqlite3.Connection):
    """Commits as far as the storage lets it."""

    storage: Storage

    def cursor(self, *_: Any) -> Any:
        return super().cursor(FaultyCursor)

    def commit(self) -> None:
        changes = self.in_transaction and HOST.get() is not None
        if changes:
            self.storage.commits()
        super().commit()
        if changes:
            self.storage.committed()


COMPILED: dict[str, Any] = {}
"""The first engine's dialect and compiled statements: all others use them too, or each history would compile again."""


def attach(database: Database, storage: Storage) -> None:
    """Let *database* connect through *storage*."""
    engine = database._engine

    @event.listens_for(engine, "do_connect")
    def connect(*_: object) -> FaultyConnection:
        storage.reached()
        connection = sqlite3.connect(storage.path, factory=FaultyConnection, check_same_thread=False, timeout=0)
        connection.storage = storage
        return connection

    COMPILED.setdefault("dialect", engine.dialect)
    COMPILED.setdefault("cache", engine._compiled_cache)
    engine.dialect, engine._compiled_cache = COMPILED["dialect"], COMPILED["cache"]


def copied(template: Path, path: Path) -> Storage:
    """The storage of a new history, which begins as *template* is."""
    shutil.copyfile(template, path)
    return Storage(path)
