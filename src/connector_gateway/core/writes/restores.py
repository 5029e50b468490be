"""Restores: what is known of databases that were restored from a backup, and how that is noticed.

A restored database has lost the claims of the keys that were used after its backup. While these keys may be repeated,
every step under a key counts as possibly sent since the backup (``Attempt.step``).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

import structlog
from sqlalchemy import Connection, bindparam, exists, func, select, update
from sqlalchemy import Connection as Writing
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.writes.claims import WINDOW_SECONDS
from connector_gateway.kit.errors import InvalidParameters, StorageUnavailable
from connector_gateway.kit.identifiers import ulid
from connector_gateway.storage import tables
from connector_gateway.storage.sql.bulk_insert import fetch
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.epochs import Epoch, FileWitness, Witness
from connector_gateway.storage.sql.sqlite_files import UnusableDatabase

ONLY = 1
"""The identifier of the one row."""


async def identify(database: Database) -> tuple[str, bool]:
    """The identifier of the installation on *database*, and whether it was given just now."""
    return await database.write(identified)


def identified(writing: Connection) -> tuple[str, bool]:
    """Return the identifier of the installation, and whether it was given just now."""
    new = insert(tables.installation).values(row_id=ONLY, installation_id=ulid(), epoch=0).on_conflict_do_nothing()
    given = writing.execute(new.returning(tables.installation.c.installation_id)).scalar()
    if given is not None:
        return given, True
    return writing.execute(select(tables.installation.c.installation_id)).scalar_one(), False


log = structlog.get_logger()

DECLARED = "declared"

_installation, _restores = tables.installation.c, tables.restores.c


COUNT = (
    update(tables.installation)
    .where(_installation.epoch >= bindparam("_seen"))
    .values(epoch=_installation.epoch + 1, epoch_at=bindparam("_now"))
    .returning(_installation.epoch)
)
"""Counts an epoch, unless the database is in an earlier one than was seen before."""

LAST_COUNTED = select(_installation.epoch_at)
LOST = select(func.min(_restores.backup_at), func.max(_restores.restored_at), func.min(_restores.restored_at)).where(
    _restores.restored_at > bindparam("_after")
)


class Lost(NamedTuple):
    """A time whose writes the database does not know."""

    since: float
    until: float


NoteGaps = Callable[[Lost], Awaitable[object]]
"""Tells the readers of events that some may be missing."""


class Restores:
    """Counts the epochs of the database, and knows which time it has lost."""

    def __init__(self, database: Database, witnesses: Sequence[Witness], note_gaps: NoteGaps) -> None:
        self._database = database
        self._witnesses = witnesses
        self._note_gaps = note_gaps
        self._installation_id = ""
        self._unread = list(witnesses)
        """Witnesses that could not be asked yet, such as a store that is away."""

        self._seen = 0
        """The latest epoch that this process knows of."""

        self._told = ""
        """The name of the witness that knew it first."""

        self.lost: Lost | None = None
        """The time whose writes are searched for before a key is used; None if there is none."""

    async def __aenter__(self) -> Self:
        self._installation_id, new, populated = await self._database.write(_identify)
        for witness in self._witnesses:
            if isinstance(witness, FileWitness):
                self._check(witness, new=new, populated=populated)
        await self.beat()
        return self

    async def __aexit__(self, *_: object) -> None:
        # The last epoch: a backup that was made just before is older than that.
        with suppress(StorageUnavailable):
            await self.beat()

    def _check(self, witness: FileWitness, *, new: bool, populated: bool) -> None:
        """Refuse a database of another installation; take one of an earlier release for a restored one."""
        epoch = witness.read_now()
        if epoch is None or epoch.installation_id == self._installation_id:
            return
        if not new:
            raise UnusableDatabase(
                f"The database is of installation {self._installation_id}, but {witness.path} is of "
                f"{epoch.installation_id}: another database was put in its place. To serve it all the same, run "
                "'connector-gateway restored --backup-at TIME' with the time of that backup."
            )
        if populated:
            self._seen, self._told = epoch.number, witness.name

    async def beat(self) -> None:
        """Count an epoch and write it down, and find out whether the database was restored."""
        await self._ask()
        counted = await self._database.write(self._count)
        if isinstance(counted, Lost):
            await self._record(counted)
            counted = await self._database.write(self._count)
        if isinstance(counted, Lost):
            return
        epoch, self.lost = counted
        self._seen = max(self._seen, epoch)
        known = Epoch(self._installation_id, epoch)
        # One that was not asked yet may know of a later epoch, which must not be overwritten.
        told = [witness for witness in self._witnesses if witness not in self._unread]
        await asyncio.gather(*(witness.write(known) for witness in told))

    async def _ask(self) -> None:
        """Ask those witnesses that have not been asked yet."""
        for witness in list(self._unread):
            epoch = await witness.read(self._installation_id)
            if epoch is None:
                continue
            self._unread.remove(witness)
            if epoch.installation_id == self._installation_id and epoch.number > self._seen:
                self._seen, self._told = epoch.number, witness.name

    async def _record(self, lost: Lost) -> None:
        """Record that the database was restored, unless another process has done so."""
        log.warning("the database was restored from a backup", noticed=self._told or "process", backup_at=lost.since)
        # Before the record: who dies in between tells it twice rather than not at all.
        await self._note_gaps(lost)
        await self._database.write(lambda writing: _record(writing, lost, self._told or "process", self._seen))

    def _count(self, writing: Writing) -> tuple[int, Lost | None] | Lost:
        """Count an epoch; what the database has lost instead, if this process knows of a later one than it does."""
        now = self._database.time()
        counted = fetch(writing, COUNT, {"_seen": self._seen, "_now": now})
        if not counted:
            ((counted_at,),) = fetch(writing, LAST_COUNTED)
            return Lost(counted_at or 0.0, now)
        return counted[0][0], _lost(writing, now)

    async def declare(self, backup_at: float) -> dict[str, Any]:
        """Record that the database was restored from a backup of that time, which operators know."""
        now = self._database.time()
        if backup_at > now:
            raise InvalidParameters(
                "The backup cannot be newer than now.",
                {"parameter": "backup_at", "message": "Should be the time at which the backup was made"},
            )
        self._installation_id, _, _ = await self._database.write(_identify)
        lost = Lost(await self._database.read(lambda reading: _last_sign(reading, backup_at)), now)
        await self._note_gaps(lost)
        await self._database.write(lambda writing: _record(writing, lost, DECLARED, 0))
        self._adopt()
        return {"backup_at": lost.since, "restored_at": now, "searched_until": now + WINDOW_SECONDS}

    def _adopt(self) -> None:
        """Forget what was written down beside the database of another installation."""
        for witness in self._witnesses:
            if isinstance(witness, FileWitness):
                epoch = witness.read_now()
                if epoch is not None and epoch.installation_id != self._installation_id:
                    witness.forget()


def _identify(writing: Writing) -> tuple[str, bool, bool]:
    """The installation, whether it got its identifier now, and whether it has a workspace."""
    installation_id, new = identified(writing)
    return installation_id, new, bool(writing.execute(select(exists().select_from(tables.workspaces))).scalar())


def _last_sign(reading: Writing, backup_at: float) -> float:
    """The time of a backup: no later than the last sign of life that it holds."""
    epoch_at: float | None = reading.execute(select(func.min(_installation.epoch_at))).scalar()
    return backup_at if epoch_at is None else min(backup_at, epoch_at)


def _record(writing: Writing, lost: Lost, noticed: str, seen: int) -> None:
    """Record a restore, and bring the database to an epoch that no witness has seen."""
    if seen:
        later = update(tables.installation).where(_installation.epoch < seen).values(epoch=seen)
        if not writing.execute(later).rowcount:
            return
    new = insert(tables.restores).on_conflict_do_nothing()
    writing.execute(new, {"restored_at": lost.until, "backup_at": lost.since, "noticed": noticed})


def _lost(writing: Writing, now: float) -> Lost | None:
    """The time that the database has lost, as far as keys of it may still be repeated."""
    ((since, until, first),) = fetch(writing, LOST, {"_after": now - WINDOW_SECONDS})
    if since is None:
        return None
    # A key that was used earlier was forgotten by the time of the restore.
    return Lost(max(since, first - WINDOW_SECONDS), until)
