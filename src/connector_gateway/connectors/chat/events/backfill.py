"""Reads what was said on the watched channels, in stretches that are kept one after the other."""

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
"""What messages mean, by the messages' identifiers, which sort by instant."""

SKEW_SECONDS = 60.0
"""How far the vendor's clock may be from ours."""

FILL_SECONDS = 20 * 60.0
"""How long one poll reads; what it does not reach in that time is told to be missing."""

STEP = 500
"""Observations that are committed in one go."""

SEEN = "seen"
"""Snapshots: until when a channel has been read, as long as others have not."""

WATCHED = "watched"
"""Snapshots: since when a channel is watched."""

UNREADABLE = (
    errors.ChannelNotFound,
    errors.ConnectionScopeMissing,
    errors.NotInChannel,
    errors.UpstreamForbidden,
    errors.UpstreamRefused,
    errors.UpstreamUnexpected,
)
"""Refusals that concern one channel only."""


@dataclass(frozen=True, slots=True)
class HistoryRange:
    """The part of a channel's history that one poll reads."""

    channel_id: str
    since: float
    began: float
    after: str
    """The identifier that a message of *since* has, or of a little before, since clocks differ."""

    threads: list[str] = field(default_factory=list)
    """Those that were replied to."""


@dataclass
class HistoryBackfill:
    """Reads the history since deliveries may have been missed, and stores what deliveries would have brought.

    The instant up to which a channel was read is noted, so that the next poll continues there if this one is
    interrupted. When all channels are done, the notes are deleted.
    """

    watch: ChatWatch
    state: Mapping[str, Any]
    since: float
    began: float = field(init=False)
    blind: list[str] = field(default_factory=list)
    """The channels that the app may not read."""

    watched: Mapping[str, float] = field(default_factory=dict)
    """Since when each of the channels is watched."""

    hides_threads: bool = False
    """Whether a channel has older messages than were read; replies to those are not seen."""

    def __post_init__(self) -> None:
        self.began = self.watch.clock.now()

    async def run(self, scopes: Scopes) -> None:
        """Read every watched channel, the one that has waited longest first, and then the threads."""
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
        """Delete the notes of finished channels; those that are late are noted for the next poll."""
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
        """The channels that the settings name, or else all that the app is in."""
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
        """Store the messages of a channel, without replies; returns what was read."""
        after = mapping.messages.message_ts(max(since - SKEW_SECONDS, self._watched_since(channel_id, since)))
        stretch = HistoryRange(channel_id, since, self.watch.clock.now(), after)
        found: Found = {}
        try:
            await self._read_channel(stretch, found)
        except UNREADABLE as refusal:
            await self._tell_blind(channel_id, since, refusal.message)
        # Not noted as read before its threads are: after an interruption their replies would never be read.
        await self._keep(stretch, found, done=not stretch.threads)
        return stretch

    def _watched_since(self, channel_id: str, since: float) -> float:
        """Since when a channel is watched as it is now: it may be a new one, or there may be other settings."""
        changed_at = self.state[CHANGED_AT] or 0.0
        return max(self.watched[channel_id], changed_at if since >= changed_at else 0.0)

    async def _beginnings(self, channels: Collection[str]) -> Mapping[str, float]:
        """Since when each of the channels is watched; one that no poll has found before, since the last one."""
        began_at: float = self.state["began_at"]
        known = await self.watch.snapshots(WATCHED)
        fresh = max(began_at, self.since, self.state[CHANGED_AT] or 0.0) if self.state["listed"] else began_at
        return {channel_id: max(began_at, known.get(channel_id, fresh)) for channel_id in channels}

    async def _read_channel(self, stretch: HistoryRange, found: Found) -> None:
        """Read back to the beginning of the stretch, and at least one page, for threads that are still going on."""
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
        """Collect the replies of a thread; returns whether these were all."""
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
        """Store what was found, oldest first, and note whether the channel is *done*."""
        observations = [observation for ts in sorted(found) for observation in found[ts]]
        while len(observations) > STEP:
            await self.watch.commit(observations[:STEP])
            del observations[:STEP]
        notes = [Snapshot(SEEN, stretch.channel_id, stretch.began)] if done else []
        await self.watch.commit(observations, notes)

    async def _tell_blind(self, channel_id: str, since: float, why: str) -> None:
        """Tell that a channel may not be read; where polls are frequent, only the first of them does."""
        self.blind.append(channel_id)
        if self.watch.pushed or channel_id not in self.state["blind"]:
            await self.watch.record_gap(since, self.began, why, channel_id or None)

    async def _tell(self, late: Mapping[str, float]) -> None:
        """Tell what this poll does not see; where polls are frequent, the next one goes on with what was late."""
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
