"""Idempotency: a keyed write is carried out once in 24 hours, whatever happens to callers, connections and processes.

A claim is committed before the first upstream write.
It is released by a definite refusal, done after a success, and doubtful when nobody can tell; whoever repeats a
doubtful one looks upstream for what the first attempt has made before anything is written again.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from sqlalchemy import Connection, and_, delete, select, update
from sqlalchemy.dialects.postgresql import insert

from connector_gateway.core.stopping import Stopping
from connector_gateway.kit.call import Attempt
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import Doubt, IdempotencyInProgress
from connector_gateway.kit.identifiers import ConnectionId, ProcessId, RunId, WorkspaceId
from connector_gateway.storage import tables
from connector_gateway.storage.database import Database

WINDOW_SECONDS = 24 * 60 * 60
POLL_SECONDS = 0.25
"""How often a claim held by another process is looked at."""

PURGE_STEP = 1000

CLAIM = insert(tables.claims).on_conflict_do_nothing().returning(tables.claims.c.run_id)


@dataclass(frozen=True, slots=True)
class ClaimName:
    """What a claim is unique for."""

    workspace_id: WorkspaceId
    connection_id: ConnectionId
    operation: str
    idempotency_key: str

    @property
    def columns(self) -> dict[str, str]:
        """The name as columns of the table."""
        return asdict(self)

    def here(self) -> Any:
        """The condition that selects the claim."""
        return and_(*(tables.claims.c[name] == value for name, value in self.columns.items()))


@dataclass(frozen=True, slots=True)
class First:
    """The first result under a key, to be given again."""

    run_id: RunId
    status: str
    data: bytes


class Claim:
    """A claim that this call holds."""

    def __init__(self, claims: "Claims", name: ClaimName, started_at: float, earlier: Attempt | None) -> None:
        self._claims = claims
        self._name = name
        self._progress: dict[str, Any] = dict(earlier.progress) if earlier else {}
        self.started_at = earlier.started_at if earlier else started_at
        self.earlier = earlier
        """The attempt whose outcome is in doubt, if there was one."""

        self.begun = False
        """Whether this attempt has noted something done."""

    @property
    def progress(self) -> Mapping[str, Any]:
        """What was noted so far."""
        return self._progress

    async def note(self, **progress: Any) -> None:
        """Add to the progress, durably."""
        self.begun = True
        await self.intend(**progress)

    async def intend(self, **progress: Any) -> None:
        """Add what is about to be tried, durably."""
        self._progress |= progress
        await self._claims.update(self._name, progress=self._progress)

    async def finish(self, status: str, data: bytes) -> None:
        """Keep the result for whoever repeats the call."""
        await self._claims.finish(self._name, status, data)

    async def doubt(self, doubt: Doubt) -> None:
        """Leave the claim to whoever repeats the call, who will look upstream first."""
        await self._claims.doubt(self._name, doubt)

    async def put_back(self) -> None:
        """Leave the claim in doubt as it was found."""
        if self.earlier:
            await self._claims.update(self._name, state="doubtful", process_id=None)
            self._claims.wake(self._name)

    async def release(self) -> None:
        """Give the key free: nothing was done."""
        await self._claims.release(self._name)

    async def abandon(self) -> None:
        """Leave the claim as it was found: this call did nothing."""
        await (self.put_back() if self.earlier else self.release())


class Claims:
    """Takes, waits for and keeps claims."""

    def __init__(
        self, database: Database, process_id: ProcessId, clock: Clock, stopping: Stopping | None = None
    ) -> None:
        self._database = database
        self._process_id = process_id
        self._clock = clock
        self._stopping = stopping or Stopping()
        self._held: dict[ClaimName, asyncio.Event] = {}

    async def take(self, name: ClaimName, run_id: RunId, patience_seconds: float) -> Claim | First:
        """The claim, held by this call; or the first result, once there is one.

        ``IdempotencyInProgress`` when another call still holds it after *patience_seconds*.
        """
        deadline = self._clock.now() + patience_seconds
        while True:
            taken = await self._try(name, run_id)
            if taken is not None:
                return taken
            if self._clock.now() >= deadline:
                raise IdempotencyInProgress(
                    "A call with this idempotency key is still being carried out.",
                    {"parameter": "idempotency_key"},
                    retry_after=1,
                )
            await self._wait(name, deadline)

    async def update(self, name: ClaimName, **values: Any) -> None:
        """Change a claim."""
        change = update(tables.claims).where(name.here()).values(values)
        await self._database.write(lambda writing: writing.execute(change))

    async def doubt(self, name: ClaimName, doubt: Doubt) -> None:
        """Put a claim in doubt, from now on."""
        await self.update(name, state="doubtful", doubt=doubt, doubted_at=self._clock.now(), process_id=None)
        self.wake(name)

    async def finish(self, name: ClaimName, status: str, data: bytes) -> None:
        """Keep the first result for the window, which starts now."""
        await self.update(
            name,
            state="done",
            status=status,
            data=data.decode(),
            doubt=None,
            process_id=None,
            expires_at=self._clock.now() + WINDOW_SECONDS,
        )
        self.wake(name)

    async def release(self, name: ClaimName) -> None:
        """Forget a claim under which nothing was done."""
        forget = delete(tables.claims).where(name.here())
        await self._database.write(lambda writing: writing.execute(forget))
        self.wake(name)

    def wake(self, name: ClaimName) -> None:
        """Let those in this process look who wait for the claim."""
        event = self._held.pop(name, None)
        if event is not None:
            event.set()

    async def doubt_abandoned(self) -> int:
        """Put the claims of processes that are gone in doubt; how many there were."""
        doubt = (
            update(tables.claims)
            .where(
                tables.claims.c.state == "held",
                tables.claims.c.process_id.not_in(select(tables.processes.c.process_id)),
            )
            .values(state="doubtful", doubt="interrupted", doubted_at=self._clock.now(), process_id=None)
        )
        return await self._database.write(lambda writing: writing.execute(doubt).rowcount)

    async def purge(self) -> int:
        """Delete a bounded number of expired claims; how many it were."""
        condition = tables.claims.c.expires_at < self._clock.now()
        expired = (
            select(*(tables.claims.c[field.name] for field in fields(ClaimName))).where(condition).limit(PURGE_STEP)
        )

        def purge(writing: Connection) -> int:
            names = writing.execute(expired).all()
            for name in names:
                writing.execute(delete(tables.claims).where(ClaimName(*name).here(), condition))
            return len(names)

        return await self._database.write(purge)

    async def _try(self, name: ClaimName, run_id: RunId) -> Claim | First | None:
        now = self._clock.now()
        new = name.columns | {
            "run_id": run_id,
            "state": "held",
            "process_id": self._process_id,
            "started_at": now,
            "progress": {},
            "expires_at": now + WINDOW_SECONDS,
        }

        def take(writing: Connection) -> Any:
            if writing.execute(CLAIM, new).first():
                return None
            expired = delete(tables.claims).where(name.here(), tables.claims.c.expires_at <= now)
            if writing.execute(expired).rowcount and writing.execute(CLAIM, new).first():
                return None
            over = (
                update(tables.claims)
                .where(name.here(), tables.claims.c.state == "doubtful")
                .values(state="held", process_id=self._process_id, run_id=run_id)
            )
            taken_over = writing.execute(over).rowcount
            return writing.execute(select(tables.claims).where(name.here())).first(), taken_over

        found = await self._database.write(take)
        if found is None:
            return self._hold(name, now, None)
        row, taken_over = found
        if taken_over:
            return self._hold(name, now, Attempt(row.started_at, row.doubted_at, row.progress, row.doubt))
        if row is not None and row.state == "done":
            return First(row.run_id, row.status, row.data.encode())
        return None

    def _hold(self, name: ClaimName, now: float, earlier: Attempt | None) -> Claim:
        self._held[name] = asyncio.Event()
        return Claim(self, name, now, earlier)

    async def _wait(self, name: ClaimName, deadline: float) -> None:
        event = self._held.get(name)
        if event is None:
            await self._stopping.wait(self._clock.sleep(POLL_SECONDS))
            return
        try:
            waiting = asyncio.wait_for(event.wait(), max(0.0, deadline - self._clock.now()))
            await self._stopping.wait(waiting)
        except TimeoutError:
            return
