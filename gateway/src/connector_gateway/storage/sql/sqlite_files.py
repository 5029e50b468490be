"""The files of an embedded database: validity, permissions and the lock of the serving process.

Separate from the engines, because drivers are slow to import.
"""

import fcntl
import os
import socket
import sqlite3
import stat
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Self

OWN_FILE = 0o600
OWN_FOLDER = 0o700
SUFFIXES = ("", "-wal", "-shm", ".lock", ".epoch")
"""The suffixes of a database's files. SQLite gives its own files the permissions of the first."""


def make_private(database: Path) -> None:
    """Restrict the files of an embedded database to their owner, creating the first if it is missing.

    If that is not permitted, they are not changed, and errors occur when they are used.
    """
    with suppress(OSError):
        # Only if it is new: closing a file releases all locks that SQLite holds on it in this process.
        os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWN_FILE))
    for suffix in SUFFIXES:
        _restrict(database.with_name(database.name + suffix), OWN_FILE)


def make_private_folder(folder: Path, database: str) -> None:
    """Create a folder that only its owner can access. An existing folder is restricted if it contains *database*."""
    folder.mkdir(OWN_FOLDER, parents=True, exist_ok=True)
    if (folder / database).exists():
        _restrict(folder, OWN_FOLDER)


def write_private(path: Path, text: str) -> None:
    """Write a file atomically. Only this user may read it."""
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    partial.replace(path)


def _restrict(path: Path, mode: int) -> None:
    """Remove the permissions of others. Devices are not changed."""
    with suppress(OSError):
        present = path.stat().st_mode
        if (stat.S_ISREG(present) or stat.S_ISDIR(present)) and stat.S_IMODE(present) & ~mode:
            path.chmod(mode)


class DatabaseInUse(Exception):
    """Another gateway uses this database. The message identifies it in a sentence."""


class UnusableDatabase(Exception):
    """The database cannot be used. The message states the reason and the solution in one sentence."""


def check_file(database: Path) -> None:
    """Check that *database* is a database or can become one. Raises ``UnusableDatabase`` with the reason otherwise."""
    try:
        problem = _folder_problem(database.parent) or _file_problem(database)
    except OSError as error:
        problem = f"{database} cannot be read: {error.strerror}"
    if problem:
        raise UnusableDatabase(f"{problem}; correct that, or set GATEWAY_DATABASE_URL to another file.")


def _folder_problem(folder: Path) -> str:
    if not folder.exists():
        return f"The database's folder {folder} does not exist"
    if not folder.is_dir():
        return f"{folder}, which should be the database's folder, is a file"
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return f"The database's folder {folder} cannot be read and written by this user"
    return ""


def _file_problem(database: Path) -> str:
    if not database.exists():
        return ""
    if not database.is_file():
        return f"{database}, which should be the database, is not a file"
    if not os.access(database, os.R_OK | os.W_OK):
        return f"The database {database} cannot be read and written by this user"
    return "" if _is_database(database) else f"The file {database} is not a SQLite database"


def _is_database(file: Path) -> bool:
    """Return True if SQLite recognises *file* as a database. Other problems appear when it is used."""
    # SQLite itself opens it, because opening and closing the file directly would release its locks in this process.
    # Others could then delete the log that is being written. Source: sqlite.org/howtocorrupt.html, section 2.2.
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", timeout=0, uri=True)) as connection:
            connection.execute("PRAGMA schema_version")
    except sqlite3.DatabaseError as error:
        return error.sqlite_errorcode != sqlite3.SQLITE_NOTADB
    return True


class FileLock:
    """A lock on a file next to an embedded database, which the operating system releases when the process dies.

    *description* names the locked object in messages, by default the database. If not *checked*, any file is
    accepted.
    """

    def __init__(self, database: Path, *, description: str | None = None, checked: bool = True) -> None:
        self._database = database
        self._description = description or f"The database {database}"
        self._checked = checked
        self._path = database.with_name(f"{database.name}.lock")
        self._file: IO[str] | None = None

    async def __aenter__(self) -> Self:
        self.take()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.release()

    def take(self) -> None:
        """Acquire the lock. Raises ``DatabaseInUse`` with its holder if it is taken."""
        if self._checked:
            check_file(self._database)
        try:
            file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, OWN_FILE), "a+")
        except OSError as error:
            raise UnusableDatabase(f"The file {self._path} cannot be locked: {error.strerror}.") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.seek(0)
            holder = file.read().strip() or "which has just started"
            file.close()
            raise DatabaseInUse(
                f"{self._description} is in use by another process, {holder}; stop that process first."
            ) from error
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        self._file = file

    def release(self) -> None:
        """Release the lock. The file remains, because removing it would race with another process that opens it."""
        if self._file is not None:
            self._file.close()
            self._file = None
