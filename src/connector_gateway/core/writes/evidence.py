"""Evidence: decides whether something found upstream is the work of a step in doubt.

A mark of ours, an identifier that was told, or a state that is as wanted proves it. An object that is only equal counts
as a call's own if it was made since, and no other call owns it or can have made it.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from connector_gateway.core.calls.prepared_operation import PreparedOperation
from connector_gateway.core.writes.journal import JournalEntry
from connector_gateway.core.writes.ownership import CompetingWrites, ObjectOwnership
from connector_gateway.kit.clock import Clock, utc_datetime
from connector_gateway.kit.errors import GatewayError, OutcomeUnknown
from connector_gateway.kit.identifiers import WorkspaceId
from connector_gateway.kit.shapes import format_timestamp
from connector_gateway.kit.write_steps import Match, SentStep, StepResult, WriteStep
from connector_gateway.storage.sql.database import Database

MARGIN_SECONDS = 2.0
"""How far an object's instant may lie before its step was sent: a ``Date`` tells whole seconds, and is on its way."""

SEARCH_MARGIN_SECONDS = 120.0
"""How far clocks may differ, for the filters of vendors' listings; what they let through is compared more closely."""

FIRST_PAUSE_SECONDS = 0.5
"""How long after the first search the second one follows; each further pause is twice as long."""

MAX_CANDIDATES = 20
"""Objects that a refusal names."""


def until(settles_at: float) -> str:
    """Return the sentence that says until when a step in doubt may still be carried out."""
    settled = format_timestamp(utc_datetime(settles_at))
    return f"It may still be carried out until {settled}; what is not there then was not done."


class EvidenceFinder:
    """Finds out what steps in doubt have made."""

    def __init__(self, database: Database, owners: ObjectOwnership, clock: Clock, grace_seconds: float) -> None:
        self._database = database
        self._owners = owners
        self._clock = clock
        self._grace_seconds = grace_seconds

    async def resolve(self, work: PreparedOperation, step: WriteStep[Any], entry: JournalEntry) -> StepResult | None:
        """Return what a step in doubt has made; None if it has made nothing and can no longer do so.

        Searches at once, and again at growing intervals within the grace time: most doubts end within seconds, and a
        caller is better served by a short wait than by having to call again. Raises ``OutcomeUnknown`` if the step may
        still be carried out then.
        """
        grace, pause = self._grace_seconds, FIRST_PAUSE_SECONDS
        rest = entry.settles_at - self._database.time()
        while rest > 0 and grace > 0:
            with suppress(GatewayError):
                if (learned := await self._look(work, step, entry)) is not None:
                    return learned
            rest = entry.settles_at - self._database.time()
            # The last search comes at the end of the grace time, or of the settle time if that is sooner.
            pause = min(pause, rest) if grace > 2 * pause else min(grace, rest)
            await self._clock.sleep(max(0.0, pause))
            grace, rest, pause = grace - pause, rest - pause, 2 * pause
        learned = await self._look(work, step, entry)
        if learned is None and rest > 0:
            raise OutcomeUnknown(
                f"An earlier request of this call was sent, and its outcome is not known. {until(entry.settles_at)}",
                retry_after=rest,
                doubt="silent",
            )
        return learned

    async def _look(self, work: PreparedOperation, step: WriteStep[Any], entry: JournalEntry) -> StepResult | None:
        """What a step in doubt has provably made; None if nothing was found."""
        sent_at, upstream = entry.sent_at or 0.0, work.upstream
        supposed = upstream.skew
        found = await self._found(work, step, entry, sent_at + supposed)
        if abs(upstream.skew - supposed) > SEARCH_MARGIN_SECONDS / 2:
            # Only the answers have told how far the vendor's clock is from ours.
            found = await self._found(work, step, entry, sent_at + upstream.skew)
        # It bears our mark, or is as it should be: that proves enough, whoever made it so (decision 4).
        if not step.object_kind:
            return step.merge_matches(found) if found else None
        since = sent_at + upstream.skew - MARGIN_SECONDS - step.made_within_seconds
        found = [item for item in found if item.made_at is None or item.made_at >= since]
        return await self._claimed(step, entry, found, work.connection.workspace_id)

    @staticmethod
    async def _found(
        work: PreparedOperation, step: WriteStep[Any], entry: JournalEntry, sent_at: float
    ) -> Sequence[Match]:
        """What a step may have made since *sent_at*, by the vendor's clock."""
        for mark in entry.marks or [entry.mark]:
            sought = SentStep(mark, sent_at - SEARCH_MARGIN_SECONDS, restored=entry.restored)
            found = await step.find(work.call, entry.value, sought)
            if found:
                return found
        return []

    async def _claimed(
        self, step: WriteStep[Any], entry: JournalEntry, found: Sequence[Match], workspace_id: WorkspaceId
    ) -> StepResult | None:
        """What was learned of the found objects, once they are owned by this step: no other call can have made them."""
        contents = step.content_keys(entry.value)
        chosen: list[Match] = []
        for slot, content in enumerate(contents):
            alike = [row for row, other in zip(entry.rows, contents, strict=True) if other == content]
            free = await self._free(entry, alike, [item for item in found if item.slot == slot], workspace_id)
            chosen += [item for item in free if item.object_id not in {other.object_id for other in chosen}][:1]
        if not chosen:
            return None
        if len(chosen) < len(contents):
            raise self._ambiguous(entry, chosen)
        rows = [(row, item.object_id) for row, item in zip(entry.rows, chosen, strict=True)]
        return step.merge_matches(chosen) if await self._owners.assign(rows) else None

    async def _free(
        self, entry: JournalEntry, alike: Sequence[str], found: Sequence[Match], workspace_id: WorkspaceId
    ) -> Sequence[Match]:
        """The found objects without an owner; ``OutcomeUnknown`` if it cannot be told yet whose they are, or at all."""
        if not found:
            return found
        rivals = await self._rivals(alike, found, workspace_id)
        free = [item for item in found if item.object_id not in rivals.owned]
        expected = rivals.left + len(alike)
        # Somebody whom nobody here knows has made one as well, maybe a person. Taking any would be a guess.
        if len(free) > expected:
            raise self._ambiguous(None, [] if rivals.foreign else free)
        # Of equal writes in doubt, one may take what another has made. While its own request may still be carried out
        # it may not: the other would find nothing and send again, which makes one too many.
        if free and rivals.left and len(free) < expected and entry.settles_at > self._database.time():
            raise self._ambiguous(entry, [] if rivals.foreign else free)
        return free

    async def _rivals(self, alike: Sequence[str], found: Sequence[Match], workspace_id: WorkspaceId) -> CompetingWrites:
        """Which other writes may own one of *found*; waits while an equal object is being made."""
        owners, grace_seconds = self._owners, self._grace_seconds
        object_ids = [item.object_id for item in found]
        rivals = await owners.rivals(alike, object_ids, workspace_id)
        if rivals.under_way:
            await self._clock.sleep(grace_seconds)
            rivals = await owners.rivals(alike, object_ids, workspace_id)
        if rivals.under_way:
            raise OutcomeUnknown(
                "An equal object may still be in the making, so it is not known yet which one this call has made.",
                retry_after=grace_seconds,
            )
        return rivals

    def _ambiguous(self, entry: JournalEntry | None, found: Sequence[Match]) -> OutcomeUnknown:
        """The error if the found objects may be this call's or another's; those of other workspaces are not named."""
        rest = 0.0 if entry is None else entry.settles_at - self._database.time()
        return OutcomeUnknown(
            "There are equal objects, and it is not known which of them this call has made; nothing was sent again.",
            *({"candidate": item.object_id} for item in found[:MAX_CANDIDATES]),
            retry_after=rest if rest > 0 else None,
        )
