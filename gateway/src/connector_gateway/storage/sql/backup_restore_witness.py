"""Witnesses: records of a database's age outside its backups, by which a restored database is detected.

The database counts epochs, one with every heartbeat of a process. A witness of a later epoch than the database's has
seen commits that the database has lost.
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
    """A place outside the database in which its epoch is stored."""

    name: str

    async def read(self, installation_id: str) -> Epoch | None:
        """Return the last stored epoch (0 if none), or None if that is unknown now."""

    async def write(self, epoch: Epoch) -> None:
        """Store *epoch*, or do nothing if that is not possible now."""


class FileWitness:
    """A file next to an embedded database."""

    name = "file"

    def __init__(self, database: Path) -> None:
        self.path = database.with_name(f"{database.name}.epoch")

    async def read(self, installation_id: str) -> Epoch | None:
        """Return the epoch in the file, of any installation, or 0 if it is missing or invalid."""
        return await asyncio.to_thread(self.read_now) or Epoch(installation_id, 0)

    def read_now(self) -> Epoch | None:
        """Return the epoch in the file, or None if it is missing or invalid."""
        try:
            stored = json.loads(self.path.read_bytes())
            return Epoch(str(stored["installation_id"]), int(stored["epoch"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    async def write(self, epoch: Epoch) -> None:
        """Write *epoch* into the file, atomically."""
        await asyncio.to_thread(self._write, epoch)

    def _write(self, epoch: Epoch) -> None:
        new = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        content = json.dumps({"installation_id": epoch.installation_id, "epoch": epoch.number})
        # The database reports a full disk. Without this file, only a restored backup would not be detected.
        with suppress(OSError):
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, OWN_FILE), "wb", buffering=0) as file:
                file.write(content.encode())
            new.replace(self.path)

    def remove(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)
