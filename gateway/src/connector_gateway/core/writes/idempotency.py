"""Idempotency: whether a call with an idempotency key runs, waits, is rejected, or gets the stored first result.

The claim of a key is a stored row, which makes a write happen once in 24 hours.
A claim is ``held`` by one attempt, ``doubtful`` between attempts, and ``done`` once it has a result. Attempts are
numbered. Every change names the run that holds the claim, so an attempt that has lost it cannot change it.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

from msgspec import Struct
from sqlalchemy import ColumnElement, and_, bindparam, delete, literal_column, select, update
from sqlalchemy import Connection as SqlConnection
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.sql.base import Executable

from connector_gateway.core.background_jobs import PURGE_STEP
from connector_gateway.core.calls.idempotency_key_format import NormalizedKey
from connector_gateway.core.calls.prepared_call import PreparedCall
from connector_gateway.core.calls.response_envelope import Envelope, Status
from connector_gateway.core.history.runs import RunRecorder
from connector_gateway.core.shutdown import Shutdown
from connector_gateway.core.writes.request_digests import RequestDigests
from connector_gateway.kit.clock import Clock
from connector_gateway.kit.errors import GatewayError, IdempotencyInProgress, IdempotencyKeyReused
from connector_gateway.kit.identifiers import ConnectionId, ProcessId, RunId, WorkspaceId
from connector_gateway.kit.models import IDEMPOTENCY_FIELD
from connector_gateway.storage.sql import tables
from connector_gateway.storage.sql.compiled_statements import Put, execute, put_all
from connector_gateway.storage.sql.database import Database

WINDOW_SECONDS = 24 * 60 * 60
POLL_SECONDS = 0.25
"""Seconds between two reads of a claim that another process holds. Each read is a lookup by primary key."""

_claims = tables.claims.c
CLAIM = insert(tables.claims).on_conflict_do_nothing()
NAME = ("workspace_id", "connection_id", "operation", "idempotency_key")
BY_NAME = and_(*(_claims[name] == bindparam(f"_{name}") for name in NAME))
"""The condition that selects a claim by its name."""

FIND = select(tables.claims).where(BY_NAME)
STATE = select(_claims.state).where(BY_NAME)
EXPIRE = delete(tables.claims).where(BY_NAME, _claims.expires_at <= bindparam("_now"))
TAKE_OVER = (
    update(tables.claims)
    .where(BY_NAME, _claims.state == "doubtful", _claims.target == bindparam("_target"))
    .values(
        state="held",
        attempt=_claims.attempt + 1,
        run_id=bindparam("_run_id"),
        process_id=bindparam("_process_id"),
        expires_at=bindparam("_expires_at"),
    )
)
"""Takes over a claim in doubt for a call with the same target."""

FENCE = and_(
    BY_NAME,
    _claims.run_id == bindparam("_run_id"),
    # A literal, not a bound value: SQLite compares bound values with the conditions of partial indexes, and would
    # compile the statement again for each call. That took half of its execution time.
    _claims.state == literal_column("'held'"),
)
"""The fence: the condition that this attempt still holds the claim."""

SET_INTENT = update(tables.claims).where(FENCE).values(sealed=bindparam("_sealed"), settle_seconds=bindparam("_settle"))
SET_RESULT = (
    update(tables.claims)
    .where(FENCE)
    .values(
        state="done",
        status=bindparam("_status"),
        sealed=bindparam("_sealed"),
        settles_at=None,
        process_id=None,
        expires_at=bindparam("_expires_at"),
    )
)
MARK_IN_DOUBT = (
    update(tables.claims)
    .where(FENCE)
    .values(state="doubtful", sealed=bindparam("_sealed"), settles_at=bindparam("_settles_at"), process_id=None)
)
LEAVE_IN_DOUBT = update(tables.claims).where(FENCE).values(state="doubtful", process_id=None)
DELETE = delete(tables.claims).where(FENCE)
PURGE = delete(tables.claims).where(BY_NAME, _claims.expires_at < bindparam("_now"))
EXPIRED = select(*(_claims[name] for name in NAME)).where(_claims.expires_at < bindparam("_now")).limit(PURGE_STEP)
_free = EXPIRED.with_for_update(skip_locked=True).cte("free")
PURGE_FREE = delete(tables.claims).where(*(_claims[name] == _free.c[name] for name in NAME))
"""Deletes expired claims on a server. Skips rows that another transaction has locked, for example to take the claim."""

DELETE_UNUSED = delete(tables.claims).where(FENCE, _claims.sealed.is_(None))

ABANDONED = and_(
    _claims.process_id.is_not(None),
    _claims.process_id.not_in(select(tables.processes.c.process_id)),
    _claims.state == "held",
)
"""The condition for claims of dead processes.

The first part is redundant, but lets SQLite use the index of claims that a process holds.
"""

DELETE_ABANDONED = delete(tables.claims).where(ABANDONED, _claims.sealed.is_(None))


class ClaimExists(Exception):  # not an error: the caller continues with ``Claims.take``
    """Another call holds the claim, or has finished it."""


class ClaimName(NamedTuple):
    """The unique name of a claim."""

    workspace_id: WorkspaceId
    connection_id: ConnectionId
    operation: str
    idempotency_key: str

    @classmethod
    def create(
        cls, workspace_id: WorkspaceId, connection_id: ConnectionId, operation: str, key: NormalizedKey
    ) -> "ClaimName":
        """Create the name for *key*, in its stored form."""
        return cls(workspace_id, connection_id, operation, key.stored)

    @property
    def columns(self) -> dict[str, str]:
        """The name as columns of the table."""
        # Written out because ``_asdict`` is slower, and every keyed write reads this four times.
        return {
            "workspace_id": self.workspace_id,
            "connection_id": self.connection_id,
            "operation": self.operation,
            "idempotency_key": self.idempotency_key,
        }

    @property
    def parameters(self) -> dict[str, str]:
        """The name as bound parameters of statements that select the claim."""
        return {
            "_workspace_id": self.workspace_id,
            "_connection_id": self.connection_id,
            "_operation": self.operation,
            "_idempotency_key": self.idempotency_key,
        }


class Claim(Struct):
    """A claim that this call holds."""

    name: ClaimName
    run_id: RunId
    """The run that holds the claim. No other attempt has this identifier."""

    attempt: int
    digests: RequestDigests
    """Digests of the first call with the key."""

    sealed: bytes | None = None
    """The encrypted journal of earlier attempts, or None if they sent nothing."""

    settles_at: float = 0.0
    """The time when the requests of earlier attempts have settled. Later, they can no longer be carried out."""

    @property
    def fence_parameters(self) -> dict[str, Any]:
        """The bound parameters of the fence."""
        return _fence(self.name, self.run_id)


def _fence(name: ClaimName, run_id: RunId) -> dict[str, Any]:
    return name.parameters | {"_run_id": run_id}


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The first result under a key, to be returned again."""

    run_id: RunId
    status: str
    sealed: bytes
    """The encrypted response."""

    digests: RequestDigests

    @classmethod
    def from_claim(cls, row: Any) -> "StoredResult":
        """Return the result that the *row* of a finished claim contains."""
        return cls(row.run_id, row.status, row.sealed, RequestDigests(row.target, row.parameters))


class Claims:
    """Takes claims, waits for them, and builds the statements that change them in the caller's transactions."""

    def __init__(
        self, database: Database, process_id: ProcessId, clock: Clock, shutdown: Shutdown | None = None
    ) -> None:
        self._database = database
        self._process_id = process_id
        self._clock = clock
        self._shutdown = shutdown or Shutdown()
        self._local_claims: dict[ClaimName, asyncio.Event | None] = {}
        """The claims of this process's calls, with an event if others wait for the claim."""

    async def take(
        self,
        name: ClaimName,
        digests: RequestDigests,
        recording: RunRecorder,
        wait_seconds: float,
        *,
        exists: bool = False,
    ) -> Claim | StoredResult:
        """Take the claim for the recorded run, or return the first result once there is one.

        Pass *exists* if the claim is known to exist, to skip the attempt to insert it.
        Raises ``IdempotencyInProgress`` if another call still holds the claim after *wait_seconds*, and
        ``IdempotencyKeyReused`` if the first call had another target.
        """
        deadline = self._clock.now() + wait_seconds
        while True:
            claim = await self._try_take(name, digests, recording, exists=exists)
            recording.is_open = True
            if claim is not None:
                return claim
            if exists:
                # The call that held the claim may have been rejected and have deleted it.
                exists = False
                continue
            if self._clock.now() >= deadline:
                raise in_progress_error()
            await self._wait(name, deadline)

    def wake(self, name: ClaimName) -> None:
        """Wake the calls of this process that wait for the claim."""
        event = self._local_claims.pop(name, None)
        if event is not None:
            event.set()

    def new_row(self, name: ClaimName, run_id: RunId, digests: RequestDigests) -> dict[str, Any]:
        """Return the row of a new claim."""
        return name.columns | {
            "target": digests.target,
            "parameters": digests.parameters,
            "run_id": run_id,
            "attempt": 1,
            "state": "held",
            "process_id": self._process_id,
            "sealed": None,
            "settle_seconds": 0.0,
            "expires_at": self._database.time() + WINDOW_SECONDS,
        }

    def insert_with_intent(self, claim: Claim, sealed: bytes, settle_seconds: float) -> Put:
        """Return the statement that inserts a claim together with the intent of its first step."""
        return CLAIM, self.new_row(claim.name, claim.run_id, claim.digests) | {
            "sealed": sealed,
            "settle_seconds": settle_seconds,
        }

    def set_result(self, claim: Claim, status: str, sealed: bytes) -> Put:
        """Return the statement that stores the encrypted first result for the next 24 hours."""
        values = {"_status": status, "_sealed": sealed, "_expires_at": self._database.time() + WINDOW_SECONDS}
        return SET_RESULT, claim.fence_parameters | values

    @staticmethod
    def set_intent(claim: Claim, sealed: bytes, settle_seconds: float) -> Put:
        """Return the statement that stores the intent of the next step."""
        return SET_INTENT, claim.fence_parameters | {"_sealed": sealed, "_settle": settle_seconds}

    @staticmethod
    def mark_in_doubt(claim: Claim, sealed: bytes, settles_at: float) -> Put:
        """Return the statement that marks the claim as in doubt. A repeat of the call can then take it."""
        return MARK_IN_DOUBT, claim.fence_parameters | {"_sealed": sealed, "_settles_at": settles_at}

    @staticmethod
    def delete(claim: Claim) -> Put:
        """Return the statement that deletes a claim whose call changed nothing."""
        return DELETE, claim.fence_parameters

    def release(self, name: ClaimName, run_id: RunId) -> Callable[[SqlConnection], bool]:
        """Return the work that releases the claim if *run_id* holds it.

        The claim is deleted if no request was ever sent for it, and marked as in doubt otherwise.
        """
        fence = _fence(name, run_id)
        # The second statement must not run first: it would leave claims in doubt that sent nothing.
        return lambda db: bool(execute(db, DELETE_UNUSED, fence) or execute(db, LEAVE_IN_DOUBT, fence))

    async def settle_abandoned(self) -> int:
        """Mark the claims of dead processes as in doubt, or delete those that sent nothing. Returns their number."""

        def settle(db: SqlConnection) -> int:
            return execute(db, DELETE_ABANDONED) + execute(db, _mark_abandoned_in_doubt(self._database.now))

        return await self._database.write(settle)

    async def purge(self) -> int:
        """Delete a bounded number of expired claims, unless they were taken again. Returns the number deleted."""
        now = {"_now": self._database.time()}
        if not self._database.embedded:
            return await self._database.delete_expired(lambda db: db.execute(PURGE_FREE, now).rowcount)
        names = await self._database.read_slow(lambda db: db.execute(EXPIRED, now).all())
        rows = [{f"_{column}": value for column, value in zip(NAME, name, strict=True)} | now for name in names]
        return await self._database.delete_expired(partial(_purge_each, rows)) if rows else 0

    async def take_new(self, name: ClaimName, digests: RequestDigests, recording: RunRecorder) -> bool:
        """Insert the claim together with the opening of the run. Returns False if the claim exists."""
        try:
            # One insert that does nothing if the row exists. Two calls could both pass a separate check.
            new = self.new_row(name, recording.run_id, digests)
            taken = await self._database.put_all(recording.open_statements(), (CLAIM, new), recording.run_id)
        except BaseException:
            self._release_later(name, recording.run_id)
            raise
        if taken:
            recording.is_open = True
            self.hold(name)
        return taken

    def hold(self, name: ClaimName) -> None:
        """Record that a call of this process holds the claim, so that other calls can wait for it."""
        self._local_claims[name] = None

    async def _try_take(
        self, name: ClaimName, digests: RequestDigests, recording: RunRecorder, *, exists: bool
    ) -> Claim | StoredResult | None:
        if not exists and await self.take_new(name, digests, recording):
            return Claim(name, recording.run_id, 1, digests)
        try:
            claim = await self._take_over(name, self.new_row(name, recording.run_id, digests), recording)
        except BaseException:
            self._release_later(name, recording.run_id)
            raise
        if isinstance(claim, Claim):
            self.hold(name)
        return claim

    def _release_later(self, name: ClaimName, run_id: RunId) -> None:
        # The commit may have succeeded although it raised, because its acknowledgement may have been lost.
        self._database.write_deferred(self.release(name, run_id), about=run_id)

    async def _take_over(
        self, name: ClaimName, new: dict[str, Any], recording: RunRecorder
    ) -> Claim | StoredResult | None:
        """Take over the existing claim if possible, or return its result."""
        now, opening = self._database.time(), recording.open_statements()
        # Most existing claims have a result. Then a read is enough, and only the end of the run has to be written.
        row = await self._database.read(lambda db: db.execute(FIND, name.parameters).first())
        if row is not None and row.expires_at > now:
            if row.target != new["target"]:
                raise key_reused_error(row.run_id)
            if row.state == "done":
                return StoredResult.from_claim(row)

        def take_over(db: SqlConnection) -> Claim | StoredResult | None:
            put_all(db, opening)
            return _take_existing(db, name, new, now)

        return await self._database.write(take_over, recording.run_id)

    async def _wait(self, name: ClaimName, deadline: float) -> None:
        if name not in self._local_claims:
            await self._shutdown.wait(self._wait_for_others(name, deadline))
            return
        event = self._local_claims[name] = self._local_claims[name] or asyncio.Event()
        with suppress(TimeoutError):
            await self._shutdown.wait(asyncio.wait_for(event.wait(), max(0.0, deadline - self._clock.now())))

    async def _wait_for_others(self, name: ClaimName, deadline: float) -> None:
        """Wait while another process holds the claim, until *deadline* at most. It cannot wake this process."""
        state: str | None = "held"
        # Poll with reads, because each attempt to take the claim would be a write transaction.
        while state == "held" and self._clock.now() < deadline:
            await self._clock.sleep(POLL_SECONDS)
            state = await self._database.read(lambda db: db.execute(STATE, name.parameters).scalar())


@lru_cache(maxsize=8)
def _mark_abandoned_in_doubt(now: ColumnElement[float]) -> Executable:
    settles_at = now + _claims.settle_seconds
    return update(tables.claims).where(ABANDONED).values(state="doubtful", settles_at=settles_at, process_id=None)


def _purge_each(rows: Sequence[dict[str, Any]], db: SqlConnection) -> int:
    return sum(execute(db, PURGE, row) for row in rows)


def _take_existing(db: SqlConnection, name: ClaimName, new: dict[str, Any], now: float) -> Claim | StoredResult | None:
    """Take a claim that has expired, is in doubt, or was deleted. Returns None if another attempt holds it."""
    # An expired claim would block the insert.
    db.execute(EXPIRE, name.parameters | {"_now": now})
    if execute(db, CLAIM, new):
        return Claim(name, new["run_id"], 1, RequestDigests(new["target"], new["parameters"]))
    values = {f"_{column}": new[column] for column in ("target", "run_id", "process_id", "expires_at")}
    taken_over = execute(db, TAKE_OVER, name.parameters | values)
    row = db.execute(FIND, name.parameters).first()
    if row is not None and taken_over:
        first = RequestDigests(row.target, row.parameters)
        return Claim(name, new["run_id"], row.attempt, first, row.sealed, row.settles_at or 0.0)
    if row is not None and row.state == "done" and row.target == new["target"]:
        return StoredResult.from_claim(row)
    return None


def replay(work: PreparedCall, first: StoredResult, data: bytes) -> Envelope:
    """Return the envelope of a replayed *first* result with its stored *data*."""
    status: Status = "partial" if first.status == "partial" else "ok"
    return Envelope(
        work.run.run_id,
        work.connection.connector,
        status,
        [data],
        paged=work.operation.is_paged,
        replayed=True,
        warnings=work.warning_texts(),
    )


def in_progress_error() -> GatewayError:
    """Return the error for a call whose claim another attempt holds."""
    return IdempotencyInProgress(
        "A call with this idempotency key is still in progress.",
        {"parameter": "idempotency_key"},
        retry_after=1,
    )


def key_reused_error(first_run_id: RunId) -> GatewayError:
    """Return the error for a call whose key was used with another target."""
    return IdempotencyKeyReused(
        "This idempotency key was used for another object.",
        {"parameter": IDEMPOTENCY_FIELD, "first_run_id": first_run_id},
    )
