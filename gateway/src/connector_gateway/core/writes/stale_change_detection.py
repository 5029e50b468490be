"""Acknowledged changes of upstream objects, so that an older change in doubt does not overwrite a later one."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import bindparam, delete, select
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.background_jobs import PURGE_STEP
from connector_gateway.core.writes.created_objects_by_write import RETENTION_SECONDS
from connector_gateway.core.writes.idempotency import WINDOW_SECONDS
from connector_gateway.kit.identifiers import RunId, WorkspaceId, ulid
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.compiled_statements import Put
from connector_gateway.storage.sql.database import Database

PURGE_SECONDS = RETENTION_SECONDS + WINDOW_SECONDS
"""Seconds after which records are deleted: longer than any step stays in doubt.

The time is read from change identifiers, whose clock may be off.
"""

_changed = tables.changed.c
# An unacknowledged commit is repeated, so the same record may be inserted twice.
RECORD = insert(tables.changed).on_conflict_do_nothing()
PURGE = delete(tables.changed).where(
    _changed.change_id.in_(
        select(_changed.change_id).where(_changed.change_id < bindparam("_before")).limit(PURGE_STEP)
    )
)


class ChangeScope(NamedTuple):
    """The scope of changed objects, whose account may be unknown.

    An unknown account could be any account, so its changes are compared with those in all accounts of the connector. A
    change is therefore recorded under a second scope, which depends only on the connector.
    """

    scope: str
    """The connector or one of its accounts, in which the objects' names are unique."""

    connector: str
    account_is_known: bool
    """Whether the connection is known to lead to the account. Otherwise, the account was looked up and may be wrong."""

    @property
    def recorded(self) -> Sequence[str]:
        """The scopes under which a change is recorded."""
        if self.scope == self.connector:
            return [self.scope]
        return [self.scope, self._known_accounts if self.account_is_known else self._unknown_accounts]

    @property
    def compared(self) -> Sequence[str]:
        """The scopes of the changes with which a change in doubt is compared."""
        scopes = [self.scope, self._unknown_accounts]
        return scopes if self.account_is_known else [*scopes, self._known_accounts]

    @property
    def _unknown_accounts(self) -> str:
        return self.connector

    @property
    def _known_accounts(self) -> str:
        return f"{self.connector}/*"


@dataclass(frozen=True, slots=True)
class LaterChange:
    """A later change of the same object by another call."""

    run_id: RunId | None
    """The run that made the change, or None if it belongs to another workspace."""


class ChangeLog:
    """Records when each object was changed, and by which step."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def record_statements(self, within: ChangeScope, names: Sequence[str], mark: str, run_id: RunId) -> list[Put]:
        """Return statements that record the acknowledged change of the objects *names* by the step with *mark*."""
        changed_at = self._database.time()
        return [
            (
                RECORD,
                {
                    "change_id": ulid(),
                    "target": _target(scope, name),
                    "mark": mark,
                    "run_id": run_id,
                    "changed_at": changed_at,
                },
            )
            for scope in within.recorded
            for name in names
        ]

    async def find_later(
        self,
        within: ChangeScope,
        names: Sequence[str],
        since: float,
        marks: Collection[str],
        workspace_id: WorkspaceId,
    ) -> LaterChange | None:
        """Return the last change of one of the objects since *since* by a step with none of *marks*, or None."""
        targets = [_target(scope, name) for scope in within.compared for name in names]
        query = (
            select(_changed.run_id, tables.runs.c.workspace_id)
            .outerjoin(tables.runs, tables.runs.c.run_id == _changed.run_id)
            .where(_changed.target.in_(targets), _changed.changed_at >= since, _changed.mark.not_in(marks))
            .order_by(_changed.changed_at.desc())
            .limit(1)
        )
        row = await self._database.read(lambda db: db.execute(query).first())
        if row is None:
            return None
        return LaterChange(row.run_id if row.workspace_id == workspace_id else None)

    async def purge(self) -> int:
        """Delete a bounded number of records that are older than any step in doubt. Returns how many."""
        before = {"_before": ulid(int((self._database.time() - PURGE_SECONDS) * 1000) << 80)}
        return await self._database.delete_expired(lambda db: db.execute(PURGE, before).rowcount)


def _target(scope: str, name: str) -> str:
    """Return a digest of an object's name, which may contain an email address."""
    return hashlib.sha256(f"{scope}\n{name}".encode()).hexdigest()
