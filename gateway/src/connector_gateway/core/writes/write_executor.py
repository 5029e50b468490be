"""The write protocol, from the claim to the response, so that a write happens once.

1. A call with a key takes the claim of that key, or returns the first result, before it sends any request, reads
   included (``WriteExecutor.write``, ``WriteAttempt.before_first_request``).
2. The operation plans the write. Then it carries out the steps of the plan, each of which is one request
   (``WriteAttempt.plan``, ``WriteAttempt.step``).
3. The intent of a step is stored before the step is sent, together with the parameters, the run and the owner rows of
   its objects. If the plan needs no reads, the first intent is stored in the same commit as the claim.
4. The data learned from a response is stored with the next intent, or with the result.
5. A step that was sent without a response is in doubt. The core searches upstream for its effect, and accepts only
   objects that are proven to be its work (``created_objects_by_write``). The step is sent again only if it has a key
   and can no longer be carried out.
6. A repeat of a call whose claim is in doubt runs the same operation with the parameters of the first call. It gets
   the recorded plans and results, and continues at the step at which the last attempt ended.

Every change of a claim names the attempt that holds it. An attempt that has lost its claim sends nothing more
(``_claim_lost``).
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import structlog
from msgspec import Struct, field
from pydantic_core import from_json
from sqlalchemy import Connection as SqlConnection
from sqlalchemy.exc import IntegrityError

from connector_gateway.core.calls.arguments import Arguments
from connector_gateway.core.calls.prepared_call import PreparedCall, ReadOnlySteps, object_scope
from connector_gateway.core.calls.response_envelope import Envelope, message_with_reason
from connector_gateway.core.history.runs import RunRecorder
from connector_gateway.core.secrets.vault import Vault
from connector_gateway.core.writes.backup_restore_detection import BackupRestoreDetector
from connector_gateway.core.writes.created_objects_by_write import (
    ASSIGN_OBJECT,
    DELETE_ROW,
    DETACH_ROW,
    INSERT_ROW,
    REOPEN_ROW,
    STORE_OBJECT,
    CreatedObjectOwners,
)
from connector_gateway.core.writes.dry_run import DryRun
from connector_gateway.core.writes.idempotency import (
    Claim,
    ClaimExists,
    ClaimName,
    Claims,
    StoredResult,
    in_progress_error,
    replay,
)
from connector_gateway.core.writes.idempotency_messages import different_parameters
from connector_gateway.core.writes.in_doubt_resolution import InDoubtResolver, settle_sentence
from connector_gateway.core.writes.request_digests import digest_request
from connector_gateway.core.writes.stale_change_detection import ChangeLog, ChangeScope
from connector_gateway.core.writes.write_journal import JournalEntry, WriteJournal, encryption_context, serialize_error
from connector_gateway.kit.clock import DAY_SECONDS
from connector_gateway.kit.errors import (
    CallerError,
    GatewayError,
    InDoubtReason,
    OutcomeUnknown,
    StorageUnavailable,
    UpstreamError,
)
from connector_gateway.kit.identifiers import ulid
from connector_gateway.kit.json_encoding import encode_json
from connector_gateway.kit.models import Params
from connector_gateway.kit.write_steps import Cast, StepInput, StepResult, WriteStep
from connector_gateway.storage.sql.compiled_statements import Put, execute, put_all
from connector_gateway.storage.sql.database import Database

J = TypeVar("J")

log = structlog.get_logger()

CHECK_UPSTREAM_FIRST = (
    "Check in {vendor} whether it took effect before you call again; an {idempotency_key} makes retries safe."
)
"""The remedy of an in-doubt write without a key."""

CHECK_BEFORE_SENDING = "Check in {vendor} whether it took effect before you send it again."
"""The remedy of an in-doubt write that accepts no key."""

CHECK_OBJECT_FIRST = (
    "Read the object in {vendor}. If the change is still needed, repeat it with another {idempotency_key}."
)
"""The remedy of an in-doubt change if another call may have changed the object since."""

CHECK_AFTER_RESTORE = (
    "The database of this service was restored from a backup, and calls with this key since the backup may be unknown. "
    "Check in {vendor} whether it took effect; if it did not, call again without an {idempotency_key}."
)
"""The remedy of a write that is in doubt because of a restore. Only its caller can decide whether to repeat it."""

FOUND_DETAIL, SENT_AGAIN_DETAIL = "found", "sent_again"
"""Keys of run details that report how a step in doubt was resolved: by an object that was found, or by a resend."""

MAX_REPORTED_STEPS = 20
"""The maximum number of finished steps that an error lists."""


class WriteExecutor:
    """Carries out writes, each once per key."""

    def __init__(
        self,
        *,
        database: Database,
        claims: Claims,
        owners: CreatedObjectOwners,
        change_log: ChangeLog,
        vault: Vault,
        restores: BackupRestoreDetector,
        resolver: InDoubtResolver,
    ) -> None:
        self.database = database
        self.claims = claims
        self.owners = owners
        self.change_log = change_log
        self.vault = vault
        self.restores = restores
        self.resolver = resolver

    async def write(
        self, work: PreparedCall, arguments: Arguments, recording: RunRecorder, wait_seconds: float
    ) -> Envelope:
        """Carry out a write and return its envelope.

        All calls with one key within 24 hours share one write. Without a key, each step is sent at most once.
        *arguments* must have been read, so that their key is valid.
        """
        if work.run.dry_run:
            # A dry run does not touch the claim. If it took the key, the write itself could not be done with that key.
            return await self.dry_run(work)
        if arguments.key is None:
            return await self._carry_out(
                WriteAttempt(self, work, recording, WriteJournal(arguments, work.connection.identity))
            )
        run, connection, key = work.run, work.connection, arguments.key.text
        run.idempotency = {"key": key, "outcome": "unfinished"}
        name = ClaimName.create(connection.workspace_id, connection.connection_id, work.operation.name, arguments.key)
        digests, journal = digest_request(work.operation, work.params), WriteJournal(arguments, connection.identity)
        attempt = WriteAttempt(self, work, recording, journal, Claim(name, run.run_id, 1, digests), taken=False)
        try:
            # Most keys are new. Then the claim is inserted in the commit of the first intent, which saves one commit.
            return await self._carry_out(attempt)
        except ClaimExists:
            exists = True
        except GatewayError as error:
            # Without the claim, the error is not definite: the first call with this key may have had a result.
            if attempt.taken or isinstance(error, StorageUnavailable):
                raise
            exists = False
        work.warnings.clear()
        run.idempotency = {"key": key, "outcome": "unfinished"}
        claim = await self.claims.take(name, digests, recording, wait_seconds, exists=exists)
        differs = {} if claim.digests.parameters == digests.parameters else {"parameters_differ": True}
        if differs:
            work.warnings.append(different_parameters(claim.run_id if isinstance(claim, StoredResult) else None))
        if isinstance(claim, StoredResult):
            run.idempotency = {"key": key, "outcome": "replayed", "first_run_id": claim.run_id, **differs}
            return replay(work, claim, self.vault.decrypt_bytes(claim.sealed, encryption_context(name)))
        run.idempotency = {"key": key, "outcome": "first" if claim.attempt == 1 else "recovered", **differs}
        try:
            journal = WriteJournal.load(self.vault, claim, arguments, connection.identity)
        except GatewayError:
            restore = self.claims.release(name, run.run_id)
            self.database.write_deferred(restore, partial(self.claims.wake, name), run.run_id)
            raise
        return await self._carry_out(WriteAttempt(self, work, recording, journal, claim))

    async def dry_run(self, work: PreparedCall) -> Envelope:
        """Return the requests and casts of a write, without sending any."""
        work.upstream.dry_run = True
        try:
            return await DryRun(work, self.owners).perform()
        finally:
            work.upstream.dry_run = work.run.dry_run

    @staticmethod
    async def _carry_out(attempt: "WriteAttempt") -> Envelope:
        """Perform the operation and store its outcome in the claim."""
        work = attempt.work
        work.ctx.steps = attempt
        work.upstream.before_request = None if attempt.taken else attempt.before_first_request
        try:
            work.params = attempt.params()
            envelope = work.envelope(await work.operation.handler(work.ctx, work.params))
            await attempt.finish(envelope)
        except ClaimExists:
            raise
        except GatewayError as error:
            if not attempt.taken:
                raise
            attempt.add_step_details(error)
            await attempt.abandon()
            raise
        except BaseException:
            attempt.abandon_in_background()
            raise
        finally:
            # Break the reference cycle between context and attempt, which only the garbage collector would free.
            work.ctx.steps, work.upstream.before_request = ReadOnlySteps(), None
        return envelope


class WriteAttempt(Struct, eq=False):
    """One attempt at a write, with or without a claim. It carries out the planned steps in order."""

    protocol: WriteExecutor
    work: PreparedCall
    recording: RunRecorder
    journal: WriteJournal
    claim: Claim | None = None
    taken: bool = True
    """Whether the claim is held, as far as this attempt knows. It is taken before the first upstream request."""

    _take_lock: asyncio.Lock | None = None
    _undone_count: int = 0
    """The number of leading journal entries that were undone."""

    _undoing: bool = False
    _claim_lost: bool = False
    _finished: bool = False
    _disproved: JournalEntry | None = None
    """The step that was sent last, if it is certain that it had no effect and can no longer have one."""

    _inserted_rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The owner rows that this attempt has inserted, by row identifier."""

    _pending_owners: list[tuple[str, str]] = field(default_factory=list)
    """Owner rows and the object identifiers from responses, to be stored with the next commit."""

    _pending_changes: list[Put] = field(default_factory=list)
    """Statements that record acknowledged changes, to be executed with the next commit."""

    _changed_since: OutcomeUnknown | None = None
    """The error of a change that was not sent again, because another call has changed the object."""

    _deletable_rows: list[str] = field(default_factory=list)
    """Owner rows of objects that were certainly not created, to be deleted with the next commit."""

    _resolutions: list[Mapping[str, str]] = field(default_factory=list)
    """The resolutions of steps in doubt, for the run history."""

    _finished_steps: list[Mapping[str, Any]] = field(default_factory=list)
    """Finished steps, to be listed in the error if a later step fails."""

    # The interface for operations

    async def before_first_request(self) -> None:
        """Take the claim, unless this attempt holds it already.

        Raises ``ClaimExists`` if another call holds the claim or has finished it.
        """
        if self.taken or self.claim is None:
            return
        # An operation may send several read requests concurrently.
        self._take_lock = self._take_lock or asyncio.Lock()
        async with self._take_lock:
            if self.taken:
                return
            if not await self.protocol.claims.take_new(self.claim.name, self.claim.digests, self.recording):
                raise ClaimExists
            self._set_taken()

    def _set_taken(self) -> None:
        self.taken = True
        run = self.work.run
        run.idempotency = {**(run.idempotency or {}), "outcome": "first"}

    def params(self) -> Params:
        """Return the parameters of the call that first sent anything with this key, or else those of this call."""
        if not self.journal.entries:
            return self.work.params
        restored: Params = self.journal.arguments.read(self.work.operation.params)
        return restored

    async def plan(self, make: Callable[[], Awaitable[J]]) -> J:
        """Return the result of *make* as JSON. A later attempt returns the recorded plan of the first."""
        entry = self.journal.recorded("")
        if entry is None:
            # Convert to JSON and back, so that the first attempt works with the same values as a later one.
            entry = self.journal.append(JournalEntry("", from_json(encode_json(await make()))))
        planned: J = entry.value
        return planned

    async def step(self, step: WriteStep[Any], intent: StepInput) -> StepResult:
        """Carry out one step, unless the journal or a search upstream proves that it was carried out before."""
        entry = self.journal.recorded(step.name)
        if entry is None:
            mark = "" if step.object_kind else self._mark(step.name, self.protocol.database.time())
            entry = self.journal.append(JournalEntry(step.name, self._normalize(intent), mark))
        if entry.refusal is not None:
            self.journal.check_last(entry.refusal)
        if entry.learned is None and not entry.restored:
            await self._distrust_after_restore(step, entry)
        resending = entry.in_doubt
        if resending:
            entry.learned = await self.protocol.resolver.resolve(self.work, step, entry)
            if entry.learned is None:
                await self._check_unchanged(step, entry)
                if not entry.restored:
                    self._resolutions.append({SENT_AGAIN_DETAIL: step.name})
            else:
                self._resolutions.append(_match_detail(step))
                self._record_change(step, entry)
        if entry.learned is None:
            await self._record_intent(step, entry)
            if resending:
                # Another call may change the object while the request waits for its reservation.
                self.work.upstream.before_write = partial(self._check_unchanged, step, entry)
            entry.learned = await self._send(step, entry, resending=resending)
            self._record_change(step, entry)
            if step.object_kind:
                self._pending_owners += zip(entry.rows, step.object_ids(entry.learned), strict=True)
        self._finished_steps.append({"done": step.name, **step.public_result(entry.learned)})
        return entry.learned

    def _mark(self, name: str, at: float) -> str:
        """Return the mark of a step.

        With a key, all attempts of one day use the same mark. Without a key, every mark is new.
        """
        if self.claim is None:
            return ulid()
        return step_mark(self.claim, name, sum(entry.name == name for entry in self.journal.entries), at)

    async def _distrust_after_restore(self, step: WriteStep[Any], entry: JournalEntry) -> None:
        """Put a step in doubt if it may have been sent during a time that the restored database has lost."""
        lost = self.protocol.restores.lost
        if lost is None or self.claim is None or self._undoing or (entry.sent_at or 0.0) > lost.until:
            return
        # A step that was in doubt when the backup was made may have been resolved since, and others may have followed.
        previous, settles_at = (entry.sent_at, entry.settles_at), lost.until + self.work.ctx.settle_seconds
        entry.restored, entry.in_doubt_before, entry.refusal = True, entry.sent_at is not None, None
        entry.sent_at = lost.since if entry.sent_at is None else min(entry.sent_at, lost.since)
        entry.settles_at = max(entry.settles_at, settles_at)
        if entry.mark:
            number = sum(other.name == step.name for other in self.journal.passed[:-1])
            days = range(int(lost.since // DAY_SECONDS), int(self.protocol.database.time() // DAY_SECONDS) + 1)
            entry.marks = [step_mark(self.claim, step.name, number, day * DAY_SECONDS) for day in days]
            entry.marks += [entry.mark] if entry.mark not in entry.marks else []
        try:
            await self._store_journal(step, entry)
        except BaseException:
            (entry.sent_at, entry.settles_at), entry.restored = previous, False
            raise

    def _record_change(self, step: WriteStep[Any], entry: JournalEntry) -> None:
        """Queue records of the objects that a step has changed, for the next commit."""
        if names := step.changes(entry.value):
            within, run_id = self._change_scope(step, entry), self.work.run.run_id
            # Steps that create objects have no mark. The first owner row identifies them as well.
            mark = entry.mark or entry.rows[0]
            self._pending_changes += self.protocol.change_log.record_statements(within, names, mark, run_id)

    def _change_scope(self, step: WriteStep[Any], entry: JournalEntry) -> ChangeScope:
        """Return the scope of the objects that a step changes."""
        connection = self.work.connection
        account_is_known = connection.identity.account_id == step.account_scope(entry.value)
        return ChangeScope(object_scope(self.work, step, entry.value), connection.connector, account_is_known)

    async def _check_unchanged(self, step: WriteStep[Any], entry: JournalEntry) -> None:
        """Raise ``OutcomeUnknown`` if another call has changed the same objects since the step was sent.

        Sending the step again would undo that change.
        """
        names = () if step.object_kind else step.changes(entry.value)
        if not names:
            return
        if entry.in_doubt_before:
            raise OutcomeUnknown(
                "This change was in doubt at the time of the backup. Its outcome is unknown; it was not sent again.",
                {"restored": True},
                remedy=CHECK_OBJECT_FIRST,
            )
        marks = [other.mark for other in self.journal.entries]
        later = await self.protocol.change_log.find_later(
            self._change_scope(step, entry),
            names,
            entry.sent_at or 0.0,
            marks,
            self.work.connection.workspace_id,
        )
        if later is not None:
            details = {} if later.run_id is None else {"run_id": later.run_id}
            self._changed_since = OutcomeUnknown(
                "Another call has changed the object since. The outcome of this change is unknown; it was not resent.",
                {"changed_since": True, **details},
                remedy=CHECK_OBJECT_FIRST,
            )
            raise self._changed_since

    def _normalize(self, intent: StepInput) -> StepInput:
        """Return *intent* as a later attempt would read it from the journal, or unchanged if there is no claim."""
        normalized: StepInput = intent if self.claim is None else from_json(encode_json(intent))
        return normalized

    async def try_step(self, step: WriteStep[Any], intent: StepInput) -> StepResult | None:
        """Carry out an optional step. Returns None if the step was rejected or has certainly failed."""
        try:
            return await self.step(step, intent)
        except GatewayError as error:
            entry = self.journal.passed[-1]
            # Continuing after a step in doubt could leave partial work that no response reports.
            if self._claim_lost or (entry.in_doubt and entry is not self._disproved):
                raise
            entry.sent_at, entry.refusal = None, serialize_error(error)
            self.work.warnings.append(f"Not done: {step.name}. {message_with_reason(error)}")
            return None

    async def undo(self, step: WriteStep[Any], intent: StepInput) -> None:
        """Undo the completed steps after a later step was rejected. Does nothing while any step is in doubt.

        If it succeeds, the key can be used again. Otherwise the error lists the completed steps.
        """
        # A step that merely could not be stored is sent by the next attempt, which needs the completed steps for it.
        was_rejected = any(entry.refusal is not None for entry in self.journal.passed[-1:])
        if self._claim_lost or not was_rejected or any(entry.in_doubt for entry in self.journal.passed):
            return
        # This attempt has done the undone steps itself, so a restore of the database does not put them in doubt.
        self._undoing = True
        with suppress(GatewayError):
            await self.step(step, intent)
            self._undone_count = len(self.journal.passed)
            self._finished_steps.clear()

    def record_casts(self, make: Callable[[], Iterable[Cast]]) -> None:
        """Do nothing. The result of a write contains the written values."""

    async def adopt(self, step: WriteStep[Any], intent: StepInput, object_id: str) -> bool:
        """Take over an object that an interrupted call without a key has created.

        Only a call without a key adopts objects, and only if no other call can own the object.
        Returns whether this call owns it now.
        """
        if self.claim is not None:
            return False
        owners, run_id = self.protocol.owners, self.work.run.run_id
        (content,) = step.content_keys(intent)
        row = owners.new_row(
            f"{run_id}.0", object_scope(self.work, step, intent), step.object_kind, content, run_id, keyed=False
        )
        adopted = await owners.adopt(row, object_id, self.recording.open_statements())
        self.recording.is_open = self.recording.is_open or adopted
        return adopted

    # The end of an attempt

    async def finish(self, envelope: Envelope) -> None:
        """Commit the result, the ownership of objects and the run together.

        If storage is unavailable, the commit is deferred and ``StorageUnavailable`` is raised.
        """
        await self.before_first_request()
        self.work.run.succeed(envelope.status)
        self.work.run.details = self._resolutions or None
        claim, puts = self.claim, [*self._assign_objects(), *self._delete_rows()]
        result = None if claim is None else self._store_result(claim, envelope)
        if result is None and not puts:
            return
        try:
            await self._commit([*puts, *self.recording.close_statements()], result)
        except StorageUnavailable:
            self._finished = True
            self._commit_deferred(puts, (), result)
            raise
        self.recording.is_closed = True
        self._wake()

    def _store_result(self, claim: Claim, envelope: Envelope) -> Put:
        """Return the statement that stores the encrypted result in the claim."""
        sealed = self.protocol.vault.encrypt_bytes(b"".join(map(bytes, envelope.data)), encryption_context(claim.name))
        return self.protocol.claims.set_result(claim, envelope.status, sealed)

    def add_step_details(self, error: GatewayError) -> None:
        """Add the finished steps to *error*, and the remedy for a step in doubt that cannot be repeated safely."""
        error.details += self._finished_steps[:MAX_REPORTED_STEPS]
        if self.claim is None and (error.doubt is not None or isinstance(error, OutcomeUnknown)):
            error.remedy = CHECK_UPSTREAM_FIRST if self.work.operation.keyed else CHECK_BEFORE_SENDING
            error.retry_after = None
        elif isinstance(error, OutcomeUnknown) and error.retry_after is None and self._is_restored:
            error.remedy = CHECK_AFTER_RESTORE

    @property
    def _is_restored(self) -> bool:
        """Whether a step is in doubt only because the database was restored."""
        return any(entry.restored and entry.in_doubt for entry in self.journal.entries)

    async def abandon(self) -> None:
        """Give up the claim.

        The claim is deleted if nothing was done under it. Otherwise it is left in doubt for a repeat of the call.
        """
        learned, rows, change = self._assign_objects(), self._give_up_rows(), self._give_up_claim()
        try:
            with suppress(IntegrityError):
                # If an equal write owns the object by now, it remains the owner.
                await self.protocol.database.put_all(learned, about=self.work.run.run_id)
            await self.protocol.database.put_all(rows, change, self.work.run.run_id)
        except BaseException as error:
            self._commit_deferred(learned, rows, change)
            # If storage is unavailable, the commit follows later, and the caller gets the error of the call itself.
            if not isinstance(error, StorageUnavailable):
                raise
        self._wake()

    def abandon_in_background(self) -> None:
        """Give up the claim like ``abandon``, without waiting for the commit."""
        if any(entry.in_doubt for entry in self.journal.entries):
            error = OutcomeUnknown("This service shut down before the vendor responded.", doubt="interrupted")
            self.add_step_details(error)
            self.recording.in_doubt_error = error
        self._commit_deferred(self._assign_objects(), self._give_up_rows(), self._give_up_claim())

    def _commit_deferred(self, learned: Sequence[Put], rows: Sequence[Put] = (), change: Put | None = None) -> None:
        """Commit *learned*. If the claim is still held, also commit *change* together with *rows*.

        Both commits are deferred until storage is available.
        """

        def own(db: SqlConnection) -> None:
            put_all(db, learned)

        def commit(db: SqlConnection) -> None:
            if change is None or execute(db, *change):
                put_all(db, rows)

        self.protocol.database.write_deferred(own, about=self.work.run.run_id)
        self.protocol.database.write_deferred(commit, self._wake, self.work.run.run_id)

    def _give_up_claim(self) -> Put | None:
        """Return the statement that deletes the claim or leaves it in doubt.

        Returns None without a claim, or if the result is stored already.
        """
        claim, claims = self.claim, self.protocol.claims
        if claim is None or self._finished or not self.taken:
            return None
        if not any(entry.may_have_taken_effect for entry in self.journal.entries[self._undone_count :]):
            return claims.delete(claim)
        settles_at = max([entry.settles_at for entry in self.journal.entries if entry.in_doubt], default=0.0)
        return claims.mark_in_doubt(claim, self.journal.encrypt(self.protocol.vault, claim), settles_at)

    def _give_up_rows(self) -> list[Put]:
        """Return statements that detach the owner rows of objects that may exist, and delete all others."""
        return [] if self._finished else self._detach_rows() + self._delete_rows()

    def _wake(self) -> None:
        if self.claim is not None and self.taken:
            self.protocol.claims.wake(self.claim.name)

    # One step, before and after it is sent

    async def _record_intent(self, step: WriteStep[Any], entry: JournalEntry) -> None:
        """Store the intent of the step before it is sent, together with the run and the owner rows."""
        now = self.protocol.database.time()
        entry.refusal = None
        first = entry.sent_at is None
        previous = (entry.sent_at, entry.settles_at)
        entry.sent_at = now if first else entry.sent_at
        entry.settles_at = now + self.work.ctx.settle_seconds
        try:
            await self._store_journal(step, entry)
        except BaseException:
            entry.sent_at, entry.settles_at = previous
            raise

    async def _store_journal(self, step: WriteStep[Any], entry: JournalEntry) -> None:
        """Store the journal with a step in doubt, together with the run and the owner rows."""
        puts = [
            *self._assign_objects(),
            *self._delete_rows(),
            *self._insert_rows(step, entry),
            *self.recording.open_statements(),
        ]
        if self.claim is None or self.taken:
            await self._commit(puts, None if self.claim is None else self._store_intent(self.claim))
        else:
            await self._take_with_intent(self.claim, puts)

    def _store_intent(self, claim: Claim) -> Put:
        return self.protocol.claims.set_intent(
            claim, self.journal.encrypt(self.protocol.vault, claim), self.work.ctx.settle_seconds
        )

    async def _take_with_intent(self, claim: Claim, puts: Sequence[Put]) -> None:
        """Take the claim in the commit of the first intent. Raises ``ClaimExists`` if another call has it."""
        sealed = self.journal.encrypt(self.protocol.vault, claim)
        fence = self.protocol.claims.insert_with_intent(claim, sealed, self.work.ctx.settle_seconds)
        # Before the commit: if the outcome of the commit is unknown, the claim has to be given up as if it were taken.
        self._set_taken()
        if not await self.protocol.database.put_all(puts, fence, self.work.run.run_id):
            self.taken = False
            raise ClaimExists
        self.protocol.claims.hold(claim.name)
        self.recording.is_open = True

    async def _send(self, step: WriteStep[Any], entry: JournalEntry, *, resending: bool) -> StepResult:
        """Send the step. If its outcome is in doubt, search for its effect during the grace time before raising."""
        self.work.upstream.written_at = None
        try:
            return await step.send(self.work.ctx, entry.value, entry.mark)
        except GatewayError as error:
            if error is self._changed_since:
                self._retain_doubt(entry, resending=resending)
                raise
            # Redact here already, because a connector may put the reason of a rejected step into its result.
            self.work.run.redaction.error(error)
            # A definite rejection releases the key (common-92): a call that uses it afterwards is a new one.
            definite = isinstance(error, CallerError) and error.retry_after is None
            if not definite and self._retain_doubt(entry, resending=resending):
                raise
            reason = self._settle_or_release(entry, error.doubt)
            if reason is None:
                error.doubt, entry.refusal = None, serialize_error(error)
                raise
            in_doubt_error = (
                error if error.doubt or isinstance(error, UpstreamError) else _unreadable_response(error, error.private)
            )
            in_doubt_error.doubt = reason
        except Exception as error:
            if self._retain_doubt(entry, resending=resending) or self._settle_or_release(entry) is None:
                raise
            # An error of our own after sending leaves the step in doubt too: the request has already left.
            in_doubt_error = _unreadable_response(error, repr(error))
        except BaseException:
            if not self._retain_doubt(entry, resending=resending):
                self._settle_or_release(entry)
            raise
        finally:
            self.work.upstream.before_write = None
        return await self._search_in_doubt(step, entry, in_doubt_error)

    async def _search_in_doubt(
        self, step: WriteStep[Any], entry: JournalEntry, in_doubt_error: GatewayError
    ) -> StepResult:
        """Return the result of a step in doubt if its effect is proven within the grace time.

        Otherwise raise *in_doubt_error*.
        """
        learned = None
        with suppress(GatewayError):
            await self.protocol.database.put_all(self._detach_rows(), about=self.work.run.run_id)
            learned = await self.protocol.resolver.resolve(self.work, step, entry)
            self._disproved = entry
        if learned is None:
            raise self._unresolved_error(entry, in_doubt_error)
        self._resolutions.append(_match_detail(step))
        return learned

    def _unresolved_error(self, entry: JournalEntry, in_doubt_error: GatewayError) -> GatewayError:
        """Return the error for a step in doubt without evidence.

        If the vendor reported that its work has ended, this is *in_doubt_error* itself.
        """
        remaining = entry.settles_at - self.protocol.database.time()
        if in_doubt_error.doubt == "failed":
            in_doubt_error.retry_after = 1
            return in_doubt_error
        # Use the same code if the step settled during the call, because that depends on the load of this machine.
        message = f"{in_doubt_error.message} {settle_sentence(entry.settles_at)}"
        return OutcomeUnknown(
            message,
            *in_doubt_error.details,
            private=in_doubt_error.private,
            retry_after=max(remaining, 0.0),
            doubt=in_doubt_error.doubt,
        )

    def _retain_doubt(self, entry: JournalEntry, *, resending: bool) -> bool:
        """Return True if nothing was sent this time of a step that was sent before.

        It stays in doubt, so that the next attempt looks for its effect and for later changes. The earlier request has
        settled.
        """
        if not resending or self.work.upstream.written_at is not None:
            return False
        entry.settles_at = self.protocol.database.time()
        self._disproved = entry
        return True

    def _settle_or_release(self, entry: JournalEntry, reported: InDoubtReason | None = None) -> InDoubtReason | None:
        """Decide whether the step just sent is in doubt, and until when. No other code releases a sent step.

        The step is not in doubt if nothing was sent, or if the connector's error table lists the response as proof that
        nothing was done. A client can add a reason for doubt (*reported*), but it cannot remove one.
        The settle time counts from sending. It is over if the vendor's application itself has ended the work.
        """
        upstream = self.work.upstream
        reasons = {reported, upstream.doubt} - {None}
        if not reasons or upstream.written_at is None:
            entry.sent_at = None
            return None
        if reasons == {"failed"}:
            entry.settles_at = self.protocol.database.time()
            return "failed"
        entry.settles_at = upstream.written_at + self.work.ctx.settle_seconds
        return reported if reported not in {None, "failed"} else upstream.doubt

    # Commits

    async def _commit(self, puts: Sequence[Put], fence: Put | None = None) -> None:
        """Commit *puts* together if this attempt still holds the claim."""
        try:
            has_claim = await self.protocol.database.put_all(puts, fence, self.work.run.run_id)
        except IntegrityError:
            has_claim = await self._commit_without_owner(puts, fence)
        if not has_claim:
            self._claim_lost = True
            raise in_progress_error()
        self._pending_owners.clear()
        self._pending_changes.clear()
        self._deletable_rows.clear()
        self.recording.is_open = True

    async def _commit_without_owner(self, puts: Sequence[Put], fence: Put | None) -> bool:
        """Commit without ownership, after an equal write has taken this write's object while this process was stalled.

        Without a key, the caller gets an error, so that no object is returned to two callers. With a key, the claim was
        lost too.
        """
        log.error("object with two owners", run_id=self.work.run.run_id)
        self._pending_owners.clear()
        if self.claim is None:
            raise OutcomeUnknown("The object of this call was assigned to an equal call.", doubt="interrupted")
        without_owners = [put for put in puts if put[0] is not STORE_OBJECT]
        return await self.protocol.database.put_all(without_owners, fence, self.work.run.run_id)

    def _assign_objects(self) -> list[Put]:
        """Return statements that make this write the owner of the objects in responses, and that record its changes."""
        return [self._assign_object(*owner) for owner in self._pending_owners] + self._pending_changes

    def _assign_object(self, row_id: str, object_id: str) -> Put:
        row = self._inserted_rows.get(row_id)
        if row is None:
            return ASSIGN_OBJECT, {"_row_id": row_id, "_upstream_id": object_id}
        return STORE_OBJECT, row | {"upstream_id": object_id, "process_id": None}

    def _insert_rows(self, step: WriteStep[Any], entry: JournalEntry) -> list[Put]:
        """Return statements that insert the owner rows of the objects that the step is about to create."""
        if not step.object_kind:
            return []
        owners, run_id = self.protocol.owners, self.work.run.run_id
        if entry.rows:
            return [(REOPEN_ROW, owners.reopen_parameters(row, run_id)) for row in entry.rows]
        keyed = self.claim is not None
        scope, contents = object_scope(self.work, step, entry.value), step.content_keys(entry.value)
        rows = [
            owners.new_row(
                f"{run_id}.{len(self._inserted_rows) + number}", scope, step.object_kind, content, run_id, keyed=keyed
            )
            for number, content in enumerate(contents, 1)
        ]
        entry.rows = [row["row_id"] for row in rows]
        self._inserted_rows |= {row["row_id"]: row for row in rows}
        return [(INSERT_ROW, row) for row in rows]

    def _detach_rows(self) -> list[Put]:
        """Return statements that detach the owner rows of steps in doubt, whose objects no response will identify."""
        return [
            (DETACH_ROW, {"_row_id": row}) for entry in self.journal.entries if entry.in_doubt for row in entry.rows
        ]

    def _delete_rows(self) -> list[Put]:
        """Return statements that delete the owner rows of objects that were certainly not created."""
        for entry in self.journal.entries:
            if entry.rows and not entry.may_have_taken_effect:
                self._deletable_rows += entry.rows
                entry.rows = []
        # Repeat them until a commit succeeds: a leftover row looks like an equal write that never ends.
        return [(DELETE_ROW, {"_row_id": row}) for row in self._deletable_rows]


def _match_detail(step: WriteStep[Any]) -> Mapping[str, str]:
    """Return the run detail for a step that a search has proven to be done."""
    return {FOUND_DETAIL: f"the {step.object_kind}" if step.object_kind else step.name}


def step_mark(claim: Claim, name: str, number: int, at: float) -> str:
    """Return the mark of a step under a key: the *number*-th step of its *name*, sent on the day of *at*.

    Claims are stored for a day as well.
    """
    parts = "\n".join([*claim.name, name, str(number), str(int(at // DAY_SECONDS))])
    return hashlib.sha256(parts.encode()).hexdigest()[:26]


def _unreadable_response(cause: Exception, private: str) -> OutcomeUnknown:
    """Return the error for a response to a write that does not show whether the write took effect."""
    error = OutcomeUnknown(
        "The vendor returned an unexpected response, which does not show whether the request took effect.",
        private=private,
        doubt="garbled",
    )
    error.__cause__ = cause
    return error
