"""Refused calls: each key has so many runs of them an hour, and the rest are counted in the last such run.

Otherwise whoever calls on after the key's minute is used up would fill the disk, at no cost to himself.
The numbers are those of this process; what was counted since the last heartbeat is lost with it.
"""

from dataclasses import dataclass

from sqlalchemy import bindparam, select, update

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.identifiers import KeyId, RunId, WorkspaceId
from connector_gateway.storage import tables
from connector_gateway.storage.sql.bulk_insert import Put
from connector_gateway.storage.sql.database import Database

RECORDED = 1000
"""Runs of refused calls that a key has in an hour."""

HOUR_SECONDS = 60 * 60.0

_runs = tables.runs.c
COUNT = (
    update(tables.runs)
    .where(_runs.run_id == bindparam("_run_id"))
    .values(and_more=bindparam("_and_more"), more_until=bindparam("_until"))
)


@dataclass(slots=True)
class _Hour:
    """The refused calls of one key within an hour, from the first of them on."""

    workspace_id: WorkspaceId
    ends_at: float
    recorded: int = 0
    last: RunId | None = None
    """The last of them that is recorded."""

    and_more: int = 0
    until: RunId | None = None
    """The last of them that is counted only."""

    committed: int = 0
    """How many were counted when that was committed."""

    def holds(self, workspace_id: WorkspaceId | None, run_id: str) -> bool:
        """Whether a call of that identifier, of *workspace_id* where given, is among those that are counted only."""
        if self.last is None or self.until is None or workspace_id not in {None, self.workspace_id}:
            return False
        return self.last < run_id <= self.until


class RejectedCallCounter:
    """Tells which refused calls are recorded, and counts the others."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._hours: dict[KeyId, _Hour] = {}

    def should_record(self, key_id: KeyId, workspace_id: WorkspaceId, run_id: RunId) -> bool:
        """Whether a refused call is recorded; one that is not is counted."""
        hour = self._hours.get(key_id)
        if hour is None or hour.ends_at <= self._clock.now():
            hour = self._hours[key_id] = _Hour(workspace_id, self._clock.now() + HOUR_SECONDS)
        if hour.recorded < RECORDED:
            hour.recorded += 1
            hour.last = max(hour.last or run_id, run_id)
            return True
        hour.and_more += 1
        hour.until = max(hour.until or run_id, run_id)
        return False

    async def commit(self) -> None:
        """Write what was counted to the runs that tell it, and forget hours that are over."""
        changed = [hour for hour in self._hours.values() if hour.and_more > hour.committed]
        puts: list[Put] = [
            (COUNT, {"_run_id": hour.last, "_and_more": hour.and_more, "_until": hour.until}) for hour in changed
        ]
        # Taken before the commit, since calls go on being counted while it is under way.
        counts = [hour.and_more for hour in changed]
        if puts:
            await self._database.put_all(puts)
        for hour, count in zip(changed, counts, strict=True):
            hour.committed = count
        over = [
            key_id
            for key_id, hour in self._hours.items()
            if hour.ends_at <= self._clock.now() and hour.and_more == hour.committed
        ]
        for key_id in over:
            del self._hours[key_id]

    async def counted(self, workspace_id: WorkspaceId | None, run_id: str) -> bool:
        """Whether a run that cannot be found may be that of a call that was counted only, by when it was made."""
        if any(hour.holds(workspace_id, run_id) for hour in self._hours.values()):
            return True
        query = select(_runs.run_id).where(
            _runs.and_more.is_not(None), _runs.run_id < run_id, _runs.more_until >= run_id
        )
        if workspace_id is not None:
            query = query.where(_runs.workspace_id == workspace_id)
        return await self._database.read_slow(lambda reading: reading.execute(query.limit(1)).first()) is not None
