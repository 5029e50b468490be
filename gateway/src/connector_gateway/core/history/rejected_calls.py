"""Rate-limited calls: a limited number per key and hour is recorded, and the last recorded run counts the others.

Otherwise a client that ignores its rate limit could fill the disk. The limit applies per process, and a crash loses
the calls that were counted since the last heartbeat.
"""

from dataclasses import dataclass

from sqlalchemy import bindparam, select, update

from connector_gateway.kit.clock import Clock
from connector_gateway.kit.identifiers import KeyId, RunId, WorkspaceId
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.compiled_statements import Put
from connector_gateway.storage.sql.database import Database

MAX_RECORDED = 1000
"""Maximum recorded runs of rejected calls per key and hour."""

HOUR_SECONDS = 60 * 60.0

_runs = tables.runs.c
COUNT = (
    update(tables.runs)
    .where(_runs.run_id == bindparam("_run_id"))
    .values(and_more=bindparam("_and_more"), more_until=bindparam("_until"))
)


@dataclass(slots=True)
class _Hour:
    """The rejected calls of one key within an hour from the first of them."""

    workspace_id: WorkspaceId
    ends_at: float
    recorded: int = 0
    last: RunId | None = None
    """The last recorded call."""

    and_more: int = 0
    until: RunId | None = None
    """The last call that is only counted."""

    committed: int = 0
    """The committed value of ``and_more``."""

    def includes(self, workspace_id: WorkspaceId | None, run_id: str) -> bool:
        """Return True if the call with *run_id* is one that was only counted. *workspace_id* has to match if given."""
        if self.last is None or self.until is None or workspace_id not in {None, self.workspace_id}:
            return False
        return self.last < run_id <= self.until


class RejectedCallCounter:
    """Selects the rejected calls to record, and counts the others."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._hours: dict[KeyId, _Hour] = {}

    def should_record(self, key_id: KeyId, workspace_id: WorkspaceId, run_id: RunId) -> bool:
        """Return True if a rejected call is recorded. Otherwise it is counted."""
        hour = self._hours.get(key_id)
        if hour is None or hour.ends_at <= self._clock.now():
            hour = self._hours[key_id] = _Hour(workspace_id, self._clock.now() + HOUR_SECONDS)
        if hour.recorded < MAX_RECORDED:
            hour.recorded += 1
            hour.last = max(hour.last or run_id, run_id)
            return True
        hour.and_more += 1
        hour.until = max(hour.until or run_id, run_id)
        return False

    async def commit(self) -> None:
        """Write the counts to their runs, and drop hours that have ended."""
        changed = [hour for hour in self._hours.values() if hour.and_more > hour.committed]
        puts: list[Put] = [
            (COUNT, {"_run_id": hour.last, "_and_more": hour.and_more, "_until": hour.until}) for hour in changed
        ]
        # Read before the commit, since more calls are counted during it.
        counts = [hour.and_more for hour in changed]
        if puts:
            await self._database.put_all(puts)
        for hour, count in zip(changed, counts, strict=True):
            hour.committed = count
        ended = [
            key_id
            for key_id, hour in self._hours.items()
            if hour.ends_at <= self._clock.now() and hour.and_more == hour.committed
        ]
        for key_id in ended:
            del self._hours[key_id]

    async def was_counted(self, workspace_id: WorkspaceId | None, run_id: str) -> bool:
        """Return True if a missing run might belong to a call that was only counted, judging by its time."""
        if any(hour.includes(workspace_id, run_id) for hour in self._hours.values()):
            return True
        query = select(_runs.run_id).where(
            _runs.and_more.is_not(None), _runs.run_id < run_id, _runs.more_until >= run_id
        )
        if workspace_id is not None:
            query = query.where(_runs.workspace_id == workspace_id)
        return await self._database.read_slow(lambda db: db.execute(query.limit(1)).first()) is not None
