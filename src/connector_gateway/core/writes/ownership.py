"""Owners: which write an upstream object belongs to, so that no other write takes it for its own.

Objects belong to vendor accounts. An owner row names the object by the vendor's own identifier, and no connection: all
connections and workspaces that lead to one account share the row, whether or not the account is known.

A row is inserted with the intention to make an object, and gets the object's identifier once that is known. Rows of
equal content are twins: the object of one cannot be told from the object of another.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, and_, bindparam, delete, exists, or_, select, update
from sqlalchemy import Connection as Writing
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError

from connector_gateway.core.history.retention import PURGE_STEP
from connector_gateway.core.writes.claims import WINDOW_SECONDS
from connector_gateway.kit.identifiers import ProcessId, RunId, WorkspaceId
from connector_gateway.storage import tables
from connector_gateway.storage.sql.bulk_insert import Put, put_all
from connector_gateway.storage.sql.database import Database

KEPT_SECONDS = 2 * WINDOW_SECONDS
"""As long as a claim may last that was taken over in doubt."""

_owned = tables.owned.c
_other = tables.owned.alias("other")


def _in_scope(one: Any, other: Any) -> ColumnElement[bool]:
    """Whether two rows are of the same kind and account."""
    return and_(one.kind == other.kind, one.scope == other.scope)


_is_owned = exists().where(_in_scope(_other.c, _owned), _other.c.upstream_id == bindparam("_upstream_id"))
OPEN = insert(tables.owned)
SETTLE = OPEN.on_conflict_do_update(
    index_elements=[_owned.row_id],
    set_={"upstream_id": OPEN.excluded.upstream_id, "process_id": OPEN.excluded.process_id},
    where=_owned.upstream_id.is_(None),
)
"""Gives an object that an answer told to a row that was opened by this attempt; as an insertion it is one of many.

A row that was given an object meanwhile, because this attempt was taken for dead, keeps it.
"""

REOPEN = (
    update(tables.owned)
    .where(_owned.row_id == bindparam("_row_id"))
    .values(owner=bindparam("_owner"), process_id=bindparam("_process_id"))
)
OWN = (
    update(tables.owned)
    .where(_owned.row_id == bindparam("_row_id"), ~_is_owned)
    .values(upstream_id=bindparam("_upstream_id"), process_id=None)
)
"""Makes a write the owner of an object, unless the object has an owner."""

LEAVE = update(tables.owned).where(_owned.row_id == bindparam("_row_id")).values(process_id=None)
FORGET = delete(tables.owned).where(_owned.row_id == bindparam("_row_id"))


@dataclass(frozen=True, slots=True)
class CompetingWrites:
    """Which other writes an object may belong to."""

    owned: Collection[str]
    """The identifiers that belong to other writes."""

    under_way: bool
    """Whether an equal object is being made right now, by somebody who will be told its identifier."""

    left: int
    """How many equal objects may have been made by writes that nobody finished."""

    foreign: bool
    """Whether some of these writes are those of other workspaces."""


class ObjectOwnership:
    """Stores which write owns which object."""

    def __init__(self, database: Database, process_id: ProcessId) -> None:
        self._database = database
        self._process_id = process_id

    def row(self, row_id: str, scope: str, kind: str, content: Any, run_id: RunId, *, keyed: bool) -> dict[str, Any]:
        """A row to be opened, for an object of *content* that is about to be made."""
        return {
            "row_id": row_id,
            "scope": scope,
            "kind": kind,
            "fingerprint": _fingerprint(content),
            "owner": run_id,
            "keyed": keyed,
            "process_id": self._process_id,
            "upstream_id": None,
            "expires_at": self._database.time() + KEPT_SECONDS,
        }

    def reopened(self, row_id: str, run_id: RunId) -> dict[str, Any]:
        """The parameters with which a row is opened again, by another attempt."""
        return {"_row_id": row_id, "_owner": run_id, "_process_id": self._process_id}

    async def rivals(
        self, row_ids: Sequence[str], object_ids: Collection[str], workspace_id: WorkspaceId
    ) -> CompetingWrites:
        """Who else may own one of *object_ids*, that rows of this write are looking for; all rows have one content."""
        mine = select(tables.owned).where(_owned.row_id == row_ids[0]).subquery()
        same = _in_scope(_owned, mine.c)
        others = _owned.row_id.not_in(row_ids)
        taken = select(_owned.upstream_id).join(mine, same).where(_owned.upstream_id.in_(object_ids), others)
        twins = (
            select(tables.processes.c.process_id.label("alive"), tables.runs.c.workspace_id)
            .join(mine, and_(same, _owned.fingerprint == mine.c.fingerprint))
            .outerjoin(tables.processes, tables.processes.c.process_id == _owned.process_id)
            .outerjoin(tables.runs, tables.runs.c.run_id == _owned.owner)
            .where(_owned.upstream_id.is_(None), others)
        )

        def read(reading: Writing) -> CompetingWrites:
            rows = reading.execute(twins).all()
            left = [row for row in rows if row.alive is None]
            owned = set(reading.execute(taken).scalars())
            return CompetingWrites(
                owned, len(rows) > len(left), len(left), any(row.workspace_id != workspace_id for row in left)
            )

        return await self._database.read(read)

    async def is_orphaned(self, row: Mapping[str, Any], object_id: str) -> bool:
        """Whether an object like *row*'s was left by a write that nobody goes on with."""
        return await self._database.read(lambda reading: _is_left(reading, row, object_id))

    async def adopt(self, row: Mapping[str, Any], object_id: str, opening: Sequence[Put]) -> bool:
        """Give *row* an object that was left, and commit *opening* with it; whether it was left.

        From then on it is nobody else's: a write that is in doubt, and may have made it, makes another (decision 97).
        """

        def take_over(writing: Writing) -> bool:
            if not _is_left(writing, row, object_id):
                return False
            writing.execute(delete(tables.owned).where(*_of(row), _owned.upstream_id == object_id))
            put_all(writing, [(OPEN, {**row, "upstream_id": object_id, "process_id": None}), *opening])
            return True

        try:
            return await self._database.write(take_over, about=row["owner"])
        except IntegrityError:
            # Another process was quicker between the look and the insertion.
            return False

    async def assign(self, rows: Sequence[tuple[str, str]]) -> bool:
        """Give objects to rows, all of them or none; whether they were free."""
        object_ids = [object_id for _, object_id in rows]
        mine = select(tables.owned).where(_owned.row_id == rows[0][0]).subquery()
        same = _in_scope(_owned, mine.c)
        others = _owned.row_id.not_in([row_id for row_id, _ in rows])
        taken = select(_owned.row_id).join(mine, same).where(_owned.upstream_id.in_(object_ids), others).limit(1)

        def own(writing: Writing) -> bool:
            if writing.execute(taken).first():
                return False
            for row_id, object_id in rows:
                writing.execute(OWN, {"_row_id": row_id, "_upstream_id": object_id})
            return True

        try:
            return await self._database.write(own)
        except IntegrityError:
            # Another process was quicker between the look and the update.
            return False

    async def purge(self) -> int:
        """Delete a bounded number of rows that are past their time; how many it were."""
        expired = select(_owned.row_id).where(_owned.expires_at < self._database.time()).limit(PURGE_STEP)
        row_ids = await self._database.read_slow(lambda reading: reading.execute(expired).scalars().all())
        purge = delete(tables.owned).where(_owned.row_id.in_(row_ids))
        return await self._database.delete_expired(lambda writing: writing.execute(purge).rowcount) if row_ids else 0


def _of(row: Mapping[str, Any]) -> tuple[ColumnElement[bool], ...]:
    """Rows of the same scope and kind."""
    return _owned.kind == row["kind"], _owned.scope == row["scope"]


def _is_left(connection: Writing, row: Mapping[str, Any], object_id: str) -> bool:
    """Whether nobody works on an object like *row*'s any more, and no repeat under a key may go on with it."""
    runs, processes = tables.runs.c, tables.processes.c
    owner = (
        select(_owned.keyed, runs.process_id)
        .outerjoin(tables.runs, runs.run_id == _owned.owner)
        .where(*_of(row), _owned.upstream_id == object_id)
    )
    # Whoever made an object may not have been told so.
    maker = (
        select(_owned.row_id)
        .outerjoin(tables.processes, processes.process_id == _owned.process_id)
        .where(*_of(row), _owned.fingerprint == row["fingerprint"], _owned.upstream_id.is_(None))
        .where(or_(_owned.keyed, processes.process_id.is_not(None)))
    )
    owned = connection.execute(owner).first()
    if owned is not None:
        return not owned.keyed and owned.process_id is None
    return connection.execute(maker.limit(1)).first() is None


_ORDERED = msgspec.json.Encoder(enc_hook=str, order="deterministic")


def _fingerprint(content: Any) -> str:
    """The digest of a content; equal contents have the same one, whatever the order of their keys."""
    return hashlib.sha256(_ORDERED.encode(content)).hexdigest()
