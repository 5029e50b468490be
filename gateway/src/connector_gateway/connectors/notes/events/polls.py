"""Polls of the shared data sources."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from connector_gateway.connectors.notes import vendor_models
from connector_gateway.connectors.notes.events.data_source_polls import SourcePoller
from connector_gateway.connectors.notes.events.data_source_state import (
    OVERLAP_SECONDS,
    SOURCES,
    NotesWatch,
    SourceState,
    began_at,
    initial_state,
    minute_of,
)
from connector_gateway.kit import errors
from connector_gateway.kit.events import FORMER, RENEWED_AT, Snapshot

RELIST_SECONDS = 600.0
"""Seconds after which data sources are listed again and the time is recorded."""

SOURCES_PER_POLL = 30
"""Data sources that one poll reads without a sign of change. The next poll continues with others."""

MAX_SEARCHED = 1000
"""Recently edited pages that are searched for signs of change."""

MAX_ERRORS = 3
"""Number of unreadable data sources that ends a poll, because the cause is then elsewhere."""

SOURCE_ERRORS = (
    errors.UpstreamError,
    errors.UpstreamForbidden,
    errors.UpstreamRefused,
    errors.UpstreamTimeout,
    errors.UpstreamUnexpected,
)
"""Errors that may concern one data source while others can be read."""


async def poll(watch: NotesWatch) -> None:
    """Poll the shared data sources, or only those that deliveries named."""
    if "user_id" not in watch.state:
        await _begin(watch)
    poll_pass = PollPass(watch)
    # The data sources of deliveries come first, because callers wait for these changes.
    await poll_pass.poll_sources(watch.wakes)
    if watch.polls_everything:
        # The vendor floors times to the minute and its search lags, so the windows overlap to miss nothing.
        since = minute_of(watch.state.get("listed_at", began_at(watch))) - OVERLAP_SECONDS
        await poll_pass.list_sources()
        await poll_pass.poll_sources(await _find_edited_sources(watch, since))
        await poll_pass.poll_in_rotation()
    if poll_pass.errors_raised:
        raise poll_pass.errors_raised[0]


async def _begin(watch: NotesWatch) -> None:
    """Identify the account, and continue with the former state if the account is the same."""
    me, skew = await watch.upstream.introduce(watch.clock.now())
    state = watch.state.get(FORMER, {})
    if state.get("user_id") != me.id:
        state = {"user_id": me.id, "began_at": watch.state.get(RENEWED_AT, watch.behind_since)}
    await watch.commit(state={**state, "ahead": skew}, account=me.id)


async def _find_edited_sources(watch: NotesWatch, since: float) -> Sequence[str]:
    """Return data sources with pages edited *since*, as far as the search lists them.

    Returns none if all data sources are polled anyway.
    """
    snapshots = await watch.snapshots(SOURCES)
    # All of them are polled anyway, so a search would add nothing.
    if len(snapshots) <= SOURCES_PER_POLL:
        return []
    source_ids: dict[str, None] = {}
    count = 0
    async for page in watch.upstream.search_pages():
        count += 1
        if page.last_edited_time.timestamp() < since or count > MAX_SEARCHED:
            break
        source_ids[page.parent.data_source_id or ""] = None
    return [source_id for source_id in source_ids if source_id in snapshots]


@dataclass
class PollPass:
    """One poll of the data sources, one after the other."""

    watch: NotesWatch
    listed: dict[str, vendor_models.DataSource] = field(default_factory=dict)
    polled: set[str] = field(default_factory=set)
    errors_raised: list[errors.GatewayError] = field(default_factory=list)

    async def list_sources(self) -> None:
        """List the shared data sources and store the initial state of new ones."""
        watch, now = self.watch, self.watch.clock.now()
        async for source in watch.upstream.search_data_sources():
            if not source.in_trash:
                self.listed[source.id] = source
        existing = await watch.snapshots(SOURCES, self.listed)
        new_sources = [source for source_id, source in self.listed.items() if source_id not in existing]
        if new_sources or now > watch.state.get("listed_at", 0.0) + RELIST_SECONDS:
            snapshots = [Snapshot(SOURCES, source.id, asdict(initial_state(watch, source))) for source in new_sources]
            await watch.commit(snapshots=snapshots, state={**watch.state, "listed_at": now})

    async def poll_in_rotation(self) -> None:
        """Poll the data sources that are not fully read yet, and a limited number of others in rotation."""
        watch, snapshots = self.watch, await self.watch.snapshots(SOURCES)
        unfinished = [source_id for source_id in self.listed if snapshots[source_id]["reached"] is not None]
        for remaining, source_id in zip(range(len(unfinished) - 1, -1, -1), unfinished, strict=True):
            await self.poll_sources([source_id])
            await watch.progress(len(self.listed) - remaining, len(self.listed))
        others = sorted(name for name, snapshot in snapshots.items() if name in self.listed or not snapshot["gone"])
        first = bisect_right(others, watch.state.get("turn", ""))
        selected = [*others[first:], *others[:first]][:SOURCES_PER_POLL]
        if len(selected) < len(others):
            await watch.commit(state={**watch.state, "turn": selected[-1]})
        await self.poll_sources(selected)

    async def poll_sources(self, source_ids: Iterable[str]) -> None:
        """Poll each data source once, and in between those that new deliveries name."""
        for source_id in source_ids:
            if source_id not in self.polled:
                await self.poll_source(source_id)
                for wake in await self.watch.take_wakes():
                    await self.poll_source(wake)

    async def poll_source(self, source_id: str) -> None:
        """Poll one data source. An error is collected and raised after the others were polled."""
        self.polled.add(source_id)
        try:
            await _poll_source(self.watch, source_id, self.listed.get(source_id))
        except SOURCE_ERRORS as error:
            self.errors_raised.append(error)
            # One failure may be specific to its data source. Several mean that the vendor is unavailable.
            if len(self.errors_raised) == MAX_ERRORS:
                raise


async def _poll_source(watch: NotesWatch, source_id: str, listed: vendor_models.DataSource | None) -> None:
    """Poll one data source, unless it is no longer shared."""
    snapshot = (await watch.snapshots(SOURCES, [source_id])).get(source_id)
    try:
        source = listed or await watch.upstream.retrieve_data_source(source_id)
        if not source.in_trash:
            await SourcePoller(
                watch, source, SourceState(**snapshot) if snapshot else initial_state(watch, source)
            ).poll()
            return
    except errors.DatabaseNotShared:
        pass
    if snapshot:
        await watch.commit(snapshots=[Snapshot(SOURCES, source_id, {**snapshot, "gone": True})])
