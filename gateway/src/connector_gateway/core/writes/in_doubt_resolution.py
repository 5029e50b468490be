"""Evidence: the proof that an upstream object was created by a step in doubt.

Our own mark, an identifier in a response, or an object in the requested state is proof. An object that is only equal
to the requested one counts as a call's own if it was created since the step was sent, and no other call owns it or can
have created it.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from connector_gateway.core.calls.prepared_call import PreparedCall
from connector_gateway.core.writes.created_objects_by_write import CompetingWrites, CreatedObjectOwners
from connector_gateway.core.writes.write_journal import JournalEntry
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors import GatewayError, OutcomeUnknown
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.kit.models import format_timestamp
from connector_gateway.kit.write_steps import Match, SentStep, StepResult, WriteStep
from connector_gateway.storage.sql.database import Database

MARGIN_SECONDS = 2.0
"""Seconds by which an object may predate its step: ``Date`` headers have whole seconds, and responses take time."""

SEARCH_MARGIN_SECONDS = 120.0
"""Seconds by which clocks may differ in the filters of vendors' listings. The results are compared more closely."""

FIRST_BACKOFF_SECONDS = 0.5
"""Seconds between the first search and the second. Each further delay is twice as long."""

CHECK_BEFORE_REPEATING = "Check in {vendor} whether it took effect. If not, call again with another {idempotency_key}."
"""The remedy of a write in doubt that no search can resolve."""

MAX_CANDIDATES = 20
"""The maximum number of objects that an error lists."""


def settle_sentence(settles_at: float) -> str:
    """Return the sentence that states until when a step in doubt may still be carried out."""
    settled = format_timestamp(utc_datetime(settles_at))
    return f"It may still take effect until {settled}; if there is no effect by then, it was not carried out."


class InDoubtResolver:
    """Finds the objects that steps in doubt have created."""

    def __init__(self, database: Database, owners: CreatedObjectOwners, clock: Clock, grace_seconds: float) -> None:
        self._database = database
        self._owners = owners
        self._clock = clock
        self._grace_seconds = grace_seconds

    async def resolve(self, work: PreparedCall, step: WriteStep[Any], entry: JournalEntry) -> StepResult | None:
        """Return the result of a step in doubt, or None if it had no effect and can no longer have one.

        Searches immediately, and again at growing intervals within the grace time. Most steps in doubt settle within
        seconds, and a short wait serves the caller better than another call.
        Raises ``OutcomeUnknown`` if the step may still be carried out after the grace time, or has no search.
        """
        if step.find is None:
            raise OutcomeUnknown(
                "An earlier request of this call was sent. Nothing can prove its outcome, so it was not sent again.",
                remedy=CHECK_BEFORE_REPEATING,
                doubt="silent",
            )
        grace, delay = self._grace_seconds, FIRST_BACKOFF_SECONDS
        remaining = entry.settles_at - self._database.time()
        while remaining > 0 and grace > 0:
            with suppress(GatewayError):
                if (learned := await self._search(work, step, entry)) is not None:
                    return learned
            remaining = entry.settles_at - self._database.time()
            # The last search is at the end of the grace time, or of the settle time if that is sooner.
            delay = min(delay, remaining) if grace > 2 * delay else min(grace, remaining)
            await self._clock.sleep(max(0.0, delay))
            grace, remaining, delay = grace - delay, remaining - delay, 2 * delay
        learned = await self._search(work, step, entry)
        if learned is None and remaining > 0:
            raise OutcomeUnknown(
                "An earlier request of this call was sent, and its outcome is unknown."
                f" {settle_sentence(entry.settles_at)}",
                retry_after=remaining,
                doubt="silent",
            )
        return learned

    async def _search(self, work: PreparedCall, step: WriteStep[Any], entry: JournalEntry) -> StepResult | None:
        """Return the result of a step in doubt if a search proves it, otherwise None."""
        sent_at, upstream = entry.sent_at or 0.0, work.upstream
        assumed_skew = upstream.skew
        matches = await self._find_matches(work, step, entry, sent_at + assumed_skew)
        if abs(upstream.skew - assumed_skew) > SEARCH_MARGIN_SECONDS / 2:
            # The offset of the vendor's clock became known from the responses only.
            matches = await self._find_matches(work, step, entry, sent_at + upstream.skew)
        # The object has our mark or is in the requested state. That is enough, whichever call achieved it.
        if not step.object_kind:
            return step.merge_matches(matches) if matches else None
        since = sent_at + upstream.skew - MARGIN_SECONDS - step.creation_precision_seconds
        matches = [item for item in matches if item.created_at is None or item.created_at >= since]
        return await self._assign_matches(step, entry, matches, work.connection.workspace_id)

    @staticmethod
    async def _find_matches(
        work: PreparedCall, step: WriteStep[Any], entry: JournalEntry, sent_at: float
    ) -> Sequence[Match]:
        """Return what a step may have created since *sent_at*, a time of the vendor's clock."""
        if step.find is None:
            return []
        for mark in entry.marks or [entry.mark]:
            sent = SentStep(mark, sent_at - SEARCH_MARGIN_SECONDS, restored=entry.restored)
            matches = await step.find(work.ctx, entry.value, sent)
            if matches:
                return matches
        return []

    async def _assign_matches(
        self, step: WriteStep[Any], entry: JournalEntry, matches: Sequence[Match], workspace_id: WorkspaceId
    ) -> StepResult | None:
        """Assign the matches to this step and return its result, or None if there are no free matches."""
        for _ in range(len(matches) + 1):
            chosen = await self._choose_matches(step, entry, matches, workspace_id)
            if not chosen:
                return None
            rows = [(row, item.object_id) for row, item in zip(entry.rows, chosen, strict=True)]
            if await self._owners.assign(rows):
                return step.merge_matches(chosen)
            # An equal write in doubt has taken one of them meanwhile. This write may have created another one.
        raise self._ambiguous_error(entry, [])

    async def _choose_matches(
        self, step: WriteStep[Any], entry: JournalEntry, matches: Sequence[Match], workspace_id: WorkspaceId
    ) -> Sequence[Match]:
        """Return a free match for each content of this step, or nothing if there are none."""
        contents = step.content_keys(entry.value)
        chosen: list[Match] = []
        for slot, content in enumerate(contents):
            equal_rows = [row for row, other in zip(entry.rows, contents, strict=True) if other == content]
            free = await self._unowned_matches(
                entry, equal_rows, [item for item in matches if item.slot == slot], workspace_id
            )
            chosen += [item for item in free if item.object_id not in {other.object_id for other in chosen}][:1]
        if chosen and len(chosen) < len(contents):
            raise self._ambiguous_error(entry, chosen)
        return chosen

    async def _unowned_matches(
        self, entry: JournalEntry, equal_rows: Sequence[str], matches: Sequence[Match], workspace_id: WorkspaceId
    ) -> Sequence[Match]:
        """Return the matches without an owner.

        Raises ``OutcomeUnknown`` if their owner cannot be determined, or not yet.
        """
        if not matches:
            return matches
        rivals = await self._competing_writes(equal_rows, matches, workspace_id)
        free = [item for item in matches if item.object_id not in rivals.owned]
        expected = rivals.orphaned + len(equal_rows)
        # An equal object was created outside this gateway, perhaps by a person. The right one cannot be determined.
        if len(free) > expected:
            raise self._ambiguous_error(None, [] if rivals.from_other_workspaces else free)
        # Of equal writes in doubt, one may take an object of another, but not while its own request may still be
        # carried out: the other write would find nothing and send again, which creates one object too many.
        if free and rivals.orphaned and len(free) < expected and entry.settles_at > self._database.time():
            raise self._ambiguous_error(entry, [] if rivals.from_other_workspaces else free)
        return free

    async def _competing_writes(
        self, equal_rows: Sequence[str], matches: Sequence[Match], workspace_id: WorkspaceId
    ) -> CompetingWrites:
        """Return the other writes that may own one of the matches. Waits while an equal object is being created."""
        owners, grace_seconds = self._owners, self._grace_seconds
        object_ids = [item.object_id for item in matches]
        rivals = await owners.competing_writes(equal_rows, object_ids, workspace_id)
        if rivals.in_progress:
            await self._clock.sleep(grace_seconds)
            rivals = await owners.competing_writes(equal_rows, object_ids, workspace_id)
        if rivals.in_progress:
            raise OutcomeUnknown(
                "An equal object may be in creation, so it is unknown yet which one this call has created.",
                retry_after=grace_seconds,
            )
        return rivals

    def _ambiguous_error(self, entry: JournalEntry | None, matches: Sequence[Match]) -> OutcomeUnknown:
        """Return the error if the matches may belong to this call or to another.

        Objects of other workspaces are not named.
        """
        remaining = 0.0 if entry is None else entry.settles_at - self._database.time()
        is_permanent = entry is not None and entry.restored and remaining <= 0
        return OutcomeUnknown(
            "There are equal objects, and it is unknown which of them this call has created; nothing was sent again.",
            *([{"restored": True}] if is_permanent else []),
            *({"candidate": item.object_id} for item in matches[:MAX_CANDIDATES]),
            retry_after=remaining if remaining > 0 else None,
        )
