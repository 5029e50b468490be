"""Witnesses: records of a database's age that a backup does not hold, by which a restored database is noticed.

The database counts epochs, one with every sign of life of a process. Whoever wrote down a later epoch than the database
is in has seen commits that the database has lost (decision 112).
"""

import asyncio
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from connector_gateway.storage.sql.sqlite_files import OWN_FILE


class Epoch(NamedTuple):
    """The age of an installation's database."""

    installation_id: str
    number: int


class Witness(Protocol):
    """A place beside the database where its epoch is written down."""

    name: str

    async def read(self, installation_id: str) -> Epoch | None:
        """Return the last epoch that was written down, number 0 if none was; None if that cannot be told now."""

    async def write(self, epoch: Epoch) -> None:
        """Write *epoch* down; nothing happens if that is not possible now."""


class FileWitness:
    """A file beside an embedded database."""

    name = "file"

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}.epoch")

    async def read(self, installation_id: str) -> Epoch | None:
        """Return what the file says, whichever installation it is of; 0 if there is none, or it is no such file."""
        return await asyncio.to_thread(self.read_now) or Epoch(installation_id, 0)

    def read_now(self) -> Epoch | None:
        """Return what the file says; None if there is none, or it is no such file."""
        try:
            told = json.loads(self.path.read_bytes())
            return Epoch(str(told["installation_id"]), int(told["epoch"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    async def write(self, epoch: Epoch) -> None:
        """Write *epoch* into the file, in one step."""
        await asyncio.to_thread(self._write, epoch)

    def _write(self, epoch: Epoch) -> None:
        new = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        told = json.dumps({"installation_id": epoch.installation_id, "epoch": epoch.number})
        # A full disk is told by the database; without this file only a restored backup would not be noticed.
        with suppress(OSError):
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWN_FILE), "wb", buffering=0) as file:
                file.write(told.encode())
            new.replace(self.path)

    def forget(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)
