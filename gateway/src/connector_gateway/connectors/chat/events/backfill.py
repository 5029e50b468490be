"""Reads the history of the watched channels in ranges and stores them one after the other."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from connector_gateway.connectors.chat import mapping, vendor_models
from connector_gateway.connectors.chat.client import ChatClient, Scopes
from connector_gateway.connectors.chat.events.inbound_hooks import REDELIVERY_SECONDS
from connector_gateway.kit import errors
from connector_gateway.kit.events import CHANGED_AT, Observation, PollContext, Snapshot

ChatWatch = PollContext[ChatClient]

ObservationsByMessage = dict[str, Sequence[Observation]]
"""Observations by message identifier. Identifiers sort by time."""

SKEW_SECONDS = 60.0
"""Seconds by which the vendor's clock may differ from ours without being corrected."""

MAX_BACKFILL_SECONDS = 20 * 60.0
"""Maximum seconds of reading per poll. The rest is recorded as a gap."""

OBSERVATIONS_PER_COMMIT = 500
"""Observations per commit."""

ACTIVE_CHANNELS = 30
"""Channels with the latest messages that every poll reads first, however many others wait.

The vendor allows 50 channels a minute, so a poll of a large workspace takes minutes.
"""

ACTIVE = "active"
"""Scope and name of the snapshot with the times of the latest messages of the active channels."""

READ_UNTIL = "seen"
"""The scope of snapshots with the time up to which a channel was read, while others are unfinished."""

WATCHED_SINCE = "watched"
"""The scope of snapshots with the time from which a channel is watched."""

UNREADABLE = (
    errors.ChannelNotFound,
    errors.ConnectionScopeMissing,
    errors.NotInChannel,
    errors.UpstreamForbidden,
    errors.UpstreamRefused,
    errors.UpstreamUnexpected,
)
"""Errors that concern one channel only."""


@dataclass(frozen=True, slots=True)
class HistoryRange:
    """The part of a channel's history that one poll reads."""

    channel_id: str
    since: float
    began: float
    after: str
    """The message identifier for *since*, or slightly earlier because clocks differ."""

    threads: list[str] = field(default_factory=list)
    """Threads with replies."""


@dataclass
class HistoryBackfill:
    """Reads the history since deliveries may have been missed, and stores the same events as deliveries.

    It records the time up to which each channel was read, so that the next poll continues there after an interruption.
    The records are deleted when all channels are finished.
    """

    watch: ChatWatch
    state: Mapping[str, Any]
    since: float
    began: float = field(init=False)
    unreadable: list[str] = field(default_factory=list)
    """Channels that the app cannot read."""

    watched: Mapping[str, float] = field(default_factory=dict)
    """Time from which each channel is watched."""

    active: Mapping[str, float] = field(default_factory=dict)
    """Time of the latest message of the active channels."""

    active_stored: Mapping[str, float] = field(default_factory=dict)
    channels_read: int = 0
    hides_threads: bool = False
    """Whether a channel has older messages than those read. Replies to them are not seen."""

    def __post_init__(self) -> None:
        self.began = self.watch.clock.now()

    async def run(self, scopes: Scopes) -> None:
        """Read every watched channel and its threads: the active ones, then the others, the longest waiting first."""
        read_until = await self.watch.snapshots(READ_UNTIL)
        channels = await self._channels(scopes)
        self.watched = await self._load_watch_starts(channels)
        since = {channel_id: read_until.get(channel_id, self.since) for channel_id in channels}
        first = await self._find_active(since)
        others = sorted((channel_id for channel_id in since if channel_id not in first), key=since.__getitem__)
        late: dict[str, float] = {}
        for group in (first, others):
            late |= await self._backfill(group, since)
        await self._record_gaps(late)
        await self._delete_progress({*read_until, *channels} - late.keys(), late)

    async def _find_active(self, channels: Collection[str]) -> Sequence[str]:
        """Return the channels with the latest messages, by earlier polls and by the events that deliveries carried."""
        stored = await self.watch.snapshots(ACTIVE)
        self.active = self.active_stored = stored.get(ACTIVE, {})
        latest = {**self.active}
        for channel_id, at in (await self.watch.latest_events()).items():
            latest[channel_id] = max(at, latest.get(channel_id, 0.0))
        known = [channel_id for channel_id in channels if channel_id in latest]
        return sorted(known, key=latest.__getitem__, reverse=True)[:ACTIVE_CHANNELS]

    async def _backfill(self, channels: Collection[str], since: Mapping[str, float]) -> Mapping[str, float]:
        """Read channels and then their threads. Returns the start of those for which no time was left."""
        ranges: list[HistoryRange] = []
        late: dict[str, float] = {}
        for channel_id in channels:
            if self._is_late():
                late[channel_id] = since[channel_id]
            else:
                ranges.append(await self._backfill_channel(channel_id, since[channel_id]))
                self.channels_read += 1
                await self.watch.progress(self.channels_read, len(since))
        for history_range in ranges:
            await self._backfill_threads(history_range)
        return late

    async def _delete_progress(self, done: Collection[str], late: Mapping[str, float]) -> None:
        """Delete the records of finished channels. Late channels are recorded for the next poll."""
        notes = {**dict.fromkeys(done), **late}
        await self.watch.commit(
            snapshots=[
                *(Snapshot(READ_UNTIL, channel_id, instant) for channel_id, instant in notes.items()),
                *await self._changed_watch_starts(),
            ],
            state={**self.state, "blind": self.unreadable, "listed": True},
        )

    async def _changed_watch_starts(self) -> Sequence[Snapshot]:
        snapshots = await self.watch.snapshots(WATCHED_SINCE)
        gone = dict.fromkeys(snapshots.keys() - self.watched.keys())
        added = {channel_id: since for channel_id, since in self.watched.items() if channel_id not in snapshots}
        return [Snapshot(WATCHED_SINCE, channel_id, since) for channel_id, since in {**gone, **added}.items()]

    async def _channels(self, scopes: Scopes) -> Collection[str]:
        """Return the channels in the settings, or else all channels of the app, in that order."""
        configured, names = self.watch.settings.get("channels"), self.state["names"]
        if configured:
            return dict.fromkeys(channel_id for setting in configured if (channel_id := names.get(setting, setting)))
        channel_ids: dict[str, None] = {}
        types = mapping.message_events.readable_types(scopes)
        pages = self.watch.upstream.own_conversations(types)
        if types:
            async for page in pages:
                channel_ids |= dict.fromkeys(channel.id for channel in page.channels if not channel.is_archived)
        if not pages.complete:
            await self._warn_unreadable(
                "", self.since, "The app may not read channels, or is in too many to read them all."
            )
        return channel_ids

    async def _backfill_channel(self, channel_id: str, since: float) -> HistoryRange:
        """Store the messages of a channel, without replies, and return the range that was read."""
        start = max(since - SKEW_SECONDS, self._watched_since(channel_id, since))
        after = mapping.messages.message_ts(start + self._clock_difference())
        history_range = HistoryRange(channel_id, since, self.watch.clock.now(), after)
        observations: ObservationsByMessage = {}
        try:
            await self._read_channel(history_range, observations)
        except UNREADABLE as error:
            await self._warn_unreadable(channel_id, since, error.message)
        # A channel with unread threads is not recorded as read: after an interruption their replies would be lost.
        await self._store(history_range, observations, done=not history_range.threads)
        return history_range

    def _clock_difference(self) -> float:
        """Return the seconds by which the vendor's clock is ahead of ours, or 0 if it is close.

        A small difference is not corrected, because it is measured less precisely than messages are dated.
        """
        skew = self.watch.upstream.skew
        return skew if abs(skew) > SKEW_SECONDS else 0.0

    def _watched_since(self, channel_id: str, since: float) -> float:
        """Return the time from which a channel is watched with its present settings.

        It may be later than the start of the poll's range.
        """
        changed_at = self.state[CHANGED_AT] or 0.0
        return max(self.watched[channel_id], changed_at if since >= changed_at else 0.0)

    async def _load_watch_starts(self, channels: Collection[str]) -> Mapping[str, float]:
        """Return the time from which each channel is watched. For a new channel, that is the previous poll."""
        began_at: float = self.state["began_at"]
        snapshots = await self.watch.snapshots(WATCHED_SINCE)
        start_of_new = max(began_at, self.since, self.state[CHANGED_AT] or 0.0) if self.state["listed"] else began_at
        return {channel_id: max(began_at, snapshots.get(channel_id, start_of_new)) for channel_id in channels}

    async def _read_channel(self, history_range: HistoryRange, observations: ObservationsByMessage) -> None:
        """Read back to the start of the range, but at least one page, for threads that are still active."""
        earliest = mapping.messages.message_ts(self.began)
        pages = self.watch.upstream.history_pages(history_range.channel_id)
        async for page in pages:
            observations |= self._observe(history_range, page.messages)
            history_range.threads.extend(mapping.message_events.threads(page.messages, history_range.after))
            times = [message.ts for message in page.messages]
            self._record_latest(history_range.channel_id, times)
            earliest = min([earliest, *times])
            if earliest <= history_range.after or self._is_late():
                break
        if not pages.complete:
            self.hides_threads = True
            if earliest > history_range.after:
                reason = "The channel has more messages than one poll can read."
                await self.watch.record_gap(history_range.since, float(earliest), reason, history_range.channel_id)

    def _record_latest(self, channel_id: str, times: Collection[str]) -> None:
        """Record the latest message of a channel if the channel is among the active ones."""
        latest = float(max(times, default="0"))
        if latest > self.active.get(channel_id, 0.0):
            by_time = sorted({**self.active, channel_id: latest}.items(), key=itemgetter(1), reverse=True)
            self.active = dict(by_time[:ACTIVE_CHANNELS])

    async def _backfill_threads(self, history_range: HistoryRange) -> None:
        observations: ObservationsByMessage = {}
        complete = True
        try:
            for ts in history_range.threads:
                complete = complete and not self._is_late() and await self._read_thread(history_range, ts, observations)
        except UNREADABLE as error:
            await self._warn_unreadable(history_range.channel_id, history_range.since, error.message)
        if not complete:
            reason = "The threads have more replies than one poll can read."
            await self.watch.record_gap(history_range.since, self.began, reason, history_range.channel_id)
        await self._store(history_range, observations, done=True)

    async def _read_thread(self, history_range: HistoryRange, ts: str, observations: ObservationsByMessage) -> bool:
        """Collect the replies of a thread. Returns whether these were all."""
        pages = self.watch.upstream.reply_pages(history_range.channel_id, ts, history_range.after)
        try:
            async for page in pages:
                observations |= self._observe(history_range, page.messages)
        except errors.ThreadNotFound:
            return True
        return pages.complete

    def _observe(self, history_range: HistoryRange, messages: Sequence[vendor_models.Message]) -> ObservationsByMessage:
        return {
            message.ts: mapping.message_events.observe(
                message, history_range.channel_id, self.watch.settings, self.state
            )
            for message in messages
            if message.ts > history_range.after
        }

    async def _store(
        self, history_range: HistoryRange, observations_by_id: ObservationsByMessage, *, done: bool
    ) -> None:
        """Store the observations, oldest first, and record whether the channel is *done*."""
        observations = [observation for ts in sorted(observations_by_id) for observation in observations_by_id[ts]]
        while len(observations) > OBSERVATIONS_PER_COMMIT:
            await self.watch.commit(observations[:OBSERVATIONS_PER_COMMIT])
            del observations[:OBSERVATIONS_PER_COMMIT]
        notes = [Snapshot(READ_UNTIL, history_range.channel_id, history_range.began)] if done else []
        if self.active != self.active_stored:
            notes.append(Snapshot(ACTIVE, ACTIVE, self.active))
        await self.watch.commit(observations, notes)
        self.active_stored = self.active

    async def _warn_unreadable(self, channel_id: str, since: float, reason: str) -> None:
        """Record that a channel cannot be read. With frequent polls, only the first one records it."""
        self.unreadable.append(channel_id)
        if self.watch.receives_changes or channel_id not in self.state["blind"]:
            await self.watch.record_gap(since, self.began, reason, channel_id or None)

    async def _record_gaps(self, late: Mapping[str, float]) -> None:
        """Record the gaps of this poll. With frequent polls, the next one continues with the late channels."""
        if not self.watch.receives_changes:
            return
        if late:
            reason = f"{len(late)} channels could not be read in time."
            await self.watch.record_gap(min(late.values()), self.began, reason)
        was_absent = self.since > self.state["began_at"] and self.began - self.since > REDELIVERY_SECONDS
        if was_absent and self.hides_threads:
            await self.watch.record_gap(
                self.since, self.began, "Replies in old threads are not in the channels' history."
            )

    def _is_late(self) -> bool:
        return self.watch.clock.now() - self.began > MAX_BACKFILL_SECONDS
