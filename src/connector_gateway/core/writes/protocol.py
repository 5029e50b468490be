"""How a write happens once: the protocol, from the claim to the answer.

1. A call with a key takes the claim of that key, or gets the first result, before it asks or sends anything
   (``Writing.write``, ``Attempt.before_asking``).
2. The operation plans what it is to do; then it carries out its steps, one request each (``Attempt.plan``, ``step``).
3. What a step is to do is stored before it is sent, together with the parameters, the run, and the objects' owner;
   with the claim too, where nothing had to be asked for the plan.
4. What a step's answer tells is stored with the next intention, or with the result.
5. A step that was sent and not answered is in doubt: it is looked for upstream, and only what is proven to be its
   work is taken for it (``evidence.py``). It is sent again only for a key, when it can no longer be carried out.
6. Whoever repeats a call under a claim in doubt goes through the same operation with the first call's parameters: what
   was planned and learned is given to it again, and it goes on where the last attempt ended.

Every change of a claim names the attempt that holds it. An attempt that lost its claim sends nothing (``_lost``).
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import structlog
from pydantic_core import from_json
from sqlalchemy import Connection as Transaction
from sqlalchemy.exc import IntegrityError

from connector_gateway.core.calls.arguments import Arguments
from connector_gateway.core.calls.envelope import Envelope, message_with_reason
from connector_gateway.core.calls.prepared_operation import PreparedOperation, ReadOnlySteps, scope_of
from connector_gateway.core.connections.vault import Vault
from connector_gateway.core.history.runs import RunRecorder
from connector_gateway.core.writes.change_log import ChangeLog
from connector_gateway.core.writes.claims import Claim, ClaimExists, ClaimName, Claims, StoredResult, in_progress
from connector_gateway.core.writes.dry_run import DryRun
from connector_gateway.core.writes.evidence import EvidenceFinder, until
from connector_gateway.core.writes.journal import JournalEntry, WriteJournal, encryption_context, serialize_error
from connector_gateway.core.writes.key_outcomes import different_parameters
from connector_gateway.core.writes.ownership import FORGET, LEAVE, OPEN, OWN, REOPEN, SETTLE, ObjectOwnership
from connector_gateway.core.writes.request_digests import asked
from connector_gateway.core.writes.restores import Restores
from connector_gateway.kit.errors import (
    GatewayError,
    InDoubtReason,
    OutcomeUnknown,
    StorageUnavailable,
    UpstreamError,
)
from connector_gateway.kit.identifiers import ulid
from connector_gateway.kit.json_encoding import encode_json
from connector_gateway.kit.shapes import Params
from connector_gateway.kit.write_steps import Cast, StepInput, StepResult, WriteStep
from connector_gateway.storage.sql.bulk_insert import Put, execute, put_all
from connector_gateway.storage.sql.database import Database

J = TypeVar("J")

log = structlog.get_logger()

CHECK_UPSTREAM_FIRST = (
    "Look in {vendor} whether it was done before you call again; an {idempotency_key} makes repeats safe."
)
"""The remedy of a write in doubt that has no key."""

READ_FIRST = "Read the object in {vendor}. If this change is still wanted, make it with another {idempotency_key}."
"""The remedy of a change that another one may have followed."""

RESTORED = (
    "The database of this service was restored from a backup, and what this key has done since may not be known. "
    "Look in {vendor} whether it was done; if it was not, call again without an {idempotency_key}."
)
"""The remedy of a write that cannot be told from others after a restore: only its caller can decide."""

DAY_SECONDS = 24 * 60 * 60.0
"""The time for which a step has one mark: no longer than its key is remembered."""

FOUND, SENT_AGAIN = "found", "sent_again"
"""Details of a run that tell how a doubt has ended: what was found, or which step was sent again."""

MAX_REPORTED_STEPS = 20
"""How many finished steps an error lists."""


class WriteProtocol:
    """Carries out writes."""

    def __init__(
        self,
        *,
        database: Database,
        claims: Claims,
        owners: ObjectOwnership,
        change_log: ChangeLog,
        vault: Vault,
        restores: Restores,
        evidence: EvidenceFinder,
    ) -> None:
        self.database = database
        self.claims = claims
        self.owners = owners
        self.change_log = change_log
        self.vault = vault
        self.restores = restores
        self.evidence = evidence

    async def write(
        self, work: PreparedOperation, arguments: Arguments, recording: RunRecorder, wait_seconds: float
    ) -> Envelope:
        """The envelope of a write: done once for all calls with one key in 24 hours; without a key, sent at most once.

        *arguments* were read, so that their key is known to be one.
        """
        if work.run.dry_run:
            # Neither looked up nor taken: a key that a dry run had used would keep the write from being done.
            return await DryRun(work, self.owners).perform()
        if arguments.key is None:
            return await self._carry_out(
                WriteAttempt(self, work, recording, WriteJournal(arguments, work.connection.whose))
            )
        run, connection, key = work.run, work.connection, arguments.key.text
        run.idempotency = {"key": key, "outcome": "unfinished"}
        name = ClaimName.of(connection.workspace_id, connection.connection_id, work.operation.name, arguments.key)
        wanted, journal = asked(work.operation, work.params), WriteJournal(arguments, connection.whose)
        new = WriteAttempt(self, work, recording, journal, Claim(name, run.run_id, 1, wanted), taken=False)
        try:
            # Most keys are new, and then the claim is taken together with the first intention (decision 94).
            return await self._carry_out(new)
        except ClaimExists:
            exists = True
        except GatewayError as error:
            # A refusal counts only under the claim: the first call may have had a result.
            if new.taken or isinstance(error, StorageUnavailable):
                raise
            exists = False
        work.warnings.clear()
        run.idempotency = {"key": key, "outcome": "unfinished"}
        taken = await self.claims.take(name, wanted, recording, wait_seconds, exists=exists)
        differs = {} if taken.asked.parameters == wanted.parameters else {"parameters_differ": True}
        if differs:
            work.warnings.append(different_parameters(taken.run_id if isinstance(taken, StoredResult) else None))
        if isinstance(taken, StoredResult):
            run.idempotency = {"key": key, "outcome": "replayed", "first_run_id": taken.run_id, **differs}
            return work.replay(taken, self.vault.open_bytes(taken.sealed, encryption_context(name)))
        run.idempotency = {"key": key, "outcome": "first" if taken.attempt == 1 else "recovered", **differs}
        try:
            journal = WriteJournal.load(self.vault, taken, arguments, connection.whose)
        except GatewayError:
            let_go = self.claims.restore(name, run.run_id)
            self.database.write_deferred(let_go, partial(self.claims.wake, name), run.run_id)
            raise
        return await self._carry_out(WriteAttempt(self, work, recording, journal, taken))

    @staticmethod
    async def _carry_out(attempt: "WriteAttempt") -> Envelope:
        """Perform the operation, and store in the claim how it ended."""
        work = attempt.work
        work.call.steps = attempt
        work.upstream.before_request = None if attempt.taken else attempt.before_first_request
        try:
            work.params = attempt.params()
            envelope = work.envelope(await work.operation.handler(work.call, work.params))
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
            # Else the call and its attempt would hold each other, until garbage is looked for (decision 82).
            work.call.steps, work.upstream.before_request = ReadOnlySteps(), None
        return envelope


class WriteAttempt:
    """One attempt at a write, with or without a claim: carries out what the operation plans, step by step."""

    def __init__(
        self,
        writing: WriteProtocol,
        work: PreparedOperation,
        recording: RunRecorder,
        journal: WriteJournal,
        claim: Claim | None = None,
        *,
        taken: bool = True,
    ) -> None:
        self.work = work
        self._journal = journal
        self._writing = writing
        self._recording = recording
        self._claim = claim
        self.taken = taken
        """Whether the claim is held, as far as is known; it is taken before anything is asked or sent."""

        self._taking: asyncio.Lock | None = None
        self._undone = 0
        """The number of entries at the beginning that were undone."""

        self._undoing = False
        self._lost = False
        self._finished = False
        self._absent: JournalEntry | None = None
        """The step that was sent last, if it is known that it made nothing and no longer can."""

        self._opened: dict[str, dict[str, Any]] = {}
        """The owner rows that this attempt has inserted."""

        self._unowned: list[tuple[str, str]] = []
        """Owner rows with the objects that answers told, to be stored with the next commit."""

        self._changed: list[Put] = []
        """Statements that record acknowledged changes, to be executed with the next commit."""

        self._forgotten: list[str] = []
        """Owner rows of what was certainly not made, to be deleted with the next commit."""

        self._settled: list[Mapping[str, str]] = []
        """How doubts of steps have ended, for the history."""

        self._standing: list[Mapping[str, Any]] = []
        """What callers are told of finished steps if a later one fails."""

    # What an operation uses

    async def before_first_request(self) -> None:
        """Take the claim, unless that was done; ``ClaimExists`` where another call has it, or has had it."""
        if self.taken or self._claim is None:
            return
        # An operation may ask several things at once.
        self._taking = self._taking or asyncio.Lock()
        async with self._taking:
            if self.taken:
                return
            if not await self._writing.claims.take_new(self._claim.name, self._claim.asked, self._recording):
                raise ClaimExists
            self._note_taken()

    def _note_taken(self) -> None:
        self.taken = True
        run = self.work.run
        run.idempotency = {**(run.idempotency or {}), "outcome": "first"}

    def params(self) -> Params:
        """The parameters; those of the first call under the key, if that call sent anything."""
        if not self._journal.entries:
            return self.work.params
        restored: Params = self._journal.arguments.read(self.work.operation.params)
        return restored

    async def plan(self, make: Callable[[], Awaitable[J]]) -> J:
        """What *make* returns, as JSON; in a later attempt, what it returned in the first."""
        entry = self._journal.recorded("")
        if entry is None:
            # Through JSON even now, so that a first attempt works with what a later one will be given.
            entry = self._journal.append(JournalEntry("", from_json(encode_json(await make()))))
        planned: J = entry.value
        return planned

    async def step(self, step: WriteStep[Any], intent: StepInput) -> StepResult:
        """Carry out one step, unless the journal or a look upstream shows that it was done."""
        entry = self._journal.recorded(step.name)
        if entry is None:
            mark = "" if step.object_kind else self._mark(step.name, self._writing.database.time())
            entry = self._journal.append(JournalEntry(step.name, self._kept(intent), mark))
        if entry.refusal is not None:
            self._journal.require_last(entry.refusal)
        if entry.learned is None and not entry.restored:
            await self._suspect(step, entry)
        if entry.in_doubt:
            entry.learned = await self._writing.evidence.resolve(self.work, step, entry)
            if entry.learned is None:
                await self._require_unchanged(step, entry)
                if not entry.restored:
                    self._settled.append({SENT_AGAIN: step.name})
            else:
                self._settled.append(_found_by(step))
                self._note_change(step, entry)
        if entry.learned is None:
            await self._intend(step, entry)
            entry.learned = await self._send(step, entry)
            self._note_change(step, entry)
            if step.object_kind:
                self._unowned += zip(entry.rows, step.object_ids(entry.learned), strict=True)
        self._standing.append({"done": step.name, **step.public_result(entry.learned)})
        return entry.learned

    def _mark(self, name: str, at: float) -> str:
        """The mark of a step; with a key the same for whoever sends it within the day, however often that begins."""
        if self._claim is None:
            return ulid()
        return mark_of(self._claim, name, sum(entry.name == name for entry in self._journal.entries), at)

    async def _suspect(self, step: WriteStep[Any], entry: JournalEntry) -> None:
        """Put a step in doubt that may have been sent in a time that the database has lost."""
        lost = self._writing.restores.lost
        if lost is None or self._claim is None or self._undoing or (entry.sent_at or 0.0) > lost.until:
            return
        # A step that was in doubt already when the backup was made may have ended since, and others may have followed.
        before, settles_at = (entry.sent_at, entry.settles_at), lost.until + self.work.call.settle_seconds
        entry.restored, entry.in_doubt_before, entry.refusal = True, entry.sent_at is not None, None
        entry.sent_at = lost.since if entry.sent_at is None else min(entry.sent_at, lost.since)
        entry.settles_at = max(entry.settles_at, settles_at)
        if entry.mark:
            number = sum(other.name == step.name for other in self._journal.past[:-1])
            days = range(int(lost.since // DAY_SECONDS), int(self._writing.database.time() // DAY_SECONDS) + 1)
            entry.marks = [mark_of(self._claim, step.name, number, day * DAY_SECONDS) for day in days]
            entry.marks += [entry.mark] if entry.mark not in entry.marks else []
        try:
            await self._record(step, entry)
        except BaseException:
            (entry.sent_at, entry.settles_at), entry.restored = before, False
            raise

    def _note_change(self, step: WriteStep[Any], entry: JournalEntry) -> None:
        """Record which objects a step has changed, with the next commit."""
        if names := step.changes(entry.value):
            scope, run_id = scope_of(self.work, step, entry.value), self.work.run.run_id
            # Steps that make something have no mark; their entry's first row is as good.
            mark = entry.mark or entry.rows[0]
            self._changed += self._writing.change_log.records(scope, names, mark, run_id)

    async def _require_unchanged(self, step: WriteStep[Any], entry: JournalEntry) -> None:
        """Refuse to send a step again over what another call has changed since."""
        names = () if step.object_kind else step.changes(entry.value)
        if not names:
            return
        if entry.in_doubt_before:
            raise OutcomeUnknown(
                "This change was in doubt when the database was backed up, and was lost with what followed; whether it"
                " was carried out is not known, and it was not sent again.",
                {"restored": True},
                remedy=READ_FIRST,
            )
        marks = [one.mark for one in self._journal.entries]
        later = await self._writing.change_log.later(
            scope_of(self.work, step, entry.value),
            names,
            entry.sent_at or 0.0,
            marks,
            self.work.connection.workspace_id,
        )
        if later is not None:
            named = {} if later.run_id is None else {"run_id": later.run_id}
            raise OutcomeUnknown(
                "The object was changed by another call since; whether this change was carried out before is not known,"
                " and it was not sent again.",
                {"changed_since": True, **named},
                remedy=READ_FIRST,
            )

    def _kept(self, intent: StepInput) -> StepInput:
        """*intent* as a later attempt would read it from the journal; unchanged without a claim."""
        kept: StepInput = intent if self._claim is None else from_json(encode_json(intent))
        return kept

    async def try_step(self, step: WriteStep[Any], intent: StepInput) -> StepResult | None:
        """Carry out a step that the write can do without; None where it was refused, or has certainly failed."""
        try:
            return await self.step(step, intent)
        except GatewayError as error:
            entry = self._journal.past[-1]
            # Going on over a doubt could leave something half done that nobody is told of (decision 18).
            if self._lost or (entry.in_doubt and entry is not self._absent):
                raise
            entry.sent_at, entry.refusal = None, serialize_error(error)
            self.work.warnings.append(f"Not done: {step.name}. {message_with_reason(error)}")
            return None

    async def undo(self, step: WriteStep[Any], intent: StepInput) -> None:
        """Undo what was done, after a later step was refused; does nothing while any step is in doubt.

        If it succeeds, the key may be used again. Otherwise callers are told what was done.
        """
        if self._lost or any(entry.in_doubt for entry in self._journal.past):
            return
        # What is undone has been done by this attempt, whatever a database that was restored does not know.
        self._undoing = True
        with suppress(GatewayError):
            await self.step(step, intent)
            self._undone = len(self._journal.past)
            self._standing.clear()

    def record_casts(self, make: Callable[[], Iterable[Cast]]) -> None:
        """Do nothing: the result tells what was written."""

    async def adopt(self, step: WriteStep[Any], intent: StepInput, object_id: str) -> bool:
        """Own what an interrupted call left, and be seen to be under way: only without a key, and if no other may."""
        if self._claim is not None:
            return False
        owners, run_id = self._writing.owners, self.work.run.run_id
        (content,) = step.content_keys(intent)
        row = owners.row(
            f"{run_id}.0", scope_of(self.work, step, intent), step.object_kind, content, run_id, keyed=False
        )
        taken = await owners.adopt(row, object_id, self._recording.opening())
        self._recording.opened = self._recording.opened or taken
        return taken

    # How it ends

    async def finish(self, envelope: Envelope) -> None:
        """Commit the result, the owned objects and the run together; later, if storage is away now."""
        await self.before_first_request()
        self.work.run.succeed(envelope.status)
        self.work.run.details = self._settled or None
        claim, puts = self._claim, [*self._ownership(), *self._refused_rows()]
        done = None if claim is None else self._done(claim, envelope)
        if done is None and not puts:
            return
        try:
            await self._commit([*puts, *self._recording.closing()], done)
        except StorageUnavailable:
            self._finished = True
            self._eventually(puts, (), done)
            raise
        self._recording.closed = True
        self._wake()

    def _done(self, claim: Claim, envelope: Envelope) -> Put:
        """The statement that stores the result in the claim, encrypted."""
        sealed = self._writing.vault.seal_bytes(b"".join(map(bytes, envelope.data)), encryption_context(claim.name))
        return self._writing.claims.set_result(claim, envelope.status, sealed)

    def add_step_details(self, error: GatewayError) -> None:
        """Add to *error* which steps were done, and what to do about a doubt without a key."""
        error.details += self._standing[:MAX_REPORTED_STEPS]
        if self._claim is None and (error.doubt is not None or isinstance(error, OutcomeUnknown)):
            error.remedy, error.retry_after = CHECK_UPSTREAM_FIRST, None
        elif isinstance(error, OutcomeUnknown) and error.retry_after is None and self._is_restored:
            error.remedy = RESTORED

    @property
    def _is_restored(self) -> bool:
        """Whether a step is in doubt only because the database was restored."""
        return any(entry.restored and entry.in_doubt for entry in self._journal.entries)

    async def abandon(self) -> None:
        """Delete the claim if nothing was done under it; otherwise leave it for a repeat of the call."""
        learned, left, change = self._ownership(), self._rows_left(), self._claim_left()
        try:
            with suppress(IntegrityError):
                # What an equal write has taken for its own stays with it.
                await self._writing.database.put_all(learned, about=self.work.run.run_id)
            await self._writing.database.put_all(left, change, self.work.run.run_id)
        except BaseException as fault:
            self._eventually(learned, left, change)
            # Storage that is away takes it later; the caller is told what the call ended with.
            if not isinstance(fault, StorageUnavailable):
                raise
        self._wake()

    def abandon_in_background(self) -> None:
        """The same as ``leave``, but without waiting for the commit."""
        if any(entry.in_doubt for entry in self._journal.entries):
            cut_off = OutcomeUnknown(
                "This service had to stop before the application had answered.", doubt="interrupted"
            )
            self.add_step_details(cut_off)
            self._recording.in_doubt = cut_off
        self._eventually(self._ownership(), self._rows_left(), self._claim_left())

    def _eventually(self, learned: Sequence[Put], left: Sequence[Put] = (), change: Put | None = None) -> None:
        """Commit what was *learned*, and, if the claim is still held, its *change* together with *left*."""

        def own(writing: Transaction) -> None:
            put_all(writing, learned)

        def commit(writing: Transaction) -> None:
            if change is None or execute(writing, *change):
                put_all(writing, left)

        self._writing.database.write_deferred(own, about=self.work.run.run_id)
        self._writing.database.write_deferred(commit, self._wake, self.work.run.run_id)

    def _claim_left(self) -> Put | None:
        """The statement that deletes the claim or leaves it in doubt; None without one, or if the result is stored."""
        claim, claims = self._claim, self._writing.claims
        if claim is None or self._finished or not self.taken:
            return None
        if not any(entry.may_have_taken_effect for entry in self._journal.entries[self._undone :]):
            return claims.delete(claim)
        settles_at = max([entry.settles_at for entry in self._journal.entries if entry.in_doubt], default=0.0)
        return claims.mark_in_doubt(claim, self._journal.encrypt(self._writing.vault, claim), settles_at)

    def _rows_left(self) -> list[Put]:
        """Statements that keep the owner rows of what may have been made, and delete the others."""
        return [] if self._finished else self._doubtful_rows() + self._refused_rows()

    def _wake(self) -> None:
        if self._claim is not None and self.taken:
            self._writing.claims.wake(self._claim.name)

    # A step, before it is sent and after

    async def _intend(self, step: WriteStep[Any], entry: JournalEntry) -> None:
        """Store the step before it is sent, together with the run and the owner rows."""
        now = self._writing.database.time()
        entry.refusal = None
        first = entry.sent_at is None
        before = (entry.sent_at, entry.settles_at)
        entry.sent_at = now if first else entry.sent_at
        entry.settles_at = now + self.work.call.settle_seconds
        try:
            await self._record(step, entry)
        except BaseException:
            entry.sent_at, entry.settles_at = before
            raise

    async def _record(self, step: WriteStep[Any], entry: JournalEntry) -> None:
        """Store the journal with a step in doubt, together with the run and the owner rows."""
        rows = self._opened_rows(step, entry)
        puts = [*self._ownership(), *self._refused_rows(), *rows, *self._recording.opening()]
        if self._claim is None or self.taken:
            await self._commit(puts, None if self._claim is None else self._intention(self._claim))
        else:
            await self._begin(self._claim, puts)

    def _intention(self, claim: Claim) -> Put:
        return self._writing.claims.set_intent(
            claim, self._journal.encrypt(self._writing.vault, claim), self.work.call.settle_seconds
        )

    async def _begin(self, claim: Claim, puts: Sequence[Put]) -> None:
        """Take the claim together with the first intention; ``ClaimExists`` where another call has it."""
        sealed = self._journal.encrypt(self._writing.vault, claim)
        fence = self._writing.claims.insert_with_intent(claim, sealed, self.work.call.settle_seconds)
        # Before the commit: where its outcome is not known, the claim has to be let go.
        self._note_taken()
        if not await self._writing.database.put_all(puts, fence, self.work.run.run_id):
            self.taken = False
            raise ClaimExists
        self._writing.claims.hold(claim.name)
        self._recording.opened = True

    async def _send(self, step: WriteStep[Any], entry: JournalEntry) -> StepResult:
        """Send the step; if its outcome is in doubt, look for its work during the grace time before raising."""
        self.work.upstream.written_at = None
        try:
            return await step.send(self.work.call, entry.value, entry.mark)
        except GatewayError as error:
            # Here already: a room may put the reason of a refused step into its result.
            self.work.run.redaction.error(error)
            doubt = self._judge(entry, error.doubt)
            if doubt is None:
                error.doubt, entry.refusal = None, serialize_error(error)
                raise
            doubtful = error if error.doubt or isinstance(error, UpstreamError) else _unreadable(error, error.private)
            doubtful.doubt = doubt
        except Exception as fault:
            if self._judge(entry) is None:
                raise
            # A fault of ours after the sending is a doubt all the same: the request is out (decision 4).
            doubtful = _unreadable(fault, repr(fault))
        except BaseException:
            self._judge(entry)
            raise
        return await self._found(step, entry, doubtful)

    async def _found(self, step: WriteStep[Any], entry: JournalEntry, doubtful: GatewayError) -> StepResult:
        """Return what a step in doubt is proven to have done within the grace time; otherwise raise *doubtful*."""
        learned = None
        with suppress(GatewayError):
            await self._writing.database.put_all(self._doubtful_rows(), about=self.work.run.run_id)
            learned = await self._writing.evidence.resolve(self.work, step, entry)
            self._absent = entry
        if learned is None:
            raise self._undecided(entry, doubtful)
        self._settled.append(_found_by(step))
        return learned

    def _undecided(self, entry: JournalEntry, doubtful: GatewayError) -> GatewayError:
        """Return the error for a step in doubt of which nothing was found: *doubtful* itself if its work has ended."""
        rest = entry.settles_at - self._writing.database.time()
        if doubtful.doubt == "failed":
            doubtful.retry_after = 1
            return doubtful
        # The same code if the step has settled within the call, which depends on how busy this machine is.
        message = f"{doubtful.message} {until(entry.settles_at)}"
        return OutcomeUnknown(
            message,
            *doubtful.details,
            private=doubtful.private,
            retry_after=max(rest, 0.0),
            doubt=doubtful.doubt,
        )

    def _judge(self, entry: JournalEntry, told: InDoubtReason | None = None) -> InDoubtReason | None:
        """Decide whether the step just sent is in doubt, and until when; this is the only place that releases it.

        It is not if nothing was sent, or if the connector's table lists the response as one that proves that nothing
        was done. A client may add a doubt (*told*), and never take one away. The settle time counts from the sending;
        it is over if the application itself has ended its work.
        """
        upstream = self.work.upstream
        doubts = {told, upstream.doubt} - {None}
        if not doubts or upstream.written_at is None:
            entry.sent_at = None
            return None
        if doubts == {"failed"}:
            entry.settles_at = self._writing.database.time()
            return "failed"
        entry.settles_at = upstream.written_at + self.work.call.settle_seconds
        return told if told not in {None, "failed"} else upstream.doubt

    # Commits

    async def _commit(self, puts: Sequence[Put], fence: Put | None = None) -> None:
        """Commit *puts* together, if the claim is still held by this attempt."""
        try:
            held = await self._writing.database.put_all(puts, fence, self.work.run.run_id)
        except IntegrityError:
            held = await self._commit_without_owner(puts, fence)
        if not held:
            self._lost = True
            raise in_progress()
        self._unowned.clear()
        self._changed.clear()
        self._forgotten.clear()
        self._recording.opened = True

    async def _commit_without_owner(self, puts: Sequence[Put], fence: Put | None) -> bool:
        """Commit the rest, after an equal write took this write's object while this process stood still.

        Without a key the caller gets an error, so that no two callers are given one object. With a key, the claim was
        lost too.
        """
        log.error("an object has two owners", run_id=self.work.run.run_id)
        self._unowned.clear()
        if self._claim is None:
            raise OutcomeUnknown("What this call made was taken for the work of an equal call.", doubt="interrupted")
        rest = [put for put in puts if put[0] is not SETTLE]
        return await self._writing.database.put_all(rest, fence, self.work.run.run_id)

    def _ownership(self) -> list[Put]:
        """Statements that make this write the owner of the objects that answers told, and record its changes."""
        return [*(self._owned(row_id, object_id) for row_id, object_id in self._unowned), *self._changed]

    def _owned(self, row_id: str, object_id: str) -> Put:
        row = self._opened.get(row_id)
        if row is None:
            return OWN, {"_row_id": row_id, "_upstream_id": object_id}
        return SETTLE, row | {"upstream_id": object_id, "process_id": None}

    def _opened_rows(self, step: WriteStep[Any], entry: JournalEntry) -> list[Put]:
        """Statements that insert the owner rows of what is about to be made."""
        if not step.object_kind:
            return []
        owners, run_id = self._writing.owners, self.work.run.run_id
        if entry.rows:
            return [(REOPEN, owners.reopened(row, run_id)) for row in entry.rows]
        keyed = self._claim is not None
        scope, contents = scope_of(self.work, step, entry.value), step.content_keys(entry.value)
        rows = [
            owners.row(f"{run_id}.{len(self._opened) + number}", scope, step.object_kind, content, run_id, keyed=keyed)
            for number, content in enumerate(contents, 1)
        ]
        entry.rows = [row["row_id"] for row in rows]
        self._opened |= {row["row_id"]: row for row in rows}
        return [(OPEN, row) for row in rows]

    def _doubtful_rows(self) -> list[Put]:
        """Nobody will be told the identifier of what may have been made."""
        return [(LEAVE, {"_row_id": row}) for entry in self._journal.entries if entry.in_doubt for row in entry.rows]

    def _refused_rows(self) -> list[Put]:
        """Statements that delete the owner rows of what was certainly not made."""
        for entry in self._journal.entries:
            if not entry.may_have_taken_effect:
                self._forgotten += entry.rows
                entry.rows = []
        # Kept until a commit has succeeded: a row that is left looks like an equal write that is never done.
        return [(FORGET, {"_row_id": row}) for row in self._forgotten]


def _found_by(step: WriteStep[Any]) -> Mapping[str, str]:
    """Return the detail of a step that a search has proven to be done."""
    return {FOUND: f"the {step.object_kind}" if step.object_kind else step.name}


def mark_of(claim: Claim, name: str, number: int, at: float) -> str:
    """Return the mark of a step under a key: the *number*-th of its *name*, sent on the day of *at*."""
    told = "\n".join([*claim.name, name, str(number), str(int(at // DAY_SECONDS))])
    return hashlib.sha256(told.encode()).hexdigest()[:26]


def _unreadable(fault: Exception, private: str) -> OutcomeUnknown:
    """Return the error for a response to a write that does not show what became of it."""
    error = OutcomeUnknown(
        "The application answered in an unknown shape; whether it did the work is not known.",
        private=private,
        doubt="garbled",
    )
    error.__cause__ = fault
    return error
