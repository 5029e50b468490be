"""Restores: detection of databases that were restored from a backup, and the record of them.

A restored database has lost the claims of keys that were used after its backup. While such keys may be repeated, every
step under a key counts as possibly sent since the backup (``WriteAttempt.step``).
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

import structlog
from sqlalchemy import Connection, bindparam, exists, func, select, update
from sqlalchemy import Connection as SqlConnection
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.writes.idempotency import WINDOW_SECONDS
from connector_gateway.kit.errors import InvalidParameters, StorageUnavailable
from connector_gateway.kit.identifiers import ulid
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.backup_restore_witness import Epoch, FileWitness, Witness
from connector_gateway.storage.sql.compiled_statements import fetch
from connector_gateway.storage.sql.database import Database
from connector_gateway.storage.sql.sqlite_files import UnusableDatabase

ROW_ID = 1
"""The identifier of the only row."""


async def get_or_create_installation(database: Database) -> tuple[str, bool]:
    """Return the identifier of the installation on *database*, and whether it was created by this call."""
    return await database.write(ensure_installation)


def ensure_installation(db: Connection) -> tuple[str, bool]:
    """Return the identifier of the installation, creating it if needed, and whether it was created by this call."""
    new = insert(tables.installation).values(row_id=ROW_ID, installation_id=ulid(), epoch=0).on_conflict_do_nothing()
    installation_id = db.execute(new.returning(tables.installation.c.installation_id)).scalar()
    if installation_id is not None:
        return installation_id, True
    return db.execute(select(tables.installation.c.installation_id)).scalar_one(), False


log = structlog.get_logger()

DECLARED = "declared"

_installation, _restores = tables.installation.c, tables.restores.c


COUNT = (
    update(tables.installation)
    .where(_installation.epoch >= bindparam("_seen"))
    .values(epoch=_installation.epoch + 1, epoch_at=bindparam("_now"))
    .returning(_installation.epoch)
)
"""Counts an epoch, unless the database is in an earlier epoch than the latest one seen."""

LAST_COUNTED = select(_installation.epoch_at)
LOST = select(func.min(_restores.backup_at), func.max(_restores.restored_at), func.min(_restores.restored_at)).where(
    _restores.restored_at > bindparam("_after")
)


class LostPeriod(NamedTuple):
    """A period whose writes are missing from the database."""

    since: float
    until: float


RecordGaps = Callable[[LostPeriod], Awaitable[object]]
"""Reports to readers of events that some may be missing."""


class BackupRestoreDetector:
    """Counts the epochs of the database, and determines the period that it has lost."""

    def __init__(self, database: Database, witnesses: Sequence[Witness], note_gaps: RecordGaps) -> None:
        self._database = database
        self._witnesses = witnesses
        self._note_gaps = note_gaps
        self._installation_id = ""
        self._unread_witnesses = list(witnesses)
        """Witnesses that could not be read yet, such as an unavailable store."""

        self._latest_epoch = 0
        """The latest epoch that this process knows of."""

        self._latest_witness = ""
        """The name of the witness that reported this epoch first."""

        self.lost: LostPeriod | None = None
        """The period whose writes are searched for before a key is used, or None."""

    async def __aenter__(self) -> Self:
        self._installation_id, new, populated = await self._database.write(_identify)
        for witness in self._witnesses:
            if isinstance(witness, FileWitness):
                self._check(witness, new=new, populated=populated)
        await self.count_epoch()
        return self

    async def __aexit__(self, *_: object) -> None:
        # Count a last epoch, so that a backup made just before is recognised as older.
        with suppress(StorageUnavailable):
            await self.count_epoch()

    def _check(self, witness: FileWitness, *, new: bool, populated: bool) -> None:
        """Reject the database of another installation. Treat a database of an earlier release as restored."""
        epoch = witness.read_now()
        if epoch is None or epoch.installation_id == self._installation_id:
            return
        if not new:
            raise UnusableDatabase(
                f"The database is of installation {self._installation_id}, but {witness.path} is of "
                f"{epoch.installation_id}: the database was replaced by another one. To serve it anyway, run "
                "'connector-gateway restored --backup-at TIME' with the time of that backup."
            )
        if populated:
            self._latest_epoch, self._latest_witness = epoch.number, witness.name

    async def count_epoch(self) -> None:
        """Count an epoch, write it to the witnesses, and detect whether the database was restored."""
        await self._read_witnesses()
        counted = await self._database.write(self._count)
        if isinstance(counted, LostPeriod):
            await self._record(counted)
            counted = await self._database.write(self._count)
        if isinstance(counted, LostPeriod):
            return
        epoch, self.lost = counted
        self._latest_epoch = max(self._latest_epoch, epoch)
        current = Epoch(self._installation_id, epoch)
        # A witness that was not read yet may contain a later epoch, which must not be overwritten.
        read_witnesses = [witness for witness in self._witnesses if witness not in self._unread_witnesses]
        await asyncio.gather(*(witness.write(current) for witness in read_witnesses))

    async def _read_witnesses(self) -> None:
        """Read the witnesses that have not been read yet."""
        for witness in list(self._unread_witnesses):
            epoch = await witness.read(self._installation_id)
            if epoch is None:
                continue
            self._unread_witnesses.remove(witness)
            if epoch.installation_id == self._installation_id and epoch.number > self._latest_epoch:
                self._latest_epoch, self._latest_witness = epoch.number, witness.name

    async def _record(self, lost: LostPeriod) -> None:
        """Record that the database was restored, unless another process has recorded it."""
        log.warning("database restored from a backup", noticed=self._latest_witness or "process", backup_at=lost.since)
        # Before the record: after a crash in between, the gap is reported twice rather than not at all.
        await self._note_gaps(lost)
        await self._database.write(lambda db: _record(db, lost, self._latest_witness or "process", self._latest_epoch))

    def _count(self, db: SqlConnection) -> tuple[int, LostPeriod | None] | LostPeriod:
        """Count an epoch. Returns the lost period instead if this process knows of a later epoch than the database."""
        now = self._database.time()
        counted = fetch(db, COUNT, {"_seen": self._latest_epoch, "_now": now})
        if not counted:
            ((counted_at,),) = fetch(db, LAST_COUNTED)
            return LostPeriod(counted_at or 0.0, now)
        return counted[0][0], _lost_period(db, now)

    async def declare(self, backup_at: float) -> dict[str, Any]:
        """Record that the database was restored from a backup made at *backup_at*, as stated by the operator."""
        now = self._database.time()
        if backup_at > now:
            raise InvalidParameters(
                "The time of the backup is in the future.",
                {"parameter": "backup_at", "message": "Should be the time of the backup"},
            )
        self._installation_id, _, _ = await self._database.write(_identify)
        lost = LostPeriod(await self._database.read(lambda db: _backup_time(db, backup_at)), now)
        await self._note_gaps(lost)
        await self._database.write(lambda db: _record(db, lost, DECLARED, 0))
        self._forget_other_installations()
        return {"backup_at": lost.since, "restored_at": now, "searched_until": now + WINDOW_SECONDS}

    def _forget_other_installations(self) -> None:
        """Delete witness files that were written for the database of another installation."""
        for witness in self._witnesses:
            if isinstance(witness, FileWitness):
                epoch = witness.read_now()
                if epoch is not None and epoch.installation_id != self._installation_id:
                    witness.remove()


def _identify(db: SqlConnection) -> tuple[str, bool, bool]:
    """Return the installation identifier, whether it was created now, and whether the database has a workspace."""
    installation_id, new = ensure_installation(db)
    return installation_id, new, bool(db.execute(select(exists().select_from(tables.workspaces))).scalar())


def _backup_time(db: SqlConnection, backup_at: float) -> float:
    """Return the time of a backup, which is at most the time of the last epoch that it contains."""
    epoch_at: float | None = db.execute(select(func.min(_installation.epoch_at))).scalar()
    return backup_at if epoch_at is None else min(backup_at, epoch_at)


def _record(db: SqlConnection, lost: LostPeriod, noticed: str, seen: int) -> None:
    """Record a restore, and advance the database to an epoch that no witness has seen."""
    if seen:
        later = update(tables.installation).where(_installation.epoch < seen).values(epoch=seen)
        if not db.execute(later).rowcount:
            return
    new = insert(tables.restores).on_conflict_do_nothing()
    db.execute(new, {"restored_at": lost.until, "backup_at": lost.since, "noticed": noticed})


def _lost_period(db: SqlConnection, now: float) -> LostPeriod | None:
    """Return the lost period, limited to the time whose keys may still be repeated."""
    ((since, until, first),) = fetch(db, LOST, {"_after": now - WINDOW_SECONDS})
    if since is None:
        return None
    # Keys that were used earlier had expired by the time of the restore.
    return LostPeriod(max(since, first - WINDOW_SECONDS), until)
