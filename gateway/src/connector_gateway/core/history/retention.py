"""Retention of the run history: runs are deleted after ``GATEWAY_KEEP_RUNS_DAYS`` days, rate-limited ones after one."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, delete, literal_column, select

from connector_gateway.core.background_jobs import PURGE_STEP
from connector_gateway.kit.clock import DAY_SECONDS, Clock
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.database import Database

_runs = tables.runs.c
IS_RATE_LIMITED = literal_column("runs.code") == literal_column("'rate_limited'")
"""The condition as written in the partial index, which SQLite matches by its text."""


class RunRetention:
    """Deletes expired runs, a limited number with each call."""

    def __init__(self, database: Database, clock: Clock, retention_days: float) -> None:
        self._database = database
        self._clock = clock
        self._retention_days = retention_days
        self._purged_to = ""
        """The last run that was deleted, or an empty string to start at the oldest."""

    async def purge_runs(self) -> int:
        """Delete runs that are older than the retention time. Returns how many.

        Only the oldest are examined, because identifiers are in the order in which calls began.
        """
        # The start avoids deleted index entries, which PostgreSQL would scan again until a vacuum.
        deleted = await self._purge(_runs.run_id > self._purged_to, self._retention_days)
        self._purged_to = deleted[-1] if deleted else ""
        return len(deleted)

    async def purge_rate_limited(self) -> int:
        """Delete rate-limited runs that are older than a day. Returns how many."""
        return len(await self._purge(IS_RATE_LIMITED, 1))

    async def _purge(self, condition: ColumnElement[bool], days: float) -> Sequence[str]:
        before = self._clock.now() - days * DAY_SECONDS
        oldest = select(_runs.run_id, _runs.started_at).where(condition).order_by(_runs.run_id).limit(PURGE_STEP)
        rows = await self._database.read_slow(lambda db: db.execute(oldest).all())
        run_ids = [row.run_id for row in rows if row.started_at < before]
        purge = delete(tables.runs).where(_runs.run_id.in_(run_ids))
        if run_ids:
            await self._database.delete_expired(lambda db: db.execute(purge).rowcount)
        return run_ids
