"""Reads the history of the watched channels in ranges and stores them one after the other."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from connector_gateway.connectors.chat import mapping, wire
from connector_gateway.connectors.chat.client import ChatClient, Scopes
from connector_gateway.connectors.chat.events.deliveries import RETRIED_SECONDS
from connector_gateway.kit import errors
from connector_gateway.kit.events import CHANGED_AT, Observation, PollContext, Snapshot

ChatWatch = PollContext[ChatClient]

Found = dict[str, Sequence[Observation]]
"""Observations by message identifier. Identifiers sort by time."""

SKEW_SECONDS = 60.0
"""Seconds by which the vendor's clock may differ from ours."""

FILL_SECONDS = 20 * 60.0
"""Maximum seconds of reading per poll. The rest is recorded as a gap."""

STEP = 500
"""Observations per commit."""

SEEN = "seen"
"""The scope of snapshots with the time up to which a channel was read, while others are unfinished."""

WATCHED = "watched"
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
    blind: list[str] = field(default_factory=list)
    """Channels that the app cannot read."""

    watched: Mapping[str, float] = field(default_factory=dict)
    """Time from which each channel is watched."""

    hides_threads: bool = False
    """Whether a channel has older messages than those read. Replies to them are not seen."""

    def __post_init__(self) -> None:
        self.began = self.watch.clock.now()

    async def run(self, scopes: Scopes) -> None:
        """Read every watched channel, the longest waiting first, and then the threads."""
        seen = await self.watch.snapshots(SEEN)
        channels = await self._channels(scopes)
        self.watched = await self._beginnings(channels)
        stretches: list[HistoryRange] = []
        late: dict[str, float] = {}
        for channel_id in sorted(channels, key=lambda channel_id: seen.get(channel_id, self.since)):
            since = seen.get(channel_id, self.since)
            if self._is_late():
                late[channel_id] = since
            else:
                stretches.append(await self._fill_channel(channel_id, since))
                await self.watch.progress(len(stretches), len(channels))
        for stretch in stretches:
            await self._fill_threads(stretch)
        await self._tell(late)
        await self._forget({*seen, *channels} - late.keys(), late)

    async def _forget(self, done: Collection[str], late: Mapping[str, float]) -> None:
        """Delete the records of finished channels. Late channels are recorded for the next poll."""
        notes = {**dict.fromkeys(done), **late}
        await self.watch.commit(
            snapshots=[
                *(Snapshot(SEEN, channel_id, instant) for channel_id, instant in notes.items()),
                *await self._changed_beginnings(),
            ],
            state={**self.state, "blind": self.blind, "listed": True},
        )

    async def _changed_beginnings(self) -> Sequence[Snapshot]:
        known = await self.watch.snapshots(WATCHED)
        gone = dict.fromkeys(known.keys() - self.watched.keys())
        fresh = {channel_id: since for channel_id, since in self.watched.items() if channel_id not in known}
        return [Snapshot(WATCHED, channel_id, since) for channel_id, since in {**gone, **fresh}.items()]

    async def _channels(self, scopes: Scopes) -> Collection[str]:
        """Return the channels in the settings, or else all channels of the app."""
        configured, names = self.watch.settings.get("channels"), self.state["names"]
        if configured:
            return {channel_id for named in configured if (channel_id := names.get(named, named))}
        found: set[str] = set()
        types = mapping.events.readable_types(scopes)
        pages = self.watch.upstream.own_conversations(types)
        if types:
            async for page in pages:
                found |= {channel.id for channel in page.channels if not channel.is_archived}
        if not pages.complete:
            await self._tell_blind("", self.since, "The app may not read channels, or is in too many to read them all.")
        return found

    async def _fill_channel(self, channel_id: str, since: float) -> HistoryRange:
        """Store the messages of a channel, without replies, and return the range that was read."""
        after = mapping.messages.message_ts(max(since - SKEW_SECONDS, self._watched_since(channel_id, since)))
        stretch = HistoryRange(channel_id, since, self.watch.clock.now(), after)
        found: Found = {}
        try:
            await self._read_channel(stretch, found)
        except UNREADABLE as refusal:
            await self._tell_blind(channel_id, since, refusal.message)
        # A channel with unread threads is not recorded as read: after an interruption their replies would be lost.
        await self._keep(stretch, found, done=not stretch.threads)
        return stretch

    def _watched_since(self, channel_id: str, since: float) -> float:
        """Return the time from which a channel is watched with its present settings.

        It may be later than the start of the poll's range.
        """
        changed_at = self.state[CHANGED_AT] or 0.0
        return max(self.watched[channel_id], changed_at if since >= changed_at else 0.0)

    async def _beginnings(self, channels: Collection[str]) -> Mapping[str, float]:
        """Return the time from which each channel is watched. For a new channel, that is the previous poll."""
        began_at: float = self.state["began_at"]
        known = await self.watch.snapshots(WATCHED)
        fresh = max(began_at, self.since, self.state[CHANGED_AT] or 0.0) if self.state["listed"] else began_at
        return {channel_id: max(began_at, known.get(channel_id, fresh)) for channel_id in channels}

    async def _read_channel(self, stretch: HistoryRange, found: Found) -> None:
        """Read back to the start of the range, but at least one page, for threads that are still active."""
        earliest = mapping.messages.message_ts(self.began)
        pages = self.watch.upstream.history_pages(stretch.channel_id)
        async for page in pages:
            found |= self._observed(stretch, page.messages)
            stretch.threads.extend(mapping.events.threads(page.messages, stretch.after))
            earliest = min([earliest, *(message.ts for message in page.messages)])
            if earliest <= stretch.after or self._is_late():
                break
        if not pages.complete:
            self.hides_threads = True
            if earliest > stretch.after:
                why = "More was written than can be read."
                await self.watch.record_gap(stretch.since, float(earliest), why, stretch.channel_id)

    async def _fill_threads(self, stretch: HistoryRange) -> None:
        found: Found = {}
        whole = True
        try:
            for ts in stretch.threads:
                whole = whole and not self._is_late() and await self._read_thread(stretch, ts, found)
        except UNREADABLE as refusal:
            await self._tell_blind(stretch.channel_id, stretch.since, refusal.message)
        if not whole:
            why = "More was replied in threads than can be read."
            await self.watch.record_gap(stretch.since, self.began, why, stretch.channel_id)
        await self._keep(stretch, found, done=True)

    async def _read_thread(self, stretch: HistoryRange, ts: str, found: Found) -> bool:
        """Collect the replies of a thread. Returns whether these were all."""
        pages = self.watch.upstream.reply_pages(stretch.channel_id, ts, stretch.after)
        try:
            async for page in pages:
                found |= self._observed(stretch, page.messages)
        except errors.ThreadNotFound:
            return True
        return pages.complete

    def _observed(self, stretch: HistoryRange, messages: Sequence[wire.Message]) -> Found:
        return {
            message.ts: mapping.events.observed(message, stretch.channel_id, self.watch.settings, self.state)
            for message in messages
            if message.ts > stretch.after
        }

    async def _keep(self, stretch: HistoryRange, found: Found, *, done: bool) -> None:
        """Store the observations, oldest first, and record whether the channel is *done*."""
        observations = [observation for ts in sorted(found) for observation in found[ts]]
        while len(observations) > STEP:
            await self.watch.commit(observations[:STEP])
            del observations[:STEP]
        notes = [Snapshot(SEEN, stretch.channel_id, stretch.began)] if done else []
        await self.watch.commit(observations, notes)

    async def _tell_blind(self, channel_id: str, since: float, why: str) -> None:
        """Record that a channel cannot be read. With frequent polls, only the first one records it."""
        self.blind.append(channel_id)
        if self.watch.pushed or channel_id not in self.state["blind"]:
            await self.watch.record_gap(since, self.began, why, channel_id or None)

    async def _tell(self, late: Mapping[str, float]) -> None:
        """Record the gaps of this poll. With frequent polls, the next one continues with the late channels."""
        if not self.watch.pushed:
            return
        if late:
            why = f"{len(late)} channels could not be read in time."
            await self.watch.record_gap(min(late.values()), self.began, why)
        was_absent = self.since > self.state["began_at"] and self.began - self.since > RETRIED_SECONDS
        if was_absent and self.hides_threads:
            await self.watch.record_gap(
                self.since, self.began, "Replies in old threads are not in the channels' history."
            )

    def _is_late(self) -> bool:
        return self.watch.clock.now() - self.began > FILL_SECONDS
