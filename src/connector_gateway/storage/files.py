"""Locking a file beside an embedded database; on a page of its own, since the drivers are slow to load."""

import fcntl
import os
import socket
from pathlib import Path
from typing import IO, Self


class AlreadyServed(Exception):
    """Another gateway serves on this database; the message says which, in a sentence."""


class FileLock:
    """A lock on a file beside an embedded database, which the operating system releases when the process dies."""

    def __init__(self, database: Path) -> None:
        self._database = database
        self._path = database.with_name(f"{database.name}.lock")
        self._file: IO[str] | None = None

    async def __aenter__(self) -> Self:
        self.take()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.release()

    async def keep(self) -> None:
        """The operating system keeps it."""

    def take(self) -> None:
        """Take the lock, or say who has it."""
        try:
            file = self._path.open("a+")
        except OSError as fault:
            raise AlreadyServed(f"The file {self._path} cannot be locked: {fault.strerror}.") from fault
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            file.seek(0)
            holder = file.read().strip() or "which has just started"
            file.close()
            raise AlreadyServed(
                f"The database {self._database} is being served by another process, {holder}; stop that one first."
            ) from fault
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        self._file = file

    def release(self) -> None:
        """Give the lock back; the file stays, since removing it would race with whoever opens it."""
        if self._file is not None:
            self._file.close()
            self._file = None
