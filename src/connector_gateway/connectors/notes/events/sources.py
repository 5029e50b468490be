"""Polls of one data source: edited pages and the changes of their properties."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec

from connector_gateway.connectors.notes import casts, mapping, wire
from connector_gateway.connectors.notes.client import NotesClient
from connector_gateway.connectors.notes.events.source_state import (
    MINUTE_SECONDS,
    OVERLAP_SECONDS,
    SOURCES,
    NotesWatch,
    SourceState,
    minute_of,
)
from connector_gateway.kit.clock import utc_datetime
from connector_gateway.kit.errors import PageNotFound
from connector_gateway.kit.events import Observation, Snapshot

Kept = Mapping[str, Any]
"""A snapshot, as JSON in our own format."""

PAGES_AT_ONCE = 100
"""Upstream pages of a new data source that one poll reads before it continues with other sources."""

MAX_WALKS = 3


@dataclass
class SourcePoller:
    """A poll of one data source."""

    watch: NotesWatch
    source: wire.DataSource
    known: SourceState
    told: bool = False
    """Whether a gap of unobserved changes was already recorded."""

    async def poll(self) -> None:
        """Read the edited rows, then continue the first full read."""
        if self.known.gone:
            await self.remember(gone=False)
        if self.known.reached != "":
            await self.follow()
        if self.known.reached is not None:
            await self.discover()

    async def follow(self) -> None:
        """Read the rows edited since the last poll that returned any."""
        # This poll may miss a row that is edited meanwhile, but the next one queries edits from now on. A row that
        # enters the trash moves others up, so one may slip to an upstream page that was already read. Several pages are
        # therefore read again until nothing from before this poll is new.
        began = self.watch.clock.now()
        since = minute_of(self.known.watermark) - OVERLAP_SECONDS
        condition = {
            "timestamp": "last_edited_time",
            "last_edited_time": {"on_or_after": utc_datetime(since).isoformat()},
        }
        for _ in range(MAX_WALKS):
            pages, may_have_moved = 0, False
            async for rows in self.watch.upstream.rows(self.source.id, condition, newest_first=True):
                if not rows:
                    await self.miss(since, began)
                    continue
                edit_times = await self.commit_changes(rows, self.known)
                pages, may_have_moved = pages + 1, may_have_moved or any(at < minute_of(began) for at in edit_times)
            if pages <= 1 or not may_have_moved:
                break
        # If nothing was edited, the next poll can query from the same time.
        if pages:
            await self.remember(watermark=began)

    async def discover(self) -> None:
        """Continue the first full read of all rows, newest first."""
        previous_reached, began, pages = self.known.reached, self.watch.clock.now(), 0
        start = mapping.pages.instant(previous_reached) if previous_reached else None
        async for rows in self.watch.upstream.rows(self.source.id, newest_first=True, reached=start):
            if not rows:
                await self.miss(self.known.watermark, began)
                continue
            pages += 1
            reached = mapping.pages.stamp(rows[-1].created_time)
            changes: dict[str, Any] = {"reached": reached}
            if not self.known.reached:
                # All later rows are on this page. A row that is not on it was created since.
                changes["since"] = self.earliest(rows[-1].created_time.timestamp() + MINUTE_SECONDS, began)
            await self.commit_changes(rows, replace(self.known, **changes))
            if pages >= PAGES_AT_ONCE and reached != previous_reached:
                self.watch.unfinished = True
                return
        since = self.earliest(0.0, began) if not previous_reached and pages <= 1 else self.known.since
        await self.remember(reached=None, since=since, unseen_from=None)

    def earliest(self, since: float, began: float) -> float:
        """Return the time from which on unknown rows are new.

        *since* is the creation time of the oldest row that was read, and *began* the start of the poll.
        """
        return min(self.known.since, max(since, minute_of(began) - OVERLAP_SECONDS))

    async def commit_changes(self, rows: Sequence[wire.Page], known: SourceState) -> list[float]:
        """Commit the changes of *rows* together with the new state *known*.

        Returns the edit times of the rows that changed.
        """
        pages = await self.watch.snapshots(self.source.id, [row.id for row in rows])
        observations: list[Observation] = []
        snapshots: list[Snapshot] = []
        edit_times: list[float] = []
        for row in sorted(rows, key=lambda row: (row.last_edited_time, row.created_time)):
            try:
                page = await _complete_page(self.watch.upstream, row)
            except PageNotFound:
                continue
            if page.id not in pages and self.was_edited_unseen(page):
                await self.warn_unseen_edits()
            before = pages.get(page.id)
            changes, snapshot = _compare(self.source, page, before, self.known.since)
            if snapshot is not before:
                observations += changes
                snapshots.append(Snapshot(self.source.id, page.id, snapshot))
                edit_times.append(page.last_edited_time.timestamp())
        if known != self.known:
            snapshots.append(self.note(known))
        if snapshots:
            await self.watch.commit(observations, snapshots)
        self.known = known
        return edit_times

    def was_edited_unseen(self, page: wire.Page) -> bool:
        """Return True if an existing row may have been edited after the watch began but before it was first read."""
        began = self.known.unseen_from
        return began is not None and page.created_time.timestamp() < began <= page.last_edited_time.timestamp()

    async def warn_unseen_edits(self) -> None:
        """Record that rows were edited before their first snapshot."""
        if not self.told and self.known.unseen_from is not None:
            self.told = True
            title = casts.from_vendor.plain_text(self.source.title)
            reason = (
                f"Pages of the data source {title!r} were edited about when the watch began, before they were read."
            )
            await self.watch.record_gap(self.known.unseen_from, self.watch.clock.now(), reason)

    async def miss(self, since: float, until: float) -> None:
        """Record once per range that more rows were created in a minute than the vendor lists."""
        if since >= self.known.missed:
            title = casts.from_vendor.plain_text(self.source.title)
            reason = f"More pages of the data source {title!r} were created in one minute than the application lists."
            await self.watch.record_gap(since, until, reason)
            await self.remember(missed=until)

    async def remember(self, **changes: Any) -> None:
        """Commit the changed state."""
        known = replace(self.known, **changes)
        if known != self.known:
            await self.watch.commit(snapshots=[self.note(known)])
            self.known = known

    def note(self, known: SourceState) -> Snapshot:
        """Return the snapshot of the data source's state *known*."""
        return Snapshot(SOURCES, self.source.id, asdict(known))


async def _complete_page(upstream: NotesClient, page: wire.Page) -> wire.Page:
    """Return a page with its truncated values read completely."""
    properties = dict(page.properties)
    for name, value in page.properties.items():
        if casts.from_vendor.truncated(value):
            items = [item async for item in upstream.retrieve_page_property(page.id, value.id)]
            properties[name] = casts.from_vendor.completed(value, items)
    return msgspec.structs.replace(page, properties=properties)


def _compare(
    source: wire.DataSource, page: wire.Page, before: Kept | None, since: float
) -> tuple[list[Observation], Kept]:
    """Return the changes of a page and its new snapshot, which is *before* itself if nothing changed."""
    values = mapping.changes.entries(page)
    if before is None:
        is_new = page.created_time.timestamp() >= since
        return [_created_event(page)] if is_new else [], {"changes": 0, "values": values}
    if values == before["values"]:
        return [], before
    changes = mapping.changes.changes(page, before["values"], source.properties)
    number = before["changes"] + bool(changes)
    return [_updated_event(source, page, number, change) for change in changes], {"changes": number, "values": values}


def _created_event(page: wire.Page) -> Observation:
    data = {"page_id": page.id, "property": None, "from": None, "to": None}
    return Observation(("created", page.id), "page.created", data)


def _updated_event(
    source: wire.DataSource, page: wire.Page, number: int, change: mapping.changes.Change
) -> Observation:
    """Return a change. The *number* of the page's changes distinguishes it from one between the same values."""
    data = {"page_id": page.id, "property": change.name, "from": change.before, "to": change.after}
    identity = (source.id, page.id, change.property_id, str(number))
    return Observation(identity, "page.property_updated", data)
