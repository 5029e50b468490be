"""Failing storage: real SQLite, with faults between its driver and the gateway."""

import asyncio
import shutil
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import event

from connector_gateway.storage.sql.database import Database
from simulation.virtual_time_loop import HOST

UNAVAILABLE = "the database is away"
COMMIT_FAILED = "the commit was refused"
UNACKNOWLEDGED = "the connection broke during the commit"


@dataclass
class Storage:
    """The failures of one database, for all its users."""

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

    def end_failures(self) -> None:
        """End all failures."""
        self.unavailable_until = self.slow_until = 0.0
        self.fail_commits = self.unacknowledge = 0

    def delay(self) -> float:
        """Return the delay of the next piece of work."""
        return self.slow_seconds if _now() < self.slow_until else 0.0

    def check_available(self) -> None:
        """Raise while the database is unavailable."""
        if _now() < self.unavailable_until:
            self.log.append((_now(), UNAVAILABLE))
            raise sqlite3.OperationalError(UNAVAILABLE)

    def check_commit(self) -> None:
        """Raise if this commit is rejected."""
        self.check_available()
        if self.fail_commits > 0:
            self.fail_commits -= 1
            self.log.append((_now(), COMMIT_FAILED))
            raise sqlite3.OperationalError(COMMIT_FAILED)

    def check_acknowledged(self) -> None:
        """Raise if this commit is not acknowledged."""
        if self.unacknowledge > 0:
            self.unacknowledge -= 1
            self.log.append((_now(), UNACKNOWLEDGED))
            raise sqlite3.OperationalError(UNACKNOWLEDGED)


def _now() -> float:
    return asyncio.get_running_loop().time()


class FaultyCursor(sqlite3.Cursor):
    """Executes statements while the database is available."""

    connection: "FaultyConnection"

    def execute(self, *arguments: Any) -> Any:
        self.connection.storage.check_available()
        return super().execute(*arguments)

    def executemany(self, *arguments: Any) -> Any:
        self.connection.storage.check_available()
        return super().executemany(*arguments)


class FaultyConnection(sqlite3.Connection):
    """Commits unless the storage fails."""

    storage: Storage

    def cursor(self, *_: Any) -> Any:
        return super().cursor(FaultyCursor)

    def commit(self) -> None:
        changes = self.in_transaction and HOST.get() is not None
        if changes:
            self.storage.check_commit()
        super().commit()
        if changes:
            self.storage.check_acknowledged()


COMPILED: dict[str, Any] = {}
"""The dialect and compiled statements of the first engine, which all others reuse to avoid compiling again."""


def attach(database: Database, storage: Storage) -> None:
    """Connect *database* through *storage*."""
    engine = database._engine

    @event.listens_for(engine, "do_connect")
    def connect(*_: object) -> FaultyConnection:
        storage.check_available()
        connection = sqlite3.connect(storage.path, factory=FaultyConnection, check_same_thread=False, timeout=0)
        connection.storage = storage
        return connection

    COMPILED.setdefault("dialect", engine.dialect)
    COMPILED.setdefault("cache", engine._compiled_cache)
    engine.dialect, engine._compiled_cache = COMPILED["dialect"], COMPILED["cache"]


def copy_storage(template: Path, path: Path) -> Storage:
    """Return the storage of a new history, a copy of *template*."""
    shutil.copyfile(template, path)
    return Storage(path)
