"""The files of an embedded database: whether it can be one, who may read it, and who serves on it.

On a page of its own, since the drivers are slow to load.
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
BESIDE = ("", "-wal", "-shm", ".lock", ".epoch")
"""What the names of a database's files end in; SQLite gives those that it makes the rights of the first."""


def make_private(database: Path) -> None:
    """Let only the owner read and write the files of an embedded database; the first is made if there is none.

    Where that is not allowed they stay as they are, and whether they can be used is seen when they are.
    """
    with suppress(OSError):
        # Only one that is new: closing a file takes the locks that SQLite holds on it from the whole process.
        os.close(os.open(database, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWN_FILE))
    for end in BESIDE:
        _restrict(database.with_name(database.name + end), OWN_FILE)


def make_private_folder(folder: Path, database: str) -> None:
    """Make a folder that only its owner can look into; one that is there already becomes so if it holds *database*."""
    folder.mkdir(OWN_FOLDER, parents=True, exist_ok=True)
    if (folder / database).exists():
        _restrict(folder, OWN_FOLDER)


def write_private(path: Path, text: str) -> None:
    """Write a file that only this user may read, completely or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    partial.replace(path)


def _restrict(path: Path, mode: int) -> None:
    """Take from others whatever rights they have; a device is not ours to change."""
    with suppress(OSError):
        present = path.stat().st_mode
        if (stat.S_ISREG(present) or stat.S_ISDIR(present)) and stat.S_IMODE(present) & ~mode:
            path.chmod(mode)


class DatabaseInUse(Exception):
    """Another gateway serves on this database; the message says which, in a sentence."""


class UnusableDatabase(Exception):
    """The database cannot be used as it is; the message says why, and what to do, in a sentence."""


def check_file(database: Path) -> None:
    """Make sure that *database* is a database, or can become one; ``Unusable`` says what stands in the way."""
    try:
        wrong = _wrong_with_folder(database.parent) or _wrong_with_file(database)
    except OSError as fault:
        wrong = f"{database} cannot be read: {fault.strerror}"
    if wrong:
        raise UnusableDatabase(f"{wrong}; put it right, or set GATEWAY_DATABASE_URL to another file.")


def _wrong_with_folder(folder: Path) -> str:
    if not folder.exists():
        return f"The database's folder {folder} does not exist"
    if not folder.is_dir():
        return f"{folder}, which should be the database's folder, is a file"
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return f"The database's folder {folder} cannot be read and written by this user"
    return ""


def _wrong_with_file(database: Path) -> str:
    if not database.exists():
        return ""
    if not database.is_file():
        return f"{database}, which should be the database, is no file"
    if not os.access(database, os.R_OK | os.W_OK):
        return f"The database {database} cannot be read and written by this user"
    return "" if _is_database(database) else f"The file {database} is no SQLite database"


def _is_database(file: Path) -> bool:
    """Whether SQLite takes *file* for one of its own; what else is wrong with it is seen when it is used."""
    # SQLite itself looks, since who opens and closes the file beside it takes its locks from the whole process:
    # others could then delete the log that is being written. Source: sqlite.org/howtocorrupt.html, section 2.2.
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", timeout=0, uri=True)) as connection:
            connection.execute("PRAGMA schema_version")
    except sqlite3.DatabaseError as fault:
        return fault.sqlite_errorcode != sqlite3.SQLITE_NOTADB
    return True


class FileLock:
    """A lock on a file beside an embedded database, which the operating system releases when the process dies.

    *what* is locked is told to others, in place of the database; where it is not *checked*, it need not be one.
    """

    def __init__(self, database: Path, *, what: str | None = None, checked: bool = True) -> None:
        self._database = database
        self._what = what or f"The database {database}"
        self._checked = checked
        self._path = database.with_name(f"{database.name}.lock")
        self._file: IO[str] | None = None

    async def __aenter__(self) -> Self:
        self.take()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.release()

    def take(self) -> None:
        """Take the lock, or say who has it."""
        if self._checked:
            check_file(self._database)
        try:
            file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, OWN_FILE), "a+")
        except OSError as fault:
            raise UnusableDatabase(f"The file {self._path} cannot be locked: {fault.strerror}.") from fault
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            file.seek(0)
            holder = file.read().strip() or "which has just started"
            file.close()
            raise DatabaseInUse(
                f"{self._what} is being served by another process, {holder}; stop that one first."
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
