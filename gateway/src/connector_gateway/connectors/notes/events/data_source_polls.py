"""Polls of one data source: edited pages and the changes of their properties."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec

from connector_gateway.connectors.notes import mapping, value_casts, vendor_models
from connector_gateway.connectors.notes.client import NotesClient
from connector_gateway.connectors.notes.events.data_source_state import (
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

PageSnapshot = Mapping[str, Any]
"""A snapshot, as JSON in our own format."""

MAX_NEW_PAGES = 100
"""Upstream pages of a new data source that one poll reads before it continues with other sources."""

MAX_READS = 3


@dataclass
class SourcePoller:
    """A poll of one data source."""

    watch: NotesWatch
    source: vendor_models.DataSource
    state: SourceState
    gap_recorded: bool = False
    """Whether a gap of unobserved changes was already recorded."""

    async def poll(self) -> bool:
        """Read the edited rows, then continue the first full read. Returns False if that gave way to deliveries."""
        if self.state.gone:
            await self.update_state(gone=False)
        if self.state.reached != "":
            await self.read_edited_rows()
        return self.state.reached is None or await self.read_all_rows()

    async def read_edited_rows(self) -> None:
        """Read the rows edited since the last poll that returned any."""
        # This poll may miss a row that is edited meanwhile, but the next one queries edits from now on. A row that
        # enters the trash moves others up, so one may slip to an upstream page that was already read. Several pages are
        # therefore read again until nothing from before this poll is new.
        began = self.watch.clock.now()
        since = minute_of(self.state.watermark) - OVERLAP_SECONDS
        condition = {
            "timestamp": "last_edited_time",
            "last_edited_time": {"on_or_after": utc_datetime(since).isoformat()},
        }
        for _ in range(MAX_READS):
            pages, may_have_moved = 0, False
            async for rows in self.watch.upstream.query_rows(self.source.id, condition, newest_first=True):
                if not rows:
                    await self.record_missed_edits(since, began)
                    continue
                edit_times = await self.commit_changes(rows, self.state)
                pages, may_have_moved = pages + 1, may_have_moved or any(at < minute_of(began) for at in edit_times)
            if pages <= 1 or not may_have_moved:
                break
        # If nothing was edited, the next poll can query from the same time.
        if pages:
            await self.update_state(watermark=began)

    async def read_all_rows(self) -> bool:
        """Continue the first full read of all rows, newest first. Returns False if deliveries announce changes."""
        previous_reached, began, pages = self.state.reached, self.watch.clock.now(), 0
        start = mapping.pages.parse_timestamp(previous_reached) if previous_reached else None
        async for rows in self.watch.upstream.query_rows(self.source.id, newest_first=True, reached=start):
            if not rows:
                await self.record_missed_edits(self.state.watermark, began)
                continue
            pages += 1
            reached = mapping.pages.to_timestamp(rows[-1].created_time)
            changes: dict[str, Any] = {"reached": reached}
            if not self.state.reached:
                # All later rows are on this page. A row that is not on it was created since.
                changes["since"] = self.new_since(rows[-1].created_time.timestamp() + MINUTE_SECONDS, began)
            await self.commit_changes(rows, replace(self.state, **changes))
            # The read can continue only from another minute than it began with.
            if reached != previous_reached and pages >= MAX_NEW_PAGES:
                self.watch.unfinished = True
                return True
            if reached != previous_reached and await self.watch.has_wakes():
                return False
        since = self.new_since(0.0, began) if not previous_reached and pages <= 1 else self.state.since
        await self.update_state(reached=None, since=since, unseen_from=None)
        return True

    def new_since(self, since: float, began: float) -> float:
        """Return the time from which on unknown rows are new.

        *since* is the creation time of the oldest row that was read, and *began* the start of the poll.
        """
        return min(self.state.since, max(since, minute_of(began) - OVERLAP_SECONDS))

    async def commit_changes(self, rows: Sequence[vendor_models.Page], new_state: SourceState) -> list[float]:
        """Commit the changes of *rows* together with *new_state*.

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
            changes, snapshot = _compare(self.source, page, before, self.state.since)
            if snapshot is not before:
                observations += changes
                snapshots.append(Snapshot(self.source.id, page.id, snapshot))
                edit_times.append(page.last_edited_time.timestamp())
        if new_state != self.state:
            snapshots.append(self.to_snapshot(new_state))
        if snapshots:
            await self.watch.commit(observations, snapshots)
        self.state = new_state
        return edit_times

    def was_edited_unseen(self, page: vendor_models.Page) -> bool:
        """Return True if an existing row may have been edited after the watch began but before it was first read."""
        began = self.state.unseen_from
        return began is not None and page.created_time.timestamp() < began <= page.last_edited_time.timestamp()

    async def warn_unseen_edits(self) -> None:
        """Record that rows were edited before their first snapshot."""
        if not self.gap_recorded and self.state.unseen_from is not None:
            self.gap_recorded = True
            title = value_casts.from_vendor.plain_text(self.source.title)
            reason = f"Pages of the data source {title!r} may have been edited before the watch read them first."
            await self.watch.record_gap(self.state.unseen_from, self.watch.clock.now(), reason)

    async def record_missed_edits(self, since: float, until: float) -> None:
        """Record once per range that more rows were created in a minute than the vendor lists."""
        if since >= self.state.missed:
            title = value_casts.from_vendor.plain_text(self.source.title)
            reason = f"More pages of the data source {title!r} were created in one minute than the vendor lists."
            await self.watch.record_gap(since, until, reason)
            await self.update_state(missed=until)

    async def update_state(self, **changes: Any) -> None:
        """Commit the changed state."""
        new_state = replace(self.state, **changes)
        if new_state != self.state:
            await self.watch.commit(snapshots=[self.to_snapshot(new_state)])
            self.state = new_state

    def to_snapshot(self, state: SourceState) -> Snapshot:
        """Return the snapshot of a state of the data source."""
        return Snapshot(SOURCES, self.source.id, asdict(state))


async def _complete_page(upstream: NotesClient, page: vendor_models.Page) -> vendor_models.Page:
    """Return a page with its truncated values read completely."""
    properties = dict(page.properties)
    for name, value in page.properties.items():
        if value_casts.from_vendor.is_truncated(value):
            items = [item async for item in upstream.retrieve_page_property(page.id, value.id)]
            properties[name] = value_casts.from_vendor.complete_value(value, items)
    return msgspec.structs.replace(page, properties=properties)


def _compare(
    source: vendor_models.DataSource, page: vendor_models.Page, before: PageSnapshot | None, since: float
) -> tuple[list[Observation], PageSnapshot]:
    """Return the changes of a page and its new snapshot, which is *before* itself if nothing changed."""
    values = mapping.property_changes.entries(page)
    if before is None:
        is_new = page.created_time.timestamp() >= since
        return [_created_event(page)] if is_new else [], {"changes": 0, "values": values}
    if values == before["values"]:
        return [], before
    changes = mapping.property_changes.changes(page, before["values"], source.properties)
    number = before["changes"] + bool(changes)
    return [_updated_event(source, page, number, change) for change in changes], {"changes": number, "values": values}


def _created_event(page: vendor_models.Page) -> Observation:
    data = {"page_id": page.id, "property": None, "from": None, "to": None}
    return Observation(("created", page.id), "page.created", data)


def _updated_event(
    source: vendor_models.DataSource, page: vendor_models.Page, number: int, change: mapping.property_changes.Change
) -> Observation:
    """Return a change. The *number* of the page's changes distinguishes it from one between the same values."""
    data = {"page_id": page.id, "property": change.name, "from": change.before, "to": change.after}
    identity = (source.id, page.id, change.property_id, str(number))
    return Observation(identity, "page.property_updated", data)
