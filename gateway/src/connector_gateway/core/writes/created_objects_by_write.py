"""Owners: the write to which an upstream object belongs, so that no other write claims it as its own.

Objects belong to vendor accounts. An owner row names the object by the vendor's identifier, not by a connection. All
connections and workspaces that lead to one account share the row, even if the account is unknown.

A row is inserted with the intent to create an object, and gets the object's identifier once that is known. Rows with
equal content are twins: their objects cannot be distinguished.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, bindparam, delete, exists, or_, select, update
from sqlalchemy import Connection as SqlConnection
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError

from connector_gateway.core.background_jobs import PURGE_STEP
from connector_gateway.core.writes.idempotency import WINDOW_SECONDS
from connector_gateway.kit.identifiers import ProcessId, RunId, WorkspaceId
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.compiled_statements import Put, put_all
from connector_gateway.storage.sql.database import Database

RETENTION_SECONDS = 2 * WINDOW_SECONDS
"""Seconds for which a row is stored: the longest life of a claim that was taken over in doubt."""

_owned = tables.owned.c
_other = tables.owned.alias("other")


def _in_scope(one: Any, other: Any) -> ColumnElement[bool]:
    """Return the condition that two rows have the same kind and scope."""
    return and_(one.kind == other.kind, one.scope == other.scope)


_is_owned = exists().where(_in_scope(_other.c, _owned), _other.c.upstream_id == bindparam("_upstream_id"))
INSERT_ROW = insert(tables.owned)
STORE_OBJECT = INSERT_ROW.on_conflict_do_update(
    index_elements=[_owned.row_id],
    set_={"upstream_id": INSERT_ROW.excluded.upstream_id, "process_id": INSERT_ROW.excluded.process_id},
    where=_owned.upstream_id.is_(None),
)
"""Stores the object identifier from a response in a row that this attempt has inserted.

It is an upsert, so that it can be batched with inserts. If the row has got an object meanwhile, because this attempt
was considered dead, it keeps that object.
"""

REOPEN_ROW = (
    update(tables.owned)
    .where(_owned.row_id == bindparam("_row_id"))
    .values(owner=bindparam("_owner"), process_id=bindparam("_process_id"))
)
ASSIGN_OBJECT = (
    update(tables.owned)
    .where(_owned.row_id == bindparam("_row_id"), ~_is_owned)
    .values(upstream_id=bindparam("_upstream_id"), process_id=None)
)
"""Makes a write the owner of an object, unless the object has an owner."""

DETACH_ROW = update(tables.owned).where(_owned.row_id == bindparam("_row_id")).values(process_id=None)
DELETE_ROW = delete(tables.owned).where(_owned.row_id == bindparam("_row_id"))


@dataclass(frozen=True, slots=True)
class CompetingWrites:
    """The other writes to which an object may belong."""

    owned: Collection[str]
    """The object identifiers that belong to other writes."""

    in_progress: bool
    """Whether a live process is creating an equal object at the moment."""

    orphaned: int
    """The number of equal objects that may have been created by abandoned writes."""

    from_other_workspaces: bool
    """Whether some of these writes belong to other workspaces."""


class CreatedObjectOwners:
    """Stores which write owns which object."""

    def __init__(self, database: Database, process_id: ProcessId) -> None:
        self._database = database
        self._process_id = process_id

    def new_row(
        self, row_id: str, scope: str, kind: str, content: Any, run_id: RunId, *, keyed: bool
    ) -> dict[str, Any]:
        """Return a new row for an object with *content* that is about to be created."""
        return {
            "row_id": row_id,
            "scope": scope,
            "kind": kind,
            "fingerprint": _fingerprint(content),
            "owner": run_id,
            "keyed": keyed,
            "process_id": self._process_id,
            "upstream_id": None,
            "expires_at": self._database.time() + RETENTION_SECONDS,
        }

    def reopen_parameters(self, row_id: str, run_id: RunId) -> dict[str, Any]:
        """Return the parameters with which another attempt reopens a row."""
        return {"_row_id": row_id, "_owner": run_id, "_process_id": self._process_id}

    async def competing_writes(
        self, row_ids: Sequence[str], object_ids: Collection[str], workspace_id: WorkspaceId
    ) -> CompetingWrites:
        """Return the other writes that may own one of *object_ids*.

        *row_ids* are the rows of this write, which must all have the same content.
        """
        mine = select(tables.owned).where(_owned.row_id == row_ids[0]).subquery()
        same_scope = _in_scope(_owned, mine.c)
        others = _owned.row_id.not_in(row_ids)
        taken_query = (
            select(_owned.upstream_id).join(mine, same_scope).where(_owned.upstream_id.in_(object_ids), others)
        )
        twins = (
            select(tables.processes.c.process_id.label("alive"), tables.runs.c.workspace_id)
            .join(mine, and_(same_scope, _owned.fingerprint == mine.c.fingerprint))
            .outerjoin(tables.processes, tables.processes.c.process_id == _owned.process_id)
            .outerjoin(tables.runs, tables.runs.c.run_id == _owned.owner)
            .where(_owned.upstream_id.is_(None), others)
        )

        def read(db: SqlConnection) -> CompetingWrites:
            rows = db.execute(twins).all()
            orphaned = [row for row in rows if row.alive is None]
            owned = set(db.execute(taken_query).scalars())
            return CompetingWrites(
                owned,
                len(rows) > len(orphaned),
                len(orphaned),
                any(row.workspace_id != workspace_id for row in orphaned),
            )

        return await self._database.read(read)

    async def is_orphaned(self, row: Mapping[str, Any], object_id: str) -> bool:
        """Return True if an object with the content of *row* was abandoned by its write."""
        return await self._database.read(lambda db: _is_orphaned(db, row, object_id))

    async def adopt(self, row: Mapping[str, Any], object_id: str, opening: Sequence[Put]) -> bool:
        """Assign an abandoned object to *row* and commit *opening* with it. Returns whether the object was abandoned.

        From then on the object belongs to this write only. A write in doubt that may have created the object creates
        another one.
        """

        def take_over(db: SqlConnection) -> bool:
            if not _is_orphaned(db, row, object_id):
                return False
            db.execute(delete(tables.owned).where(*_same_scope(row), _owned.upstream_id == object_id))
            put_all(db, [(INSERT_ROW, {**row, "upstream_id": object_id, "process_id": None}), *opening])
            return True

        try:
            return await self._database.write(take_over, about=row["owner"])
        except IntegrityError:
            # Another process was quicker between the read and the insertion.
            return False

    async def assign(self, rows: Sequence[tuple[str, str]]) -> bool:
        """Assign objects to rows, either all or none. Returns whether all were free."""
        object_ids = [object_id for _, object_id in rows]
        mine = select(tables.owned).where(_owned.row_id == rows[0][0]).subquery()
        same_scope = _in_scope(_owned, mine.c)
        others = _owned.row_id.not_in([row_id for row_id, _ in rows])
        taken = select(_owned.row_id).join(mine, same_scope).where(_owned.upstream_id.in_(object_ids), others).limit(1)

        def own(db: SqlConnection) -> bool:
            if db.execute(taken).first():
                return False
            for row_id, object_id in rows:
                db.execute(ASSIGN_OBJECT, {"_row_id": row_id, "_upstream_id": object_id})
            return True

        try:
            return await self._database.write(own)
        except IntegrityError:
            # Another process was quicker between the read and the update.
            return False

    async def purge(self) -> int:
        """Delete a bounded number of expired rows. Returns how many."""
        expired = select(_owned.row_id).where(_owned.expires_at < self._database.time()).limit(PURGE_STEP)
        row_ids = await self._database.read_slow(lambda db: db.execute(expired).scalars().all())
        purge = delete(tables.owned).where(_owned.row_id.in_(row_ids))
        return await self._database.delete_expired(lambda db: db.execute(purge).rowcount) if row_ids else 0


def _same_scope(row: Mapping[str, Any]) -> tuple[ColumnElement[bool], ...]:
    """Return the conditions for rows with the scope and kind of *row*."""
    return _owned.kind == row["kind"], _owned.scope == row["scope"]


def _is_orphaned(connection: SqlConnection, row: Mapping[str, Any], object_id: str) -> bool:
    """Return True if an object with the content of *row* was abandoned.

    No process works on it, and no repeat under a key can continue it.
    """
    runs, processes = tables.runs.c, tables.processes.c
    owner = (
        select(_owned.keyed, runs.process_id)
        .outerjoin(tables.runs, runs.run_id == _owned.owner)
        .where(*_same_scope(row), _owned.upstream_id == object_id)
    )
    # The write that created the object may not have got its identifier.
    creator = (
        select(_owned.row_id)
        .outerjoin(tables.processes, processes.process_id == _owned.process_id)
        .where(*_same_scope(row), _owned.fingerprint == row["fingerprint"], _owned.upstream_id.is_(None))
        .where(or_(_owned.keyed, processes.process_id.is_not(None)))
    )
    owned = connection.execute(owner).first()
    if owned is not None:
        return not owned.keyed and owned.process_id is None
    return connection.execute(creator.limit(1)).first() is None


_ORDERED = msgspec.json.Encoder(enc_hook=str, order="deterministic")


def _fingerprint(content: Any) -> str:
    """Return the digest of a content. The order of keys does not matter."""
    return hashlib.sha256(_ORDERED.encode(content)).hexdigest()
